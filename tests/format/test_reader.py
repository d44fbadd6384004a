"""Holds read_artifact.py against the runtime, and the index against Python's json.

test_reader.py PROGRAM, where PROGRAM is format_codec_artifact.
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
import read_artifact  # noqa: E402

PROGRAM = None


def little_endian(values):
    return struct.pack(f"<{len(values)}I", *struct.unpack(f"={len(values)}I", values.tobytes()))


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="synps-format-")
        cls.artifact = os.path.join(cls.folder.name, "codecs.synps")
        subprocess.run([PROGRAM, "write", cls.artifact], check=True)
        cls.index, cls.text, cls.data = read_artifact.read_index(cls.artifact)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def test_values_are_the_runtimes(self):
        printed = subprocess.run([PROGRAM, "values", self.artifact], check=True, text=True,
                                 capture_output=True).stdout
        expected = dict(line.split("\t") for line in printed.splitlines())
        found = read_artifact.read_artifact(self.artifact)
        self.assertEqual(sorted(found), sorted(expected))
        for path, values in found.items():
            with self.subTest(weight=path):
                if isinstance(values, bytes):
                    self.assertEqual("bytes:" + values.hex(), expected[path])
                else:
                    self.assertEqual(little_endian(values).hex(), expected[path])

    def test_every_codec_is_there(self):
        used = {}
        for weight in self.index["weights"]:
            codec = self.index["codecs"][weight["codec"]]
            name = f"{codec['package']}:{codec['name']}"
            used[name] = used.get(name, 0) + 1
        for name in ("f32:f32", "f16:f16", "bf16:bf16", "q8_0:q8_0", "q4_0:q4_0",
                     "ternary:ternary", "ternary:absmean", "ternary:planes", "ternary:tq1_0",
                     "ternary:tq2_0", ":keep"):
            self.assertGreaterEqual(used.get(name, 0), 3, name)

    def test_the_index_is_canonical_json(self):
        text = self.text.decode("utf-8").rstrip(" ")
        again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"),
                           ensure_ascii=False)
        self.assertEqual(text, again)
        self.assertEqual(len(self.text) % 4096, 0)

    def test_entries_are_where_the_format_puts_them(self):
        with open(self.artifact, "rb") as file:
            content = file.read()
        [length] = struct.unpack("<Q", content[:8])
        header = json.loads(content[8:8 + length])
        self.assertEqual((8 + length) % 4096, 0)
        components = [(part, weight) for weight in self.index["weights"]
                      for part in weight["components"]]
        # No holes, in the order of the header's keys.
        end = 0
        for name, entry in list(header.items())[1:]:
            self.assertEqual(entry["data_offsets"][0], end, name)
            end = entry["data_offsets"][1]
        self.assertEqual(end, len(self.data))
        self.assertEqual(list(header)[:3], ["__metadata__", "__synps__", "__synps_sums__"])
        self.assertEqual(len(header) - 3, len(components))
        for part, weight in components:
            with self.subTest(entry=part["entry"]):
                begin, end = header[part["entry"]]["data_offsets"]
                self.assertEqual((begin, end - begin), (part["offset"], part["stored_bytes"]))
                if part["name"] == "values":
                    self.assertEqual(part["entry"], weight["path"])
                    self.assertEqual(part["stored_bytes"], part["bytes"])
                    continue
                self.assertEqual(part["entry"], f"{weight['path']}#{part['name']}")
                unit = 4096 if self.index["schemes"][weight["scheme"]]["volatile"] else 64
                self.assertEqual(begin % unit, 0)
                self.assertEqual(part["stored_bytes"], (part["bytes"] + unit - 1) // unit * unit)
                self.assertEqual(self.data[begin + part["bytes"]:end].strip(b"\0"), b"")


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
