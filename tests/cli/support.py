"""What the suites share: a fresh folder a test, and running synps in it."""

import os
import re
import shutil
import signal
import subprocess
import tempfile
import unittest

import fixtures

SYNPS = os.environ.get("SYNPS_BINARY", "synps")
STOP_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


def default_signals():
    """In the child: what a shell gives a program in the foreground, whoever runs the tests."""
    for number in STOP_SIGNALS:
        signal.signal(number, signal.SIG_DFL)


def without_digests(text):
    """`text` with digests, which change with every detail of the format, written as <digest>."""
    return re.sub(r"\b[0-9a-f]{32}\b", "<digest>", text)


class Result:
    def __init__(self, process):
        self.code = process.returncode
        self.out = process.stdout
        self.err = process.stderr


class CliTest(unittest.TestCase):
    """Runs in a folder of its own, which holds fixtures.fill()."""

    maxDiff = None

    def setUp(self):
        self.folder = tempfile.mkdtemp(prefix="synps-cli-")
        self.addCleanup(shutil.rmtree, self.folder, ignore_errors=True)
        fixtures.fill(self.folder)
        self.inputs = self.names()

    def path(self, name):
        return os.path.join(self.folder, name)

    def names(self):
        return sorted(os.listdir(self.folder))

    def new_names(self):
        """Files that came after setUp, hidden ones included."""
        return sorted(set(self.names()) - set(self.inputs))

    def read(self, name):
        with open(self.path(name), "rb") as file:
            return file.read()

    def synps(self, *arguments, **how):
        process = subprocess.run(
            [SYNPS, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=default_signals,
            text=True,
            check=False,
            **how,
        )
        return Result(process)

    def ok(self, *arguments):
        """Runs a command that must succeed, and say nothing on standard error."""
        result = self.synps(*arguments)
        self.assertEqual((result.code, result.err), (0, ""), arguments)
        return result.out

    def fails(self, code, *arguments, says=""):
        """Runs a command that must fail with `code`, with nothing on standard output."""
        result = self.synps(*arguments)
        self.assertEqual(result.code, code, (arguments, result.out, result.err))
        self.assertEqual(result.out, "", arguments)
        self.assertIn(says, result.err)
        return result.err

    def start(self, *arguments):
        return subprocess.Popen(
            [SYNPS, *arguments],
            cwd=self.folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=default_signals,
            text=True,
        )
