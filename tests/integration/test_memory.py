#!/usr/bin/env python3
"""Memory of packing does not grow with a weight: one tensor of 512 MiB, re-encoded and copied."""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

from support import SYNPS, synps_json, write_text

MIB = 1 << 20
LIMIT = 100 * MIB
ROWS, COLUMNS = 65536, 4096
POLICY = '[myelin]\nformats = ["bf16"]\n\n[[policies."*".schemes]]\nformat = "{}"\n'

# Peak resident memory of one command, which a process can only ask about all its children.
MEASURE = """
import resource, subprocess, sys
done = subprocess.run(sys.argv[1:], stdin=subprocess.DEVNULL)
print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss * 1024)
sys.exit(done.returncode)
"""


def write_big_checkpoint(path):
    """A sparse file: zeros that take no disk."""
    size = ROWS * COLUMNS * 2
    entry = {"dtype": "BF16", "shape": [ROWS, COLUMNS], "data_offsets": [0, size]}
    header = json.dumps({"big.weight": entry}).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(header)) + header)
        file.truncate(8 + len(header) + size)


class Memory(unittest.TestCase):
    def test_packing_one_big_weight(self):
        with tempfile.TemporaryDirectory() as folder:
            source = os.path.join(folder, "big.safetensors")
            write_big_checkpoint(source)
            for format_name in ("q8_0", "bf16", "ternary:absmean"):
                with self.subTest(format=format_name):
                    policy = write_text(os.path.join(folder, "p.toml"), POLICY.format(format_name))
                    artifact = os.path.join(folder, "big.synps")
                    command = [SYNPS, "pack", source, "-p", policy, "-o", artifact, "--jobs", "4"]
                    done = subprocess.run(
                        [sys.executable, "-c", MEASURE, *command],
                        capture_output=True,
                        text=True,
                        check=False,
                    )
                    self.assertEqual(done.returncode, 0, done.stderr)
                    peak = int(done.stdout.split()[-1])
                    self.assertLess(peak, LIMIT, f"{peak / MIB:.0f} MiB")
                    plan = synps_json("plan", source, "-p", policy)
                    self.assertEqual(plan["artifact_bytes"], os.path.getsize(artifact))
                    os.remove(artifact)


if __name__ == "__main__":
    unittest.main()
