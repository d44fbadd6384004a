"""synps init: for every preset a policy that passes the check, plans and packs; where it goes; and
names of every kind."""

import json
import os
import re
import struct

import fixtures
from support import CliTest

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
SAMPLE = os.path.join(ROOT, "examples", "tiny-llama")

PRESETS = {
    "f16": {"model.embed_tokens.weight": "f16:f16",
            "model.layers.0.mlp.down_proj.weight": "f16:f16"},
    "q8_0": {"model.embed_tokens.weight": "q8_0:q8_0",
             "model.layers.0.mlp.down_proj.weight": "q8_0:q8_0"},
    "q4_0": {"model.embed_tokens.weight": "q8_0:q8_0", "lm_head.weight": "q8_0:q8_0",
             "model.layers.0.mlp.down_proj.weight": "q4_0:q4_0"},
    "ternary": {"lm_head.weight": "q8_0:q8_0",
                "model.layers.3.self_attn.q_proj.weight": "ternary:ternary"},
}

ODD_NAMES = ['a"b.0', "a'b.0", "a\nb.1", "tab\t", "nul\0", "x.\u00e9", "*", "**.w", "{a,b}", "#[p]",
             "", ".", "a..b", "\\", "\u202e", "\U0001f600", "]]\n[x]", " "]


def codecs(plan):
    return {weight["path"]: weight["codec"] for weight in plan["weights"]}


class Init(CliTest):
    def init(self, checkpoint, *more, policy="synps.toml"):
        text = self.ok("init", checkpoint, *more)
        with open(self.path(policy), "w", encoding="utf-8") as out:
            out.write(text)
        return text

    def plan(self, checkpoint, policy="synps.toml"):
        checked = self.synps("check", "-p", policy, checkpoint, "--strict")
        self.assertEqual((checked.code, checked.err), (0, ""), checked.out)
        return json.loads(self.ok("plan", checkpoint, "-p", policy, "--json"))

    def test_presets_plan_pack_and_verify(self):
        for preset, wanted in PRESETS.items():
            with self.subTest(preset=preset):
                self.init(SAMPLE, "--preset", preset)
                plan = self.plan(SAMPLE)
                found = codecs(plan)
                self.assertEqual({path: found[path] for path in wanted}, wanted)
                for weight in plan["weights"]:
                    self.assertEqual(weight["lossless"], "norm" in weight["path"], weight)
                self.ok("pack", SAMPLE, "-p", "synps.toml", "-o", "out.synps", "--force")
                self.assertEqual(os.path.getsize(self.path("out.synps")), plan["artifact_bytes"])
                report = json.loads(
                    self.ok("verify", "out.synps", "--against", SAMPLE, "--json"))
                self.assertTrue(report["ok"])

    def test_fallbacks_for_rows_that_do_not_fit(self):
        for name in ("tiny.safetensors", "sharded"):
            text = self.init(name, "--preset", "q4_0")
            self.assertIn("For 3 weights with rows of 48, which q4_0 cannot hold.", text)
            found = codecs(self.plan(name))
            self.assertEqual(found["model.layers.1.mlp.down_proj.weight"], "bf16:bf16")
            self.assertEqual(found["model.layers.1.mlp.up_proj.weight"], "q4_0:q4_0")
            self.ok("pack", name, "-p", "synps.toml", "-o", "out.synps", "--force")
            self.ok("verify", "out.synps", "--against", name)

    def test_the_same_text_to_a_file_and_to_the_output(self):
        text = self.ok("init", "tiny.safetensors")
        self.assertEqual(self.ok("init", "./tiny.safetensors", "--preset", "q8_0"), text)
        result = self.synps("init", "tiny.safetensors", "-o", "made.toml")
        self.assertEqual((result.code, result.out), (0, ""))
        self.assertIn("synps check tiny.safetensors -p made.toml\n", result.err)
        self.assertEqual(self.read("made.toml").decode(), text)
        self.assertEqual(self.ok("init", "tiny.safetensors", "-q", "-o", "quiet.toml"), "")
        self.assertEqual(self.new_names(), ["made.toml", "quiet.toml"])

    def test_an_output_that_exists(self):
        self.ok("init", "tiny.safetensors", "-q", "-o", "made.toml")
        before = self.read("made.toml")
        err = self.fails(8, "init", "tiny.safetensors", "--preset", "f16", "-o", "made.toml",
                         says="made.toml")
        self.assertIn("--force", err)
        self.assertEqual(self.read("made.toml"), before)
        self.ok("init", "tiny.safetensors", "--preset", "f16", "-q", "-o", "made.toml", "--force")
        self.assertNotEqual(self.read("made.toml"), before)

    def test_inputs_are_never_written(self):
        before = self.read("tiny.safetensors")
        self.fails(8, "init", "tiny.safetensors", "-o", "tiny.safetensors", "--force",
                   says="tiny.safetensors")
        self.assertEqual(self.read("tiny.safetensors"), before)
        self.fails(4, "init", "tiny.safetensors", "-o", "missing/made.toml", says="missing")
        self.assertEqual(self.new_names(), [])

    def test_next_steps_are_commands_that_a_shell_takes(self):
        os.rename(self.path("tiny.safetensors"), self.path("it's here.safetensors"))
        err = self.synps("init", "it's here.safetensors", "-o", "a b.toml").err
        self.assertIn("synps plan 'it'\\''s here.safetensors' -p 'a b.toml'\n", err)

    def test_comments_hold_no_folder(self):
        for folder in (self.path("sharded"), self.path("sharded") + "/", "./sharded/."):
            text = self.ok("init", folder)
            self.assertNotIn(self.folder, text)
        self.assertIn("A starter policy for sharded:", self.ok("init", self.path("sharded") + "//"))

    def test_odd_names(self):
        tensors = []
        for number, name in enumerate(ODD_NAMES):
            shape = [[32, 32], [32, 50], [64]][number % 3]
            tensors.append((name, "F32", shape, fixtures.values(fixtures.elements(shape), number)))
        fixtures.write_safetensors(self.path("odd.safetensors"), tensors)
        for preset in PRESETS:
            text = self.init("odd.safetensors", "--preset", preset)
            self.assertIsNone(re.search(r"[\x00-\x09\x0b-\x1f\x7f\u202e]", text))
            self.plan("odd.safetensors")
            self.ok("pack", "odd.safetensors", "-p", "synps.toml", "-o", "odd.synps", "--force")
            self.ok("verify", "odd.synps", "--against", "odd.safetensors")

    def test_floats_that_nothing_decodes_are_kept(self):
        entries, size = {}, 0
        for name, dtype, bits in (("a.w", "F8_E8M0", 8), ("b.w", "BF16", 16), ("c.w", "F64", 64)):
            end = size + 64 * 64 * bits // 8
            entries[name] = {"dtype": dtype, "shape": [64, 64], "data_offsets": [size, end]}
            size = end
        text = json.dumps(entries).encode()
        with open(self.path("mixed.safetensors"), "wb") as out:
            out.write(struct.pack("<Q", len(text)) + text + bytes(size))
        policy = self.init("mixed.safetensors")
        self.assertIn('formats = ["bf16", "f64"]', policy)
        self.assertIn("No codec here decodes that.", policy)
        self.assertEqual(codecs(self.plan("mixed.safetensors")),
                         {"a.w": "keep", "b.w": "q8_0:q8_0", "c.w": "q8_0:q8_0"})

    def test_wide_floats_are_not_put_into_16_bits(self):
        shapes = {"l.0.mlp.w": [4, 33], "l.1.mlp.w": [4, 64], "conv.w": [8, 4, 3, 3],
                  "embed_tokens.weight": [8, 33]}
        fixtures.write_safetensors(
            self.path("wide.safetensors"),
            [(name, "F32", shape, [3e5] * fixtures.elements(shape))
             for name, shape in shapes.items()])
        for preset in ("q8_0", "q4_0", "ternary"):
            policy = self.init("wide.safetensors", "--preset", preset)
            self.assertNotIn('"f16"', policy)
            self.plan("wide.safetensors")
            self.ok("pack", "wide.safetensors", "-p", "synps.toml", "-o", "wide.synps", "--force")

    def test_what_a_preset_is_not_for(self):
        nothing = "All that becomes f16 here has 16 bits already: nothing gets smaller, and"
        flat = lambda text: " ".join(text.replace("\n#", "").split())
        self.assertIn(nothing, flat(self.ok("init", "tiny.safetensors", "--preset", "f16")))
        self.assertNotIn(nothing, flat(self.ok("init", "tiny.safetensors")))
        wide = ("w", "F32", [32, 32], [0.5] * 1024)
        fixtures.write_safetensors(self.path("wide.safetensors"), [wide])
        self.assertNotIn(nothing, flat(self.ok("init", "wide.safetensors", "--preset", "f16")))
        trained = "suit models that were trained to have ternary weights"
        self.assertIn(trained, flat(self.ok("init", "tiny.safetensors", "--preset", "ternary")))
        self.assertNotIn(trained, flat(self.ok("init", "tiny.safetensors", "--preset", "q4_0")))
        self.assertIn("others lose much", self.ok("init", "--help"))

    def test_presets_that_there_are_not(self):
        for name in ("q5_k", "bf16", "q8_1"):
            self.fails(2, "init", "tiny.safetensors", "--preset", name,
                       says="here are f16, q8_0, q4_0, ternary")

    def test_next_to_nothing(self):
        for tensors in ([], [("ids", "I64", [4], [1, 2, 3, 4])], [("s", "F32", [], [0.5])],
                        [("e", "F32", [0, 32], [])], [("w", "F32", [32, 32], [0.5] * 1024)]):
            fixtures.write_safetensors(self.path("small.safetensors"), tensors)
            for preset in PRESETS:
                self.init("small.safetensors", "--preset", preset)
                self.plan("small.safetensors")
                self.ok("pack", "small.safetensors", "-p", "synps.toml", "-o", "small.synps",
                        "--force")
