#!/usr/bin/env python3
"""Memory of packing is what the plan says: for one tensor of 4 GiB, and for 60,000 small ones.

Under sanitizers, which keep memory of their own, SYNPS_SANITIZED is set: then all of it runs, on a
smaller tensor, and nothing is measured.
"""

import json
import os
import re
import struct
import subprocess
import sys
import tempfile
import unittest

from support import SYNPS, synps, synps_json, write_text

MIB = 1 << 20
SANITIZED = bool(os.environ.get("SYNPS_SANITIZED"))
COLUMNS = 4096
BIG_BYTES = (64 * MIB) if SANITIZED else (4096 * MIB)
SMALL_WEIGHTS = 2_000 if SANITIZED else 60_000
POLICY = '[myelin]\nformats = ["bf16"]\n\n[[policies."*".schemes]]\nformat = "{}"\n'

# Peak resident memory of one command, which a process can only ask about all its children. It is
# never less than the interpreter's own, which is about what an idle synps and one worker take.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(done.returncode)
"""


def write_sparse(path, entries, size):
    """A checkpoint of zeros that take no disk."""
    header = json.dumps(entries).encode()
    header += b" " * (-len(header) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)


def write_big(path, size):
    shape = [size // 4 // COLUMNS, COLUMNS]
    write_sparse(
        path, {"big.weight": {"dtype": "F32", "shape": shape, "data_offsets": [0, size]}}, size
    )


def write_small(path):
    size = 8 * 256 * 2
    write_sparse(
        path,
        {
            f"model.layers.{i // 10}.experts.{i % 10}.proj.weight": {
                "dtype": "BF16",
                "shape": [8, 256],
                "data_offsets": [i * size, (i + 1) * size],
            }
            for i in range(SMALL_WEIGHTS)
        },
        SMALL_WEIGHTS * size,
    )


def write_unlike(path, value):
    """One number a weight, and names of which no two make a pattern."""
    entries = {}
    for i in range(SMALL_WEIGHTS):
        digits = f"{i * 2654435761 % 2**32:08x}".translate(str.maketrans("0123456789", "ghijklmnop"))
        name = f"model.{digits}.{digits[::-1]}.weight"
        entries[name] = {"dtype": "F32", "shape": [1, 1], "data_offsets": [4 * i, 4 * i + 4]}
    header = json.dumps(entries).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        for i in range(SMALL_WEIGHTS):
            file.write(struct.pack("<f", value * (i % 7 + 1)))


class Memory(unittest.TestCase):
    def setUp(self):
        self.folder = tempfile.TemporaryDirectory()
        self.addCleanup(self.folder.cleanup)
        self.source = self.file("model.safetensors")
        self.artifact = self.file("model.synps")

    def file(self, name):
        return os.path.join(self.folder.name, name)

    def policy(self, format_name):
        return write_text(self.file("p.toml"), POLICY.format(format_name))

    def peak(self, *arguments, code=0):
        done = subprocess.run(
            [sys.executable, "-c", MEASURE, SYNPS, *arguments],
            capture_output=True,
            text=True,
            check=False,
        )
        self.assertEqual(done.returncode, code, done.stderr)
        return int(done.stdout.split()[-1])

    def pack(self, format_name, jobs, *options):
        """Packs, and holds the peak against the plan."""
        policy = self.policy(format_name)
        plan = synps_json("plan", self.source, "-p", policy, *options)
        need = plan["pack_memory"]
        self.assertLessEqual(need["worker_bytes"], 8 * MIB)
        arguments = ["pack", self.source, "-p", policy, "-o", self.artifact, "--force"]
        peak = self.peak(*arguments, "--jobs", str(jobs), *options)
        size = os.path.getsize(self.artifact)
        if "--compress" in options:
            self.assertGreaterEqual(plan["artifact_bytes"], size)
        else:
            self.assertEqual(plan["artifact_bytes"], size)
        with self.subTest(format=format_name, jobs=jobs):
            self.hold(peak, need, jobs)
        return need

    def hold(self, peak, need, jobs):
        if SANITIZED:
            return
        planned = need["program_bytes"] + need["index_bytes"] + jobs * need["worker_bytes"]
        told = f"{jobs} workers: {peak / MIB:.1f} MiB, planned {planned / MIB:.1f} MiB: {need}"
        print(" ", told, file=sys.stderr)
        self.assertLessEqual(peak, planned, told)

    def test_one_tensor_of_4_gib(self):
        write_big(self.source, BIG_BYTES)
        need = self.pack("ternary:tq1_0", 2)
        self.assertLessEqual(need["index_bytes"], 2 * MIB)

    def test_small_tensors(self):
        write_small(self.source)
        for format_name in ("q8_0", "bf16", "ternary:absmean", "ternary"):
            self.pack(format_name, 2)
        self.pack("bf16", 2, "--compress", "zstd:1")

    def test_other_ways_through(self):
        write_big(self.source, min(BIG_BYTES, 256 * MIB))
        for format_name in ("f32", "f16", "ternary:absmean", "ternary", "ternary:planes"):
            self.pack(format_name, 4)

    def test_verify_and_unpack_small_tensors(self):
        write_small(self.source)
        self.hold_verify_and_unpack("ternary:absmean")
        for options in ([], ["--compress", "zstd:1"]):
            self.hold_verify_and_unpack("bf16", *options)

    def test_verify_and_unpack_frames(self):
        write_big(self.source, 256 * MIB)
        for codec in ("bf16", "ternary:absmean"):
            self.hold_verify_and_unpack(codec, "--compress", "zstd:1")

    def hold_verify_and_unpack(self, codec, *options):
        policy = self.policy(codec)
        synps("pack", self.source, "-p", policy, "-o", self.artifact, "--force", *options)
        plain = self.file("plain.safetensors")
        for arguments in (
            ["verify", self.artifact],
            ["verify", self.artifact, "--against", self.source, "--all", "--json"],
            ["unpack", self.artifact, "-o", plain],
            ["diff", self.source, self.artifact, "--all", "--json"],
            ["diff", self.artifact, self.artifact, "--all"],
            ["diff", self.source, self.source, "--all"],
            ["diff", self.source, self.source, "--json"],
        ):
            done = synps(*arguments, "--max-memory", "1MiB", "-j2", expect=6)
            least = int(re.search(r"at least (\d+) bytes", done.stderr)[1])
            if os.path.exists(plain):
                os.remove(plain)
            peak = self.peak(*arguments, "-j2", "--max-memory", str(least))
            told = f"{arguments[0]}: {peak / MIB:.1f} MiB, at least {least / MIB:.1f} MiB"
            print(" ", told, file=sys.stderr)
            if not SANITIZED:
                self.assertLessEqual(peak, least, told)

    def test_diff_of_weights_that_share_no_pattern(self):
        sides = [self.file("a.safetensors"), self.file("b.safetensors")]
        for path, value in zip(sides, (1.1, 1.23456789)):
            write_unlike(path, value)
        page = ["--report", self.file("page.html"), "--force"]
        for arguments in (["--json"], ["--json", *page], ["--all", *page]):
            done = synps("diff", *sides, *arguments, "--max-memory", "1MiB", "-j2", expect=6)
            least = int(re.search(r"at least (\d+) bytes", done.stderr)[1])
            peak = self.peak("diff", *sides, *arguments, "-j2", code=1)
            told = f"diff: {peak / MIB:.1f} MiB, at least {least / MIB:.1f} MiB"
            print(" ", told, file=sys.stderr)
            if not SANITIZED:
                self.assertLessEqual(peak, least, told)

    def test_a_ceiling(self):
        write_big(self.source, 64 * MIB)
        policy = self.policy("q8_0")
        need = synps_json("plan", self.source, "-p", policy)["pack_memory"]
        one = need["program_bytes"] + need["index_bytes"] + need["worker_bytes"]
        self.pack("q8_0", 1)
        peak = self.peak(
            *("pack", self.source, "-p", policy, "-o", self.artifact, "--force"),
            *("--jobs", "16", "--max-memory", str(one)),
        )
        self.hold(peak, need, 1)
        os.remove(self.artifact)
        arguments = ["pack", self.source, "-p", policy, "-o", self.artifact]
        for more in ([], ["--dry-run"]):
            done = synps(*arguments, "--max-memory", str(one - 1), *more, expect=6)
            self.assertIn(f"at least {one} bytes", done.stderr)
        self.assertEqual(sorted(os.listdir(self.folder.name)), ["model.safetensors", "p.toml"])


if __name__ == "__main__":
    unittest.main()
