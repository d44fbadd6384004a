"""Runs cases/*.case: commands with the exit code, standard output and standard error they must give.

A case is a sequence of commands that run in one folder, which fixtures.fill() made:

    # comment
    $ synps codecs
    exit 0
    out:
      lines, indented by two spaces; all of standard output
    err:
      the same for standard error

Digests are written as <digest>. A part that is left out must be empty. `out contains:` and
`err contains:` take lines that must each be somewhere in that stream.
"""

import glob
import os
import shlex
import unittest

from support import CliTest, without_digests

HERE = os.path.dirname(os.path.abspath(__file__))
UPDATE = "SYNPS_UPDATE_CASES" in os.environ
PARTS = ("out:", "err:", "out contains:", "err contains:")


class Step:
    def __init__(self, command):
        self.command = command
        self.exit = 0
        self.parts = {}
        self.comments = []


def parse(text):
    steps, comments, part = [], [], None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("$ synps"):
            steps.append(Step(line[len("$ synps"):].strip()))
            steps[-1].comments, comments, part = comments, [], None
        elif line.startswith("#"):
            comments.append(line)
        elif line.startswith("exit "):
            steps[-1].exit = int(line[len("exit "):])
        elif line in PARTS:
            part = steps[-1].parts.setdefault(line, [])
        elif part is not None and (line.startswith("  ") or not line):
            part.append(line[2:])
        elif line:
            raise ValueError(f"line {number}: {line!r}")
    return steps


def without_blank_end(lines):
    while lines and not lines[-1]:
        lines = lines[:-1]
    return lines


def render(steps):
    out = []
    for step in steps:
        out += ([""] if out else []) + step.comments + [f"$ synps {step.command}".rstrip()]
        out.append(f"exit {step.exit}")
        for name in PARTS:
            lines = without_blank_end(step.parts.get(name, []))
            if lines:
                out += [name] + [f"  {line}" if line else "" for line in lines]
    return "\n".join(out) + "\n"


class Cases(CliTest):
    def check(self, step, result):
        self.assertEqual(result.code, step.exit, (step.command, result.out, result.err))
        for stream, text in (("out", result.out), ("err", result.err)):
            wanted = step.parts.get(f"{stream} contains:")
            if wanted is not None:
                for line in without_blank_end(wanted):
                    self.assertIn(line, text, step.command)
                continue
            whole = without_blank_end(step.parts.get(f"{stream}:", []))
            self.assertEqual("".join(f"{line}\n" for line in whole), text, step.command)

    def update(self, step, result):
        step.exit = result.code
        for stream, text in (("out", result.out), ("err", result.err)):
            if f"{stream} contains:" not in step.parts:
                step.parts[f"{stream}:"] = text.splitlines()

    def run_case(self, path):
        with open(path, encoding="utf-8") as file:
            steps = parse(file.read())
        self.assertTrue(steps, path)
        for step in steps:
            result = self.synps(*shlex.split(step.command))
            result.out = without_digests(result.out)
            (self.update if UPDATE else self.check)(step, result)
        if UPDATE:
            with open(path, "w", encoding="utf-8") as file:
                file.write(render(steps))


def add_cases():
    for path in sorted(glob.glob(os.path.join(HERE, "cases", "*.case"))):
        name = os.path.basename(path)[: -len(".case")]
        setattr(Cases, f"test_{name}", lambda self, path=path: self.run_case(path))


add_cases()

if __name__ == "__main__":
    unittest.main()
