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

BITS = {"BOOL": 8, "U8": 8, "F8_E4M3": 8, "F8_E5M2": 8,
        "F8_E4M3FNUZ": 8, "F8_E5M2FNUZ": 8, "F16": 16, "BF16": 16, "I32": 32, "F32": 32, "I64": 64, "F64": 64}


def row_bytes(codec, component, columns):
    """Bytes of a packed component for a row, after docs/codecs.md."""
    group = (columns + 127) // 128 * 32
    return {"q8_0": {"blocks": columns // 32 * 34}, "q4_0": {"blocks": columns // 32 * 18},
            "q4_1": {"blocks": columns // 32 * 20}, "q5_0": {"blocks": columns // 32 * 22},
            "q5_1": {"blocks": columns // 32 * 24}, "q4_k": {"blocks": columns // 256 * 144},
            "q5_k": {"blocks": columns // 256 * 176}, "q6_k": {"blocks": columns // 256 * 210},
            "tq1_0": {"blocks": columns // 256 * 54}, "tq2_0": {"blocks": columns // 256 * 66},
            "ternary": {"codes": group, "scales": 4}, "absmean": {"codes": group},
            "planes": {"planes": 8 * group, "scales": 2}}[codec][component]


def place(part):
    """Data offset and stored size of a component."""
    return tuple(int(part[key], 16) if part["compression"] == "zstd" else part[key]
                 for key in ("offset", "stored_bytes"))


def bound(size):
    """The most bytes of a frame that holds `size`."""
    return size + (size >> 8) + (131072 - size >> 11 if size < 131072 else 0)


def little_endian(values):
    return struct.pack(f"<{len(values)}I", *struct.unpack(f"={len(values)}I", values.tobytes()))


class Reader(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="synps-format-")
        cls.artifact = os.path.join(cls.folder.name, "codecs.synps")
        subprocess.run([PROGRAM, "write", cls.artifact], check=True)
        cls.index, cls.text, cls.data, cls.sums = read_artifact.read_index(cls.artifact)
        with open(cls.artifact, "rb") as file:
            content = file.read()
        [length] = struct.unpack("<Q", content[:8])
        cls.header = content[8:8 + length].decode("utf-8")

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
                     "q4_1:q4_1", "q5_0:q5_0", "q5_1:q5_1", "q4_k:q4_k", "q5_k:q5_k", "q6_k:q6_k",
                     "ternary:ternary", "ternary:absmean", "ternary:planes", "ternary:tq1_0",
                     "ternary:tq2_0", ":keep"):
            self.assertGreaterEqual(used.get(name, 0), 3, name)

    def test_both_orders_are_there(self):
        orders = {}
        for weight in self.index["weights"]:
            codec = self.index["codecs"][weight["codec"]]["name"]
            order = self.index["forms"][weight["form"]]["order"]
            self.assertEqual({part["order"] for part in weight["components"]}, {order})
            orders.setdefault(codec, set()).add(order)
        for codec in ("q8_0", "q4_0", "q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k", "ternary",
                      "tq1_0", "tq2_0"):
            self.assertEqual(orders[codec], {"rows1", "rows8"}, codec)
        for codec in ("f32", "f16", "bf16", "absmean", "planes", "keep"):
            self.assertEqual(orders[codec], {"rows1"}, codec)

    def test_histories_are_read(self):
        found = {weight["path"]: read_artifact.history(self.index, weight)
                 for weight in self.index["weights"] if "history" in weight}
        self.assertEqual(found, {"history.one": ["q4_0:q4_0"],
                                 "history.two": ["q4_0:q4_0", "f16:f16"]})

    def test_the_index_is_canonical_json(self):
        text = self.text.decode("utf-8").rstrip(" ")
        again = json.dumps(json.loads(text), sort_keys=True, separators=(",", ":"),
                           ensure_ascii=False)
        self.assertEqual(text, again)
        self.assertEqual(len(self.text) % 4096, 0)

    def test_entries_are_where_the_format_puts_them(self):
        header = json.loads(self.header)
        self.assertEqual((8 + len(self.header.encode())) % 4096, 0)
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
                self.assertEqual((begin, end - begin), place(part))
                if part["compression"] == "zstd":
                    self.assertEqual(part["entry"], f"{weight['path']}#{part['name']}.zstd")
                    self.assertEqual(header[part["entry"]]["shape"], [end - begin])
                    continue
                if part["name"] == "values":
                    self.assertEqual(part["entry"], weight["path"])
                    self.assertEqual(part["stored_bytes"], part["bytes"])
                    continue
                self.assertEqual(part["entry"], f"{weight['path']}#{part['name']}")
                unit = 4096 if self.index["schemes"][weight["scheme"]]["volatile"] else 64
                self.assertEqual(begin % unit, 0)
                self.assertEqual(part["stored_bytes"], (part["bytes"] + unit - 1) // unit * unit)
                self.assertEqual(self.data[begin + part["bytes"]:end].strip(b"\0"), b"")

    def in_data_order(self):
        parts = [(part, weight) for weight in self.index["weights"] for part in weight["components"]]
        # Entries without bytes share their offset with the next one.
        return sorted(parts, key=lambda row: place(row[0]))

    def test_chunks_are_cut_as_the_format_says(self):
        next_digest = 0
        used = 0
        for part, weight in self.in_data_order():
            with self.subTest(entry=part["entry"]):
                codec = self.index["codecs"][weight["codec"]]["name"]
                columns = weight["shape"][-1] if len(weight["shape"]) > 1 else 65536
                if part["per_weight"]:
                    rows, size = 0, part["bytes"]
                else:
                    group = (columns * BITS[part["dtype"]] if part["name"] == "values"
                             else 8 * row_bytes(codec, part["name"], columns))
                    if 0 in weight["shape"]:
                        group = 0
                    n = max(1, 1048576 // group) if group else 1
                    rows, size = 8 * n, n * group
                self.assertEqual((part["chunk_rows"], part["chunk_bytes"]), (rows, size))
                self.assertEqual(part["digest"], next_digest)
                if place(part)[1]:
                    chunks = max(1, -(-part["bytes"] // size))
                    next_digest += chunks
                    used += chunks * (24 if part["compression"] == "zstd" else 16)
        stored = [part for part, _ in self.in_data_order() if place(part)[1]]
        self.assertGreater(next_digest, len(stored), "no component has two chunks")
        sums = json.loads(self.header)["__synps_sums__"]["data_offsets"]
        self.assertEqual(sums[1] - sums[0], (used + 4095) // 4096 * 4096)
        self.assertEqual(self.sums[used:].strip(b"\0"), b"")

    def test_frames_fill_their_entries(self):
        found = 0
        for part, weight in self.in_data_order():
            if part["compression"] != "zstd":
                continue
            with self.subTest(entry=part["entry"]):
                sizes = read_artifact.frame_sizes(self.index, self.sums, part)
                self.assertEqual(sum(sizes), place(part)[1])
                for i, size in enumerate(sizes):
                    content = min(part["chunk_bytes"], part["bytes"] - i * part["chunk_bytes"])
                    self.assertLessEqual(size, bound(content))
                found += len(sizes) > 1
        self.assertGreater(found, 0, "no compressed component has two chunks")
        self.assertRegex(self.index["zstd"], r"^\d+\.\d+\.\d+$")

    def test_the_header_has_the_room_that_bounds_need(self):
        # Every number of a compressed entry at its largest gives the length of the header.
        header = json.loads(self.header)
        end = None
        for part, _ in self.in_data_order():
            if part["compression"] != "zstd":
                continue
            begin = place(part)[0] if end is None else end
            full, rest = divmod(part["bytes"], part["chunk_bytes"])
            end = begin + full * bound(part["chunk_bytes"]) + (bound(rest) if rest else 0)
            header[part["entry"]]["shape"] = [end - begin]
            header[part["entry"]]["data_offsets"] = [begin, end]
        text = json.dumps(header, separators=(",", ":"), ensure_ascii=False).encode()
        self.assertEqual(8 + len(self.header.encode()), (8 + len(text) + 4095) // 4096 * 4096)

    def test_data_is_in_the_documented_order(self):
        def key(row):
            part, weight = row
            if part["compression"] == "zstd":
                return 4, 0, weight["path"].encode(), weight["components"].index(part)
            if part["name"] != "values":
                rank = 0 if self.index["schemes"][weight["scheme"]]["volatile"] else 1
            else:
                rank = 2 if part["stored_bytes"] % 64 == 0 else 3
            bits = BITS[part["dtype"]] if rank == 3 else 0
            return rank, -bits, weight["path"].encode(), weight["components"].index(part)
        entries = [row[0]["entry"] for row in sorted(
            ((part, weight) for weight in self.index["weights"] for part in weight["components"]),
            key=key)]
        self.assertEqual(list(json.loads(self.header))[3:], entries)

    def test_tables_hold_each_row_once_by_first_use(self):
        for field, table in (("codec", "codecs"), ("form", "forms"), ("scheme", "schemes"),
                             ("decisions", "decisions")):
            used = [number for w in self.index["weights"] if w[field] is not None
                    for number in [w[field]] + (w.get("history", []) if field == "codec" else [])]
            self.assertEqual(list(dict.fromkeys(used)), list(range(len(self.index[table]))), table)
            rows = [json.dumps(row, sort_keys=True) for row in self.index[table]]
            self.assertEqual(len(set(rows)), len(rows), table)


if __name__ == "__main__":
    PROGRAM = sys.argv.pop(1)
    unittest.main()
