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
        # However long the folder's name is, and so wherever the line is broken.
        for length in (1, 10, 15, 20, 25, 30, 40, 200):
            folder = pathlib.Path(self.path("f" * length))
            folder.mkdir()
            package = folder / "q8_row.so"
            package.symlink_to(PACKAGES / "q8_row.so")
            text = self.ok("codecs", "--package", f"q8_row={package}")
            self.assertIn("\nq8_row ", text)
            self.assertIn(f" package file: {package} ", " ".join(text.split()))
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
                ("constructor_throws", "threw an exception while it was loaded: found no licence"),
                ("constructor_exits", "called exit (loading it)"),
                ("entry_exits", "called exit (synps_codec_package_v1)"),
                ("entry_throws_null", "threw an exception"),
                ("supports_throws_null", "supports threw an exception"),
                ("supports_throws_much", "supports threw an exception: xxx"),
                ("supports_too_large", "supports says that a size is too large"),
                ("supports_exits", "called exit (supports)"),
                ("components_giant", "asks for too much for a small weight"),
                ("components_giant_sum", "too large a component for the whole weight"),
                ("encode_exits", "called exit (encode)"),
                ("encode_drops_nan", "values that are not finite"),
                ("decode_shifts", "that it claims to store exactly"),
                ("supports_throws", "supports threw an exception: no such weight"),
                ("supports_fails", "out\\x1b[31m of order"),
                ("row_bytes_lies", "row_bytes contradicts"),
                ("encode_past", "wrote past the end"),
                ("decode_throws", "decode threw an exception")):
            error = self.broken(rule, "codecs")
            self.assertIn(says, error)
            self.assertLess(len(error), 2000)

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

    def test_sizes_that_change_while_packing_are_found(self):
        self.write_checkpoint("long.safetensors", [400, 1024], [1.5] * 409600)
        policy = self.policy("p.toml", "hostile")
        before = self.names()
        for rule in ("zero", "half", "twice", "giant"):
            error = self.broken(f"late:row_bytes_{rule}_later", "pack", "long.safetensors", "-p",
                                policy, "-o", "a.synps", "-j", "1")
            self.assertIn("row_bytes", error)
            self.assertEqual(self.names(), before)

    def test_sizes_that_change_while_reading_are_found(self):
        self.write_checkpoint("long.safetensors", [400, 1024], [1.5] * 409600)
        self.ok("pack", "long.safetensors", "-p", self.policy("p.toml", "hostile"), "-o",
                "a.synps", "--package", self.hostile)
        before = self.names()
        for rule in ("zero", "half", "twice", "giant"):
            error = self.broken(f"late:row_bytes_{rule}_later", "unpack", "a.synps", "-o", "back.safetensors")
            self.assertIn("row_bytes", error)
            self.assertEqual(self.names(), before)

    def test_nothing_is_rounded_for_a_package_that_claims_too_much(self):
        self.ok("pack", "tiny.safetensors", "-p", self.policy("p.toml", "hostile"), "-o",
                "a.synps", "--package", self.hostile)
        before = self.names()
        error = self.broken("late:decode_shifts", "unpack", "a.synps", "-o", "back.safetensors")
        self.assertIn("decode gives a value that the source's dtype does not hold", error)
        self.assertEqual(self.names(), before)

    def test_a_package_that_exits_while_packing_is_no_success(self):
        policy = self.policy("p.toml", "hostile")
        for rule in ("supports_exits", "encode_exits"):
            error = self.broken("late:" + rule, "pack", "tiny.safetensors", "-p", policy, "-o",
                                "a.synps")
            self.assertIn("called exit", error)
            self.assertFalse(os.path.exists(self.path("a.synps")))

    def test_the_environment_of_a_package_changes_no_other_codec(self):
        # Subnormal scales, and ties that another rounding would decide otherwise.
        numbers = [1e-38 * (i % 7) + 1e-40 * i for i in range(64 * 64)]
        self.write_checkpoint("small.safetensors", [64, 64], numbers)
        pathlib.Path(self.path("two.toml")).write_text(
            '[policies."*"]\nfallback = "f16"\n[[policies."*".schemes]]\nformat = "q8_0"\n'
            '[policies."none"]\noptional = true\n'
            '[[policies."none".schemes]]\nformat = "hostile"\n')
        self.ok("pack", "small.safetensors", "-p", "two.toml", "-o", "a.synps", "--package",
                self.hostile)
        fast = f"hostile={PACKAGES / 'hostile_fast.so'}"
        for rule, package in (("none", fast), ("encode_rounds_up", self.hostile),
                              ("encode_traps", self.hostile)):
            result = self.synps("pack", "small.safetensors", "-p", "two.toml", "-o", "b.synps",
                                "--force", "--package", package,
                                env=dict(os.environ, SYNPS_TEST_HOSTILE=rule))
            self.assertEqual(result.code, 0, (rule, result.err))
            self.assertEqual(self.read("a.synps"), self.read("b.synps"), rule)

    def test_vectors_of_an_odd_granule(self):
        self.write_checkpoint("bias.safetensors", [48 * 3000], [0.5, -1.5, 2.5] * 48000)
        env = dict(os.environ, SYNPS_TEST_HOSTILE="granule_48")
        policy = self.policy("p.toml", "hostile")
        for command in (["pack", "bias.safetensors", "-p", policy, "-o", "a.synps"],
                        ["verify", "a.synps", "--against", "bias.safetensors"],
                        ["unpack", "a.synps", "-o", "back.safetensors"]):
            result = self.synps(*command, "--package", self.hostile, env=env)
            self.assertEqual(result.code, 0, result.err)
        self.assertEqual(self.read("back.safetensors")[-4 * 144000:],
                         self.read("bias.safetensors")[-4 * 144000:])

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

    def test_no_base_of_the_policy_is_an_output(self):
        pathlib.Path(self.path("base.toml")).write_text(POLICY.format(format="q8_0"))
        pathlib.Path(self.path("p.toml")).write_text('extends = "base.toml"\n')
        before = self.read("base.toml")
        for more in ([], ["--dry-run"]):
            self.fails(8, "pack", "tiny.safetensors", "-p", "p.toml", "-o", "base.toml", "--force",
                       *more, says="base.toml")
        self.assertEqual(self.read("base.toml"), before)

    def test_unpacking_replaces_no_package(self):
        self.pack("--package", self.q8_row)
        shutil.copy(PACKAGES / "q8_row.so", self.path("q8_row.so"))
        before = self.read("q8_row.so")
        self.fails(8, "unpack", "a.synps", "-o", "q8_row.so", "--force", "--package",
                   "q8_row=q8_row.so", says="q8_row.so")
        self.assertEqual(self.read("q8_row.so"), before)

    def test_a_package_that_the_command_line_hides_is_no_output(self):
        shutil.copy(PACKAGES / "q8_row.so", self.path("q8_row.so"))
        before = self.read("q8_row.so")
        policy = self.policy("p.toml", "q8_row", "q8_row.so")
        self.fails(8, "pack", "tiny.safetensors", "-p", policy, "-o", "q8_row.so", "--force",
                   "--package", self.q8_row, says="q8_row.so")
        self.assertEqual(self.read("q8_row.so"), before)

    def test_no_package_runs_for_a_policy_that_is_refused_anyway(self):
        policy = self.policy("p.toml", "hostile")
        with open(self.path(policy), "a") as file:
            file.write(f'[packages]\nhostile = {{ path = "{PACKAGES / "hostile.so"}" }}\n'
                       '[policies."*".backend]\ndevise = "local"\n')
        # Running it would end in code 9.
        result = self.synps("plan", "tiny.safetensors", "-p", policy,
                            env=dict(os.environ, SYNPS_TEST_HOSTILE="constructor_exits"))
        self.assertEqual(result.code, 7, result.err)
        self.assertIn("devise", result.err)
        self.assertNotIn("unknown codec", result.err)

    def test_paths_and_names_of_the_policy_that_cannot_be(self):
        for name, path, says in (("q8_row", "", "the path of the codec package is empty"),
                                 ("q8_row", "q8_row.so\\u0000.no", "has a NUL in it"),
                                 ("Q8", "missing.so", "no codec package can have that name")):
            policy = pathlib.Path(self.path("p.toml"))
            policy.write_text(POLICY.format(format="f16") +
                              f'[packages]\n{name} = {{ path = "{path}" }}\n')
            self.assertIn("p.toml:10", self.fails(9, "plan", "tiny.safetensors", "-p", "p.toml",
                                                  says=says))

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
