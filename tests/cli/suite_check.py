"""synps check: every kind of problem with its place and text, warnings, totals, exit codes."""

import json
import os
import re
import struct
import unittest

import fixtures
from bad_policies import LONG_PATH, ROOT, bad_files, scheme
from support import CliTest

HERE = os.path.dirname(os.path.abspath(__file__))
POLICY_PAGE = os.path.join(os.path.dirname(os.path.dirname(HERE)), "docs", "policy.md")

# Messages of docs/policy.md that need more than a text: a codec package with the same export.
# Of the second there is none now: this version takes every key that it knows.
# The order is wanted by kernels of tests alone: policy_order_test has it.
ELSEWHERE = {
    "ambiguous codec", "not yet available", "a weight cannot have the order that kernels of",
}


def messages_of_the_page():
    """What each row of docs/policy.md's table of error messages says it is about."""
    with open(POLICY_PAGE, encoding="utf-8") as file:
        section = file.read().split("## Error messages")[1].split("\n## ")[0]
    for row in re.findall(r"^\| (`.*?) \|", section, re.MULTILINE):
        for message in re.findall(r"`([^`]+)`", row):
            # Names and numbers differ: the longest piece of fixed text has to be there.
            fixed = re.sub(r" \(.*?\)", "…", message)
            yield max(re.split(r"…|: |; ", fixed), key=len).strip(" ,.")


class Check(CliTest):
    def write(self, name, text):
        with open(self.path(name), "wb") as out:
            out.write(text if isinstance(text, bytes) else text.encode())

    def write_hard_checkpoints(self):
        zeros = [0.0] * 32
        tensor = ("a" * 61, "F32", [1, 32], zeros)
        fixtures.write_safetensors(self.path("hard.safetensors"), [tensor])
        tensor = (LONG_PATH, "F32", [1, 32], zeros)
        fixtures.write_safetensors(self.path("tangled.safetensors"), [tensor])
        header = json.dumps({"w": {"dtype": "F8_E8M0", "shape": [2, 2], "data_offsets": [0, 4]}})
        self.write("e8m0.safetensors", struct.pack("<Q", len(header)) + header.encode() + bytes(4))

    def check(self, *arguments):
        """The report of a check that may find something, which goes to standard output alone."""
        result = self.synps("check", *arguments, "--json")
        self.assertEqual(result.err, "", arguments)
        report = json.loads(result.out)
        self.assertEqual(report["ok"], result.code == 0)
        return result.code, report

    def check_place(self, bad, text):
        """The message starts with the place, and a caret below the text stands at its column."""
        lines = text.splitlines()
        if bad.line is None:
            self.assertIn("bad.toml: error: ", text, bad.says)
            return
        shows = re.compile(r" *\d+ \| .*" + re.escape(bad.line))
        (at, *_) = [i for i, line in enumerate(lines) if shows.match(line)]
        number, shown = lines[at].split(" | ", 1)
        before, caret = lines[at + 1].split(" | ", 1)
        self.assertEqual((before.strip(), caret.strip()), ("", "^"), bad.says)
        self.assertLessEqual(caret.index("^"), len(shown), bad.says)
        self.assertRegex(
            text, rf"(?m)^\w+\.toml:{number.strip()}:\d+: error: ", bad.says
        )

    def test_every_fault_has_its_place_and_text(self):
        self.write_hard_checkpoints()
        said = ""
        for bad in bad_files():
            with self.subTest(bad.says):
                for name, text in {**bad.files, "bad.toml": bad.text}.items():
                    self.write(name, text)
                given = ["-p", "bad.toml", *([bad.weights] if bad.weights else [])]
                given += ["--to", bad.to] if bad.to else []
                result = self.synps("check", *given)
                self.assertEqual((result.code, result.err), (bad.code, ""), result.out)
                flat = " ".join(result.out.split())
                self.assertIn(bad.says, flat)
                said += flat
                self.check_place(bad, result.out)
                code, report = self.check(*given)
                self.assertEqual(code, bad.code)
                (problem, *_) = [p for p in report["problems"] if bad.says in self.whole(p)]
                if bad.line is None:
                    self.assertEqual((problem["line"], problem["text"]), (None, None))
                else:
                    self.assertGreater(problem["column"], 0)
                    self.assertTrue(problem["text"])
        for message in messages_of_the_page():
            if message not in ELSEWHERE:
                self.assertIn(message, said, "docs/policy.md has it, and no case here")

    @staticmethod
    def whole(problem):
        return " ".join(str(problem[key]) for key in ("what", "field", "found", "want", "hint"))

    def test_the_first_of_many_problems(self):
        keys = "".join(f"k{i} = 1\n" for i in range(60))
        self.write("bad.toml", '[policies."*"]\n' + keys)
        text = self.synps("check", "-p", "bad.toml").out
        self.assertEqual(text.count(": error: "), 50)
        self.assertIn("... and 10 more errors; --all shows them\n", text)
        self.assertIn("bad.toml: 60 problems ", text)
        self.assertEqual(self.synps("check", "-p", "bad.toml", "--all").out.count(": error: "), 60)
        self.assertEqual(len(self.check("-p", "bad.toml")[1]["problems"]), 60)

    def test_many_problems_on_one_line(self):
        keys = ", ".join(f'"é{i}" = 1' for i in range(9000))
        self.write("bad.toml", "myelin = {" + keys + "}\n")
        code, report = self.check("-p", "bad.toml")
        self.assertEqual((code, len(report["problems"])), (7, 9000))
        for problem in (report["problems"][i] for i in (0, 1, 500, 8998, 8999)):
            name = problem["field"].split(".")[1]
            text = problem["text"]
            self.assertIn(f"{name} = 1", text)
            self.assertLessEqual(len(text), 402)
            cut = (problem["column"] > 201, problem["column"] + 200 < len(keys))
            self.assertEqual((text[0] == "…", text[-1] == "…"), cut)
        text = self.synps("check", "-p", "bad.toml", "--all").out
        self.assertEqual(text.count(": error: "), 9000)
        self.assertLess(len(text), 9000 * 400)
        shown = re.findall(r"^ +1 \| (.*)\n +\| ( *)\^$", text, re.MULTILINE)
        self.assertEqual(len(shown), 9000)
        for number in (0, 4000, 8999):
            line, before = shown[number]
            self.assertTrue(line[len(before):].startswith(f'"é{number}" = 1'), (line, before))

    def test_caret_in_lines_that_are_hard_to_show(self):
        long = '[policies."%s"]\n' % ("x" * 400)
        for text, shown, caret in (
            ('[policies.a]\n\tdtpe = "f32"\n', '    dtpe = "f32"', 4),
            ('[policies.a]\n"\\u001b" = 1\n', '"\\u001b" = 1', 0),
            ('é = 1 # \u202e\n', "é = 1 # \\u{202e}", 0),
            (long + 'fine = 1\n', "fine = 1", 0),
            (f"[policies.a]\n{' ' * 300}dtpe = 1     # {'y' * 300}\n", None, None),
        ):
            with self.subTest(text[:40]):
                self.write("bad.toml", text)
                lines = self.synps("check", "-p", "bad.toml").out.splitlines()
                self.assertLessEqual(max(len(l) for l in lines if " | " in l), 100)
                (at, *_) = [i for i, line in enumerate(lines) if re.match(r" +\d+ \| ", line)]
                line, below = (part.split(" | ", 1)[1] for part in lines[at : at + 2])
                if shown is None:
                    self.assertTrue(line.startswith("…") and line.endswith("…"), line)
                    self.assertTrue(line[below.index("^") :].startswith("dtpe = 1"), line)
                else:
                    self.assertEqual((line, below.index("^")), (shown, caret))

    def test_warnings(self):
        covered = scheme("model.layers.0", format="q8_0") + "".join(
            scheme(f"model.layers.0.{part}", format="f32")
            for part in ("mlp", "self_attn", "input_layernorm")
        )
        self.write("covered.toml", ROOT + covered)
        text = self.ok("check", "-p", "covered.toml", "tiny.safetensors")
        self.assertIn("covered.toml:7:12: warning: the policy changes nothing", text)
        self.assertIn("covered.toml: no problems, 1 warning (5 policies; 19 weights of ", text)
        strict = self.synps("check", "-p", "covered.toml", "tiny.safetensors", "--strict")
        self.assertEqual((strict.code, strict.err), (7, ""))
        self.assertIn("no problems, 1 warning that --strict refuses (", strict.out)
        code, report = self.check("-p", "covered.toml", "tiny.safetensors")
        self.assertEqual((code, report["problems"], len(report["warnings"])), (0, [], 1))
        warning = report["warnings"][0]
        self.assertEqual((warning["line"], warning["column"]), (7, 12))
        self.assertEqual(warning["text"], "[[policies.'model.layers.0'.schemes]]")
        self.assertEqual(self.check("-p", "covered.toml", "tiny.safetensors", "--strict")[0], 7)

    def test_strict_lets_a_clean_policy_through(self):
        self.assertEqual(self.check("-p", "f16.toml", "tiny.safetensors", "--strict")[0], 0)

    def test_what_a_checkpoint_adds(self):
        code, report = self.check("-p", "mixed.toml", "tiny.safetensors")
        self.assertEqual(code, 0)
        self.assertEqual(
            set(report),
            {"file", "ok", "problems", "warnings", "codecs", "fallbacks", "encodings", "policies",
             "groups", "weights"},
        )
        self.assertEqual(
            (report["file"], report["policies"], report["groups"], report["weights"]),
            ("mixed.toml", 4, 0, len(fixtures.tiny_tensors())),
        )
        plan = json.loads(self.ok("plan", "-p", "mixed.toml", "tiny.safetensors", "--json"))
        for key in ("codecs", "fallbacks"):
            self.assertEqual(report[key], plan[key])
        self.assertEqual(
            {e["source"]: (e["weights"], e["naming"]) for e in report["encodings"]},
            {"bf16": (13, "named"), "f32": (5, "named"), "i64": (1, "not_needed")},
        )
        code, alone = self.check("-p", "mixed.toml")
        self.assertEqual((code, alone["weights"], alone["encodings"]), (0, None, []))
        self.assertIn("not held against a checkpoint", self.ok("check", "-p", "mixed.toml"))

    def test_encodings(self):
        self.write_hard_checkpoints()
        self.write("f16.toml", scheme("*", format="f16"))
        report = self.check("-p", "f16.toml", "tiny.safetensors")[1]
        self.assertEqual(
            report["encodings"][0], {"source": "bf16", "weights": 13, "naming": "missing"}
        )
        # Nothing decides about some of the f32 weights, nor about any of the bf16 ones.
        self.write("part.toml", scheme("model.scale", format="f16"))
        report = self.check("-p", "part.toml", "tiny.safetensors")[1]
        self.assertEqual(
            [e["naming"] for e in report["encodings"]], ["open", "named", "not_needed"]
        )
        report = self.check("-p", "f16.toml", "e8m0.safetensors")[1]
        (encoding,) = report["encodings"]
        self.assertEqual((encoding["source"], encoding["naming"]), ("f8_e8m0", "undecodable"))

    def test_unmatched(self):
        self.assertEqual(self.check("-p", "unmatched.toml", "tiny.safetensors")[0], 7)
        self.assertEqual(self.check("-p", "unmatched.toml")[0], 0)
        given = ("-p", "unmatched.toml", "tiny.safetensors", "--allow-unmatched")
        self.assertEqual(self.check(*given)[1]["problems"], [])

    def test_a_broken_file_is_not_held_against_the_checkpoint(self):
        text = self.synps("check", "-p", "broken.toml", "tiny.safetensors").out
        self.assertIn("1 problem (of tiny.safetensors, only the patterns were looked at)", text)
        report = self.check("-p", "broken.toml", "tiny.safetensors")[1]
        self.assertEqual((report["policies"], report["weights"]), (None, None))

    def test_usage(self):
        self.fails(2, "check", says="no policy was named with -p")
        self.fails(4, "check", "-p", "none.toml", says="none.toml")
        self.fails(4, "check", "-p", "f16.toml", "none", says="none")
        self.fails(3, "check", "-p", "f16.toml", "junk", says="junk")
        self.ok("pack", "tiny.safetensors", "-p", "f16.toml", "-o", "tiny.synps")
        self.fails(2, "check", "-p", "f16.toml", "tiny.synps", says="is an artifact")
        os.rename(self.path("f16.toml"), self.path("synps.toml"))
        self.assertIn("synps.toml: no problems", self.ok("check"))


if __name__ == "__main__":
    unittest.main()
