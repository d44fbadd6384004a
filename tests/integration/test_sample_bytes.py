#!/usr/bin/env python3
"""scripts/make-sample writes exactly the files that are in examples/tiny-llama."""

import os
import subprocess
import sys
import tempfile
import unittest

from support import MAKE_SAMPLE, SAMPLE, read_bytes

FILES = [
    "config.json",
    "model-00001-of-00002.safetensors",
    "model-00002-of-00002.safetensors",
    "model.safetensors.index.json",
]


class SampleBytes(unittest.TestCase):
    def test_made_again_the_sample_is_the_same(self):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run(
                [sys.executable, MAKE_SAMPLE, folder], check=True, stdout=subprocess.DEVNULL
            )
            self.assertEqual(sorted(os.listdir(folder)), FILES)
            for name in FILES:
                made, kept = os.path.join(folder, name), os.path.join(SAMPLE, name)
                same = read_bytes(made, 0, 1 << 24) == read_bytes(kept, 0, 1 << 24)
                self.assertTrue(same, f"{name} differs from what scripts/make-sample writes")

    def test_the_sample_holds_nothing_else(self):
        self.assertEqual(sorted(os.listdir(SAMPLE)), sorted([*FILES, "README.md"]))


if __name__ == "__main__":
    unittest.main()
