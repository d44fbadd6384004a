"""Signals while a command works: cleaned up, and said by the exit code."""

import os
import signal
import time

import fixtures
import support
from support import STOP_SIGNALS, CliTest

TEMPORARY = ".big.synps.synps-tmp"


class Signals(CliTest):
    def setUp(self):
        super().setUp()
        # 2 GiB of zeros that take no room: more work than is done before a signal arrives.
        fixtures.write_sparse(self.path("big.safetensors"), "w", "BF16", [1 << 15, 1 << 15])
        with open(self.path("planes.toml"), "w") as out:
            out.write(fixtures.F16.replace('"f16"', '"ternary:tq1_0"'))
        self.inputs = self.names()
        self.arguments = ("pack", "big.safetensors", "-p", "planes.toml", "-o", "big.synps",
                          "--jobs", "1")

    def start_packing(self):
        """A pack that is at work: its temporary file is there."""
        process = self.start(*self.arguments)
        self.addCleanup(process.communicate)
        self.addCleanup(process.kill)
        while not os.path.exists(self.path(TEMPORARY)):
            self.assertIsNone(process.poll(), "ended before it began to write")
            time.sleep(0.01)
        return process

    def test_stop_signals(self):
        for number in STOP_SIGNALS:
            process = self.start_packing()
            process.send_signal(number)
            process.send_signal(number)  # a second one changes nothing
            out, err = process.communicate()
            self.assertEqual(process.returncode, 128 + number, err)
            self.assertEqual((out, err), ("", f"synps: stopped by {number.name}\n"))
            self.assertEqual(self.new_names(), [])

    def test_an_earlier_output_survives(self):
        with open(self.path("big.synps"), "wb") as out:
            out.write(b"earlier")
        self.arguments += ("--force",)
        process = self.start_packing()
        process.send_signal(signal.SIGTERM)
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
        self.assertEqual(self.read("big.synps"), b"earlier")
        self.assertEqual(self.new_names(), ["big.synps"])

    def test_killed_then_again(self):
        process = self.start_packing()
        process.kill()
        process.communicate()
        self.assertEqual(self.new_names(), [TEMPORARY])
        self.ok("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "big.synps")
        self.assertEqual(self.new_names(), ["big.synps"])
        self.ok("verify", "big.synps", "--against", "tiny.safetensors")

    def test_an_ignored_signal_stays_ignored(self):
        old = signal.signal(signal.SIGHUP, signal.SIG_IGN)
        self.addCleanup(signal.signal, signal.SIGHUP, old)
        # The child inherits what is ignored here.
        stop = support.STOP_SIGNALS
        support.STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM)
        self.addCleanup(setattr, support, "STOP_SIGNALS", stop)
        process = self.start_packing()
        process.send_signal(signal.SIGHUP)
        time.sleep(0.2)
        self.assertIsNone(process.poll())
        process.send_signal(signal.SIGTERM)
        process.communicate()
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)
