"""Codec packages on the command line: test_packages_cli.py --synps PROGRAM --packages FOLDER

FOLDER holds the shared objects that this folder's CMakeLists.txt builds. Only the Python standard
library.
"""

import argparse
import json
import os
import pathlib
import shutil
import struct
import sys
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE.parent / "cli"))
import fixtures  # noqa: E402
import support  # noqa: E402

PACKAGES = None

POLICY = """\
[myelin]
formats = ["bf16"]

[policies."*"]
fallback = "f16"

[[policies."*".schemes]]
format = "{format}"
"""

WITH_PACKAGE = """
[packages]
q8_row = {{ path = "{path}" }}
"""


class Packages(support.CliTest):
    def setUp(self):
        super().setUp()
        self.q8_row = f"q8_row={PACKAGES / 'q8_row.so'}"
        self.hostile = f"hostile={PACKAGES / 'hostile.so'}"

    def policy(self, name, format, package=None):
        text = POLICY.format(format=format)
        if package:
            text += WITH_PACKAGE.format(path=package)
        path = pathlib.Path(self.path(name))
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
        return name

    def pack(self, *more, output="a.synps"):
        policy = self.policy("q8_row.toml", "q8_row")
        return self.ok("pack", "tiny.safetensors", "-p", policy, "-o", output, *more)

    def broken(self, rule, *arguments):
        """What a command says, and does, with the hostile package breaking a rule."""
        result = self.synps(*arguments, "--package", self.hostile,
                            env=dict(os.environ, SYNPS_TEST_HOSTILE=rule))
        self.assertEqual(result.code, 9, (rule, result.out, result.err))
        self.assertEqual(result.out, "")
        lines = result.err.splitlines()
        self.assertEqual(len(lines), 1, result.err)
        self.assertTrue(lines[0].startswith(f"synps: error: {PACKAGES / 'hostile.so'}: "), lines)
        return lines[0]

    def test_codecs_are_listed_with_their_file(self):
        text = self.ok("codecs", "--package", self.q8_row)
        self.assertIn("\nq8_row ", text)
        self.assertIn("package file: ", text)
        listed = json.loads(self.ok("codecs", "--json", "--package", self.q8_row))["codecs"]
        files = {codec["codec"]: codec["file"] for codec in listed}
        self.assertEqual(files["q8_row:q8_row"], str(PACKAGES / "q8_row.so"))
        self.assertIsNone(files["q8_0:q8_0"])

    def test_the_option_takes_one_package_each(self):
        for value in ("q8_row", "=q8_row.so", "q8_row="):
            self.fails(2, "codecs", "--package", value, says="--package needs a name and a file")
        self.fails(2, "codecs", "--package", self.q8_row, "--package", self.q8_row,
                   says="--package names 'q8_row' twice")
        # What follows is not taken for one more package.
        self.ok("plan", "--package", self.q8_row, "tiny.safetensors", "-p",
                self.policy("q8_row.toml", "q8_row"))

    def test_a_package_of_the_command_line_packs_and_unpacks(self):
        self.pack("--package", self.q8_row)
        plan = json.loads(self.ok("plan", "tiny.safetensors", "-p", "q8_row.toml", "--json",
                                  "--package", self.q8_row))
        self.assertEqual(plan["artifact_bytes"], os.path.getsize(self.path("a.synps")))
        found = {weight["codec"] for weight in plan["weights"]}
        self.assertLessEqual({"q8_row:q8_row"}, found)
        report = json.loads(self.ok("verify", "a.synps", "--against", "tiny.safetensors", "--json",
                                    "--package", self.q8_row))
        self.assertTrue(report["ok"])
        lossy = [w for w in report["weights"] if not w["lossless"]]
        self.assertTrue(lossy)
        for weight in lossy:
            self.assertLess(weight["max_abs_error"], 0.51 / 127, weight)
        self.ok("unpack", "a.synps", "-o", "back.safetensors", "--package", self.q8_row)
        self.ok("explain", "model.embed_tokens.weight", "-p", "q8_row.toml", "-c",
                "tiny.safetensors", "--package", self.q8_row)

    def test_threads_and_runs_do_not_change_the_bytes(self):
        self.pack("--package", self.q8_row, "-j", "1")
        self.pack("--package", self.q8_row, "-j", "4", output="b.synps")
        self.assertEqual(self.read("a.synps"), self.read("b.synps"))

    def test_a_policy_names_its_packages_beside_it(self):
        os.makedirs(self.path("policies/codecs"))
        shutil.copy(PACKAGES / "q8_row.so", self.path("policies/codecs"))
        policy = self.policy("policies/q8_row.toml", "q8_row", "codecs/q8_row.so")
        self.ok("pack", "tiny.safetensors", "-p", policy, "-o", "a.synps")
        self.pack("--package", self.q8_row, output="b.synps")
        self.assertEqual(self.read("a.synps"), self.read("b.synps"))

    def test_the_command_line_wins_over_the_policy(self):
        policy = self.policy("p.toml", "q8_row", "nowhere/q8_row.so")
        error = self.fails(9, "plan", "tiny.safetensors", "-p", policy)
        self.assertIn("p.toml:11", error)
        self.assertIn("cannot open the codec package", error)
        self.ok("plan", "tiny.safetensors", "-p", policy, "--package", self.q8_row)

    def test_an_artifact_says_which_package_it_needs_and_loads_none(self):
        self.pack("--package", self.q8_row)
        # Where a program that looked for it might find it.
        for name in ("q8_row", "q8_row.so", "libq8_row.so"):
            shutil.copy(PACKAGES / "q8_row.so", self.path(name))
        beside = dict(os.environ, LD_LIBRARY_PATH=self.folder)
        needs = "--package q8_row=PATH"
        for command in (["unpack", "a.synps", "-o", "back.safetensors"],
                        ["verify", "a.synps", "--against", "tiny.safetensors"]):
            result = self.synps(*command, env=beside)
            self.assertEqual((result.code, result.out), (9, ""), result.err)
            self.assertIn(needs, result.err)
            self.assertIn("q8_row:q8_row revision 1", result.err)
        self.assertFalse(os.path.exists(self.path("back.safetensors")))
        # What needs no values works, and warns.
        for command in (["inspect", "a.synps"], ["plan", "a.synps"], ["verify", "a.synps"]):
            result = self.synps(*command, env=beside)
            self.assertEqual(result.code, 0, result.err)
            self.assertIn("synps: warning: a.synps: ", result.err)
            self.assertIn(needs, result.err)
            self.ok(*command, "--package", self.q8_row)

    def test_one_name_in_two_packages_has_to_be_qualified(self):
        both = ("--package", f"left={PACKAGES / 'left.so'}",
                "--package", f"right={PACKAGES / 'right.so'}")
        error = self.fails(7, "plan", "tiny.safetensors", "-p",
                           self.policy("short.toml", "q8_row"), *both)
        self.assertIn("left:q8_row or right:q8_row", error)
        policy = self.policy("long.toml", "left:q8_row")
        plan = json.loads(self.ok("plan", "tiny.safetensors", "-p", policy, "--json", *both))
        self.assertIn("left:q8_row", {weight["codec"] for weight in plan["weights"]})
        plan = json.loads(self.ok("plan", "tiny.safetensors", "-p", "short.toml", "--json", *both,
                                  "--package", self.q8_row))
        self.assertIn("q8_row:q8_row", {weight["codec"] for weight in plan["weights"]})

    def test_what_is_no_package_ends_in_a_sentence(self):
        for file, says in (("missing.so", "cannot open the codec package"),
                           ("tiny.safetensors", "cannot load the codec package"),
                           (str(PACKAGES / "not_a_package.so"), "no codec package")):
            error = self.fails(9, "codecs", "--package", f"q8_row={file}", says=says)
            self.assertEqual(len(error.splitlines()), 1)
        self.fails(9, "codecs", "--package", f"q8={PACKAGES / 'q8_row.so'}",
                   says="load it as q8_row")
        self.fails(9, "codecs", "--package", f"q8_0={PACKAGES / 'q8_row.so'}",
                   says="there is a codec package 'q8_0' already")

    def test_a_broken_package_ends_in_a_sentence(self):
        for rule, says in (
                ("entry_throws", "threw an exception"),
                ("abi_version", "found version 2, want version 1"),
                ("struct_size", "too small"),
                ("codec_twice", "exports one name twice"),
                ("codec_graph", "graph_decode"),
                ("supports_throws", "supports threw an exception: no such weight"),
                ("supports_fails", "out\\x1b[31m of order"),
                ("row_bytes_lies", "row_bytes contradicts"),
                ("encode_past", "wrote past the end"),
                ("decode_throws", "decode threw an exception")):
            self.assertIn(says, self.broken(rule, "codecs"))

    def test_a_package_that_fails_while_packing_leaves_nothing(self):
        policy = self.policy("p.toml", "hostile")
        pathlib.Path(self.path("old.synps")).write_text("earlier")
        before = self.names()
        for rule in ("encode_past", "encode_before", "encode_short", "encode_throws",
                     "encode_fails", "encode_finds_outside", "components_past"):
            pack = ("pack", "tiny.safetensors", "-p", policy)
            self.assertIn("(model.", self.broken("late:" + rule, *pack, "-o", "new.synps"))
            self.broken("late:" + rule, *pack, "-o", "old.synps", "--force")
            self.assertEqual(self.names(), before)
            self.assertEqual(self.read("old.synps"), b"earlier")

    def test_a_package_that_fails_while_decoding_is_no_damage(self):
        policy = self.policy("p.toml", "hostile")
        self.ok("pack", "tiny.safetensors", "-p", policy, "-o", "a.synps", "--package",
                self.hostile)
        self.ok("verify", "a.synps", "--against", "tiny.safetensors", "--package", self.hostile)
        for rule in ("decode_past", "decode_throws", "components_none"):
            self.broken("late:" + rule, "verify", "a.synps", "--against", "tiny.safetensors")
            self.broken("late:" + rule, "unpack", "a.synps", "-o", "back.safetensors")
        self.assertFalse(os.path.exists(self.path("back.safetensors")))

    def test_the_package_is_no_output(self):
        shutil.copy(PACKAGES / "q8_row.so", self.path("q8_row.so"))
        before = self.read("q8_row.so")
        policy = self.policy("p.toml", "q8_row", "q8_row.so")
        for more in ([], ["--dry-run"]):
            self.fails(8, "pack", "tiny.safetensors", "-p", policy, "-o", "q8_row.so", "--force",
                       *more, says="q8_row.so")
        self.assertEqual(self.read("q8_row.so"), before)

    def test_values_come_back_as_the_package_says(self):
        numbers = [127.0, 0.5, -2.5, 1e-3] + [3.0, -1.5, 0.0, 0.75]
        self.write_checkpoint("rows.safetensors", [2, 4], numbers)
        self.ok("pack", "rows.safetensors", "-p", self.policy("p.toml", "q8_row"), "-o", "a.synps",
                "--package", self.q8_row)
        self.ok("unpack", "a.synps", "-o", "back.safetensors", "--package", self.q8_row)
        data = self.read("back.safetensors")[-32:]
        step = struct.unpack("<f", struct.pack("<f", 3 / 127))[0]
        wanted = [127.0, 1.0, -3.0, 0.0] + [code * step for code in (127, -64, 0, 32)]
        self.assertEqual(data, struct.pack("<8f", *wanted))

    def write_checkpoint(self, name, shape, numbers):
        fixtures.write_safetensors(self.path(name), [("w", "F32", shape, numbers)])


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--synps", required=True)
    parser.add_argument("--packages", required=True, type=pathlib.Path)
    arguments, rest = parser.parse_known_args()
    support.SYNPS = os.path.abspath(arguments.synps)
    PACKAGES = arguments.packages.resolve()
    unittest.main(argv=sys.argv[:1] + rest)
