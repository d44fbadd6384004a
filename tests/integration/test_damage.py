#!/usr/bin/env python3
"""`synps verify` finds damage anywhere in a packed sample, exits 5 and names the place."""

import os
import shutil
import tempfile
import unittest

from support import SAMPLE, read_bytes, read_safetensors, synps, synps_json, write_text

# Norms are short rows: 136 bytes of blocks, so their entries end in padding.
POLICY = """
[myelin]
formats = ["bf16"]

[policies."*"]
fallback = "f16"

[[policies."*".schemes]]
format = "q8_0"

[[policies."model.layers.*.self_attn".schemes]]
format = "ternary"

[[policies."model.layers.*.mlp.up_proj".schemes]]
format = "q4_0"
volatile = true

[[policies."lm_head".schemes]]
format = "keep"

[policies."model.layers.1.self_attn".form]
compress = "zstd"

[[policies."model.embed_tokens".schemes]]
format = "keep"

[policies."model.embed_tokens".form]
compress = "zstd:9"
"""

PACKED = "model.layers.2.mlp.down_proj.weight#blocks"
VOLATILE = "model.layers.3.mlp.up_proj.weight#blocks"
SCALES = "model.layers.0.self_attn.q_proj.weight#scales"
PADDED = "model.norm.weight#blocks"
PADDED_BYTES = 128 // 32 * 34
DENSE = "lm_head.weight"
FRAMES = "model.layers.1.self_attn.k_proj.weight#codes.zstd"
PLANES = "model.embed_tokens.weight#values.zstd"


class Damage(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.scratch = tempfile.TemporaryDirectory()
        cls.addClassCleanup(cls.scratch.cleanup)
        policy = write_text(os.path.join(cls.scratch.name, "damage.toml"), POLICY)
        cls.good = os.path.join(cls.scratch.name, "good.synps")
        synps("pack", SAMPLE, "-p", policy, "-o", cls.good)
        cls.layout = read_safetensors(cls.good)
        cls.bad = os.path.join(cls.scratch.name, "bad.synps")

    def setUp(self):
        shutil.copyfile(self.good, self.bad)

    def flip(self, offset, bit=0):
        with open(self.bad, "r+b") as file:
            file.seek(offset)
            (byte,) = file.read(1)
            file.seek(offset)
            file.write(bytes([byte ^ (1 << bit)]))

    def check_found(self, *names):
        """Exit code 5, in both kinds of report, and one of `names` in what is said of the place."""
        report = synps_json("verify", self.bad, expect=5)
        self.assertFalse(report["ok"])
        self.assertGreaterEqual(len(report["problems"]), 1)
        places = " ".join(f"{problem['where']} {problem['what']}" for problem in report["problems"])
        self.assertTrue(any(name in places for name in names), f"{names} not in: {places}")
        done = synps("verify", self.bad, expect=5)
        text = done.stdout + done.stderr
        self.assertTrue(any(name in text for name in names), f"{names} not in: {text}")
        self.assertIn("bad.synps", text)

    def check_entry(self, entry, offset, *names):
        self.flip(offset)
        self.check_found(*(names or (entry,)))
        self.flip(offset)

    def test_the_undamaged_file_is_sound(self):
        self.assertTrue(synps_json("verify", self.bad)["ok"])

    def test_header(self):
        length = self.layout.data_start
        text = read_bytes(self.good, 0, length)
        offsets = {
            "length field": [0, 2, 7],
            "a name": [text.index(b"lm_head")],
            "a dtype": [text.index(b'"U8"') + 1],
            "metadata": [text.index(b"synps.index") + 3, text.index(b"synps.version") + 16],
            "padding": [length - 1],
        }
        for what, places in offsets.items():
            for offset in places:
                for bit in (0, 6):
                    with self.subTest(what=what, offset=offset, bit=bit):
                        self.flip(offset, bit)
                        self.check_found("header", "metadata", "synps.", "safetensors", "JSON")
                        self.flip(offset, bit)

    def test_index(self):
        entry = self.layout.entries["__synps__"]
        text = read_bytes(self.good, entry.begin, entry.end)
        digits = entry.begin + text.index(b'"header":"') + 12
        for offset in (entry.begin, digits, (entry.begin + entry.end) // 2, entry.end - 1):
            with self.subTest(offset=offset):
                self.check_entry("__synps__", offset, "__synps__", "index")

    def test_sums(self):
        entry = self.layout.entries["__synps_sums__"]
        for offset in (entry.begin, entry.begin + 17, entry.end - 1):
            with self.subTest(offset=offset):
                self.check_entry("__synps_sums__", offset, "__synps_sums__", "sums")

    def test_entries(self):
        for name in (PACKED, VOLATILE, SCALES, DENSE, FRAMES, PLANES):
            entry = self.layout.entries[name]
            for offset in (entry.begin, (entry.begin + entry.end) // 2, entry.end - 1):
                with self.subTest(name=name, offset=offset):
                    self.check_entry(name, offset, name.split("#")[0])

    def test_padding_of_a_packed_component(self):
        entry = self.layout.entries[PADDED]
        self.assertEqual(entry.end - entry.begin, 192)
        for offset in (entry.begin + PADDED_BYTES, entry.end - 1):
            with self.subTest(offset=offset):
                self.assertEqual(read_bytes(self.good, offset, offset + 1), b"\0")
                self.check_entry(PADDED, offset, "model.norm.weight")

    def test_every_entry(self):
        for name, entry in self.layout.entries.items():
            with self.subTest(name=name):
                weight = name.split("#")[0]
                self.check_entry(name, entry.begin + (entry.end - entry.begin) // 3, weight, "index", "sums")

    def test_every_byte_of_a_frame(self):
        entry = self.layout.entries["model.layers.1.self_attn.k_proj.weight#scales.zstd"]
        for offset in range(entry.begin, entry.end):
            with self.subTest(offset=offset):
                self.flip(offset, offset % 8)
                report = synps_json("verify", self.bad, expect=5)
                self.assertIn("k_proj.weight, component scales, chunk 0", report["problems"][0]["where"])
                self.flip(offset, offset % 8)

    def test_sizes_of_frames(self):
        entry = self.layout.entries["__synps_sums__"]
        text = read_bytes(self.good, entry.begin, entry.end)
        end = entry.begin + len(text.rstrip(b"\0"))
        for offset in range(end - 24, end + 4):
            with self.subTest(offset=offset):
                self.check_entry("__synps_sums__", offset, "__synps_sums__", "sums")

    def test_truncated(self):
        size = self.layout.size
        entry = self.layout.entries["__synps__"]
        for left in (size - 1, size - 4096, size // 2, entry.begin + 10, self.layout.data_start, 100, 8, 7, 0):
            with self.subTest(left=left):
                shutil.copyfile(self.good, self.bad)
                os.truncate(self.bad, left)
                self.check_found("too short", "shorter than", "not fit the file")

    def test_appended(self):
        for extra in (b"\0", b"x" * 4096):
            with self.subTest(extra=len(extra)):
                shutil.copyfile(self.good, self.bad)
                with open(self.bad, "ab") as file:
                    file.write(extra)
                self.check_found("size", "bytes", "past", "longer")

    def test_swapped_chunks(self):
        """Two components of equal size: every sum alone is right, but not where it is."""
        names = [f"model.layers.{layer}.mlp.down_proj.weight#blocks" for layer in (0, 1)]
        first, second = (self.layout.entries[name] for name in names)
        with open(self.bad, "r+b") as file:
            for target, source in ((first, second), (second, first)):
                file.seek(target.begin)
                file.write(read_bytes(self.good, source.begin, source.end))
        self.check_found(*(name.split("#")[0] for name in names))


if __name__ == "__main__":
    unittest.main()
