"""Standard streams that are closed, full, broken, or a terminal."""

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios

import fixtures
from support import SYNPS, CliTest, default_signals

PACK = ("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "out.synps")


class Streams(CliTest):
    def run_closed(self, descriptors, *arguments):
        """Runs synps with those of its descriptors 0 to 2 closed."""

        def close():
            default_signals()
            for descriptor in descriptors:
                os.close(descriptor)

        return subprocess.run([SYNPS, *arguments], cwd=self.folder, preexec_fn=close,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, check=False)

    def test_closed_streams(self):
        self.ok(*PACK)
        wanted = self.read("out.synps")
        for closed in ((0,), (1,), (2,), (0, 1, 2)):
            os.unlink(self.path("out.synps"))
            result = self.run_closed(closed, *PACK)
            # The artifact is whole all the same; what could not be said is lost output.
            self.assertEqual(result.returncode, 4 if 1 in closed else 0, closed)
            self.assertEqual(self.read("out.synps"), wanted, closed)
            self.assertEqual(self.new_names(), ["out.synps"])
        self.assertEqual(self.run_closed((2,), "inspect", "junk").returncode, 3)
        self.assertEqual(self.run_closed((1,), "codecs").returncode, 4)
        self.assertIn("standard output", self.run_closed((1,), "codecs").stderr)
        self.assertEqual(self.run_closed((1,), "--help").returncode, 4)

    def test_full_output(self):
        with open("/dev/full", "w") as full:
            result = subprocess.run([SYNPS, "codecs"], stdout=full, stderr=subprocess.PIPE,
                                    text=True, check=False)
        self.assertEqual(result.returncode, 4)
        self.assertRegex(result.stderr, r"^synps: error: standard output: cannot write: ")

    def test_broken_pipe(self):
        for name in ("stdout", "stderr"):
            reader, writer = os.pipe()
            os.close(reader)
            streams = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, name: writer}
            arguments = ("codecs",) if name == "stdout" else ("inspect", "junk")
            result = subprocess.run([SYNPS, *arguments], cwd=self.folder, check=False,
                                    preexec_fn=default_signals, **streams)
            os.close(writer)
            self.assertEqual(result.returncode,
                             128 + signal.SIGPIPE if name == "stdout" else 3)
            self.assertFalse(result.stdout or result.stderr)

    def test_output_that_does_not_block(self):
        tensors = [(f"weight{'x' * 60}{i}", "F32", [1], [0.0]) for i in range(3000)]
        fixtures.write_safetensors(self.path("wide.safetensors"), tensors)
        wanted = self.ok("inspect", "wide.safetensors", "--json")
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETFL, os.O_NONBLOCK)
        process = subprocess.Popen([SYNPS, "inspect", "wide.safetensors", "--json"],
                                   cwd=self.folder, stdout=writer)
        os.close(writer)
        with open(reader, encoding="utf-8") as file:
            got = file.read()
        self.assertEqual(process.wait(), 0)
        self.assertEqual(got, wanted)

    def on_terminal(self, columns, *arguments, term="xterm", stdout=None):
        """Runs synps with standard error (and output, unless given) on a terminal; its text."""
        try:
            main, side = pty.openpty()
        except OSError as error:  # a bare chroot has no /dev/pts
            self.skipTest(f"no pseudo-terminal can be had here: {error}")
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        process = subprocess.Popen([SYNPS, *arguments], cwd=self.folder, stdin=subprocess.DEVNULL,
                                   stdout=side if stdout is None else stdout, stderr=side,
                                   env={**os.environ, "TERM": term})
        os.close(side)
        text = b""
        while True:
            try:
                piece = os.read(main, 65536)
            except OSError:  # Linux says so when the last writer is gone
                break
            if not piece:
                break
            text += piece
        os.close(main)
        self.assertEqual(process.wait(), 0, text)
        return text.decode()

    def slow_pack(self, columns, *more, term="xterm"):
        # Long enough for the bar to be drawn, which takes a tenth of a second.
        fixtures.write_sparse(self.path("slow.safetensors"), "w", "BF16", [1 << 14, 1 << 13])
        with open(self.path("slow.toml"), "w") as out:
            out.write(fixtures.F16.replace('"f16"', '"ternary:tq1_0"'))
        return self.on_terminal(columns, "pack", "slow.safetensors", "-p", "slow.toml", "-o", "s",
                                "--force", "--jobs", "1", *more, term=term,
                                stdout=subprocess.DEVNULL)

    def test_progress_bar(self):
        for columns in (100, 30):
            text = self.slow_pack(columns)
            self.assertIn("packing", text)
            self.assertTrue(text.endswith("\r\033[K"), repr(text[-80:]))
            for line in re.split(r"\r\033\[K", text):
                self.assertLess(len(line), columns)

    def test_no_progress_bar(self):
        self.assertEqual(self.slow_pack(100, "--quiet"), "")
        self.assertEqual(self.slow_pack(100, term="dumb"), "")

    def test_narrow_terminal(self):
        for columns in (100, 70):
            text = self.on_terminal(columns, "plan", "tiny.safetensors", "-p", "mixed.toml")
            self.assertLessEqual(max(len(line) for line in text.splitlines()), columns, text)

    def test_logs_go_to_standard_error(self):
        result = self.synps(*PACK, "--verbose")
        self.assertEqual(result.code, 0)
        self.assertIn("synps: info: tiny.safetensors: ", result.err)
        self.assertNotIn("info", result.out)
