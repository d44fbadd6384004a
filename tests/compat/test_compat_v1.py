"""The artifacts of v1/ under the commands and the independent reader; files of other versions.

    test_compat_v1.py SYNPS Q8_ROW
"""

import json
import os
import subprocess
import sys
import tempfile
import unittest

sys.dont_write_bytecode = True
HERE = os.path.dirname(os.path.abspath(__file__))
for each in ("cli", "format"):
    sys.path.insert(0, os.path.join(HERE, "..", each))

import read_artifact  # noqa: E402
from digests import little_endian, xxh3  # noqa: E402

SYNPS = MODULE = None
V1 = os.path.join(HERE, "v1")

with open(os.path.join(V1, "expected.json"), encoding="utf-8") as file:
    EXPECTED = json.load(file)


def read(name):
    with open(os.path.join(V1, name), "rb") as opened:
        return opened.read()


class CompatV1(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="synps-compat-")
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def synps(self, *arguments, code=0):
        done = subprocess.run([SYNPS, *arguments], cwd=self.folder, capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, check=False)
        self.assertEqual(done.returncode, code, (arguments, done.stdout, done.stderr))
        return done

    def file(self, name, content):
        path = os.path.join(self.folder, name)
        with open(path, "wb") as out:
            out.write(content)
        return path

    def test_commands(self):
        for name, artifact in EXPECTED.items():
            with self.subTest(artifact=name):
                path = os.path.join(V1, artifact["open"])
                package = ["--package", f"q8_row={MODULE}"] if artifact["package"] else []
                self.assertTrue(json.loads(self.synps("verify", path, "--json").stdout)["ok"])
                shown = json.loads(self.synps("inspect", path, "--json").stdout)
                self.assertEqual((shown["kind"], shown["version"]), ("artifact", 1))
                self.assertEqual([(weight["path"], weight["codec"], weight["shape"])
                                  for weight in shown["weights"]],
                                 [(weight["path"], weight["codec"], weight["shape"])
                                  for weight in artifact["weights"]])
                self.synps("inspect", path)
                self.synps("plan", path, "--profile", "edge", *package)

    def test_unpacked_values(self):
        for name, artifact in EXPECTED.items():
            package = ["--package", f"q8_row={MODULE}"] if artifact["package"] else []
            self.synps("unpack", os.path.join(V1, artifact["open"]), "-o", f"{name}.safetensors",
                       *package)
            with open(os.path.join(self.folder, f"{name}.safetensors"), "rb") as opened:
                content = opened.read()
            start = 8 + int.from_bytes(content[:8], "little")
            header = json.loads(content[8:start])
            for weight in artifact["weights"]:
                if weight["path"] not in header:  # a key-value's entry: metadata again
                    self.assertTrue(weight["path"].startswith("gguf."), weight["path"])
                    continue
                entry = header[weight["path"]]
                begin, end = (start + offset for offset in entry["data_offsets"])
                with self.subTest(artifact=name, weight=weight["path"]):
                    if entry["dtype"] in read_artifact.WIDTH:
                        values = read_artifact.dense(content[begin:end], entry["dtype"])
                        self.assertEqual(xxh3(little_endian(values)), weight["values"])
                    else:
                        self.assertEqual(xxh3(content[begin:end]), weight["stored"][0])

    def test_independent_reader(self):
        decoded = 0
        for name, artifact in EXPECTED.items():
            by_path = {weight["path"]: weight for weight in artifact["weights"]}
            for file_name in artifact["files"]:
                if not file_name.endswith(".synps"):
                    continue
                index, _, data, sums = read_artifact.read_index(os.path.join(V1, file_name))
                for weight in index["weights"]:
                    expected = by_path[weight["path"]]
                    codec = index["codecs"][weight["codec"]]
                    codec = f"{codec['package']}:{codec['name']}"
                    parts = {part["name"]: read_artifact.true_bytes(index, data, sums, weight, part)
                             for part in weight["components"]}
                    with self.subTest(artifact=name, weight=weight["path"]):
                        self.assertEqual([xxh3(raw) for raw in parts.values()], expected["stored"])
                        if expected["by"] != "read_artifact.py":
                            continue
                        parts = {part["name"]: read_artifact.as_rows1(weight, codec, part,
                                                                      parts[part["name"]])
                                 for part in weight["components"]}
                        values = read_artifact.decode(weight, codec, parts)
                        decoded += 1
                        if expected["values"] is None:
                            self.assertIsInstance(values, bytes)
                        else:
                            self.assertEqual(xxh3(little_endian(values)), expected["values"])
        self.assertGreater(decoded, 100)

    def test_other_versions_are_refused(self):
        artifact, shards = read("dense.synps"), read("shards.synps.index.json")
        of_one = b'"synps.version":"1"'
        self.assertEqual((artifact.count(of_one), shards.count(of_one)), (1, 1))
        for version, hint in (("0", "pack the checkpoint again"), ("2", "a newer synps wrote")):
            other = f'"synps.version":"{version}"'.encode()
            # Another version may have another header, too.
            files = {"a.synps": artifact.replace(of_one, other),
                     "b.synps": artifact.replace(of_one, other).replace(b'"__synps_sums__"',
                                                                        b'"__synps_more__"'),
                     "c.synps.index.json": shards.replace(of_one, other)}
            for name, content in files.items():
                path = self.file(name, content)
                field = ("" if name.endswith(".json") else "__") + "metadata"
                for command in (["inspect", path], ["verify", path], ["plan", path],
                                ["unpack", path, "-o", "out.safetensors"],
                                ["repack", path, "-o", "out.synps", "--compress", "zstd"], ["diff", path, path]):
                    with self.subTest(version=version, command=command):
                        error = self.synps(*command, code=5).stderr
                        self.assertIn("the artifact has another format version", error)
                        self.assertIn(f"found '{version}', want 1, which this synps reads", error)
                        self.assertIn(field, error)
                        self.assertIn(hint, error)
                self.assertFalse(os.path.exists(os.path.join(self.folder, "out.safetensors")))

    def test_an_index_of_another_version_is_refused(self):
        # The header says 1, the index another: no writer makes that.
        artifact = read("dense.synps")
        self.assertEqual(artifact.count(b'"version":1,"weights"'), 1)
        path = self.file("a.synps", artifact.replace(b'"version":1,"weights"',
                                                     b'"version":2,"weights"'))
        self.assertIn("__synps__", self.synps("inspect", path, code=5).stderr)

    def test_nothing_is_made_anew(self):
        before = {name: read(name) for name in os.listdir(V1)}
        script = os.path.join(HERE, "make_v1.py")
        for name in EXPECTED:
            done = subprocess.run([sys.executable, "-B", script, "--synps", SYNPS, "--q8-row",
                                   MODULE, name], capture_output=True, text=True, check=False)
            self.assertEqual(done.returncode, 1, done.stderr)
            self.assertIn(f"v1/{name} is there, and frozen", done.stderr)
        self.assertEqual({name: read(name) for name in os.listdir(V1)}, before)

    def test_every_recipe_has_been_made(self):
        import recipes
        self.assertEqual(sorted(recipes.ALL), sorted(EXPECTED))


if __name__ == "__main__":
    MODULE = os.path.abspath(sys.argv.pop(2))
    SYNPS = os.path.abspath(sys.argv.pop(1))
    unittest.main()
