#!/usr/bin/env python3
"""The example in README.md: its policy and commands give the output that is printed there."""

import os
import re
import shlex
import subprocess
import tempfile
import unittest

from support import ROOT, SYNPS, write_text


def blocks(text, language):
    return re.findall(rf"^```{language}\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)


def commands(block):
    """(command line, output) of a block of `$ COMMAND` lines, each followed by what it prints."""
    parts = re.split(r"^\$ (.*)\n", block, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


class Readme(unittest.TestCase):
    def test_the_example_prints_what_it_says(self):
        with open(os.path.join(ROOT, "README.md"), encoding="utf-8") as file:
            text = file.read()
        (policy,) = blocks(text, "toml")
        (console,) = blocks(text, "console")
        steps = commands(console)
        self.assertEqual([shlex.split(line)[:2] for line, _ in steps], [["synps", "pack"], ["synps", "verify"]])
        with tempfile.TemporaryDirectory() as folder:
            write_text(os.path.join(folder, "synps.toml"), policy)
            os.symlink(os.path.join(ROOT, "examples"), os.path.join(folder, "examples"))
            for line, output in steps:
                command = [SYNPS, *shlex.split(line)[1:]]
                done = subprocess.run(
                    command,
                    cwd=folder,
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    text=True,
                    check=False,
                )
                self.assertEqual((done.returncode, done.stderr), (0, ""), line)
                self.assertEqual(done.stdout, output, line)


if __name__ == "__main__":
    unittest.main()
