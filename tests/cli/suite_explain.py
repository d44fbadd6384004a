"""synps explain: what `--why-not` says to paste does what it says; values that are no weights."""

import json
import re
import unittest

import fixtures
from bad_policies import LONG_PATH, QK, ROOT, group_of, hard_groups, scheme
from support import CliTest


class WhyNot(CliTest):
    def write(self, name, text):
        with open(self.path(name), "w", encoding="utf-8") as out:
            out.write(text)

    def read_text(self, name):
        return self.read(name).decode()

    def explain(self, path, policy, *more):
        return json.loads(self.ok("explain", path, "-p", policy, *more, "--json"))

    def why(self, path, policy, wanted, *more):
        return self.explain(path, policy, *more, "--why-not", wanted)["why_not"]

    def paste(self, policy, why):
        """The policy after what `why` says to do."""
        lines = self.read_text(policy).splitlines()
        for place in sorted(why["replaces"], key=lambda place: -place["line"]):
            self.assertEqual(place["file"], policy)
            first = place["line"] - 1
            last = first + 1
            while last < len(lines) and not lines[last].startswith("["):
                last += 1
            del lines[first:last]
        text = "\n".join(lines) + "\n\n" + why["paste"]
        if why["declare"]:
            text = re.sub(r"formats = \[", f'formats = ["{why["declare"]}", ', text, count=1)
        self.write("pasted.toml", text)
        return "pasted.toml"

    def follow(self, path, policy, wanted, *more):
        """Asks, pastes, and looks that it is so. Returns the answer."""
        why = self.why(path, policy, wanted, *more)
        self.assertFalse(why["already"])
        self.assertTrue(why["reasons"])
        if why["paste"]:
            pasted = self.paste(policy, why)
            said = self.explain(path, pasted, *more)
            self.assertEqual(said["codec"].split(":")[-1], wanted, (why, said))
            checkpoint = [arg for arg in more if arg.endswith(".safetensors")]
            self.ok("check", "-p", pasted, *checkpoint)
            self.assertTrue(self.why(path, pasted, wanted, *more)["already"])
        return why

    def test_every_weight_and_format(self):
        names = [*fixtures.SHAPES, "input_layernorm.weight"]
        weights = ["model.embed_tokens.weight", "model.scale"]
        weights += [f"model.layers.0.{name}" for name in names]
        formats = ["f32", "f16", "bf16", "q8_0", "q4_0", "absmean", "tq2_0"]
        pasted = 0
        for path in weights:
            now = self.explain(path, "mixed.toml", "-c", "tiny.safetensors")["codec"]
            for wanted in formats:
                full = f"ternary:{wanted}" if wanted in ("absmean", "tq2_0") else wanted
                with self.subTest(path=path, wanted=wanted):
                    why = self.why(path, "mixed.toml", full, "-c", "tiny.safetensors")
                    self.assertEqual(why["already"], now.endswith(":" + wanted), why)
                    if why["already"]:
                        self.assertEqual((why["reasons"], why["paste"]), ([], None))
                        continue
                    # The shape decides, and nothing else here.
                    cannot = f"{full} cannot store the shape"
                    fits = cannot not in " ".join(why["reasons"]).replace(", which", "")
                    self.assertEqual(why["paste"] is not None, fits, why)
                    if fits:
                        pasted += 1
                        policy = self.paste("mixed.toml", why)
                        said = self.explain(path, policy, "-c", "tiny.safetensors")
                        self.assertTrue(said["codec"].endswith(":" + wanted), (why, said))
        self.assertGreater(pasted, 20)

    def test_what_cannot_be(self):
        why = self.why("model.position_ids", "mixed.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertIn("not floats", why["reasons"][0])
        self.assertIsNone(why["paste"])
        why = self.why("model.empty", "mixed.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertIn("no elements", why["reasons"][0])
        self.assertIsNone(why["paste"])
        why = self.why("model.scale", "mixed.toml", "f64")
        self.assertIn("reading only", why["reasons"][-1])
        self.assertIsNone(why["paste"])
        path = "model.layers.0.mlp.down_proj.weight"
        why = self.why(path, "mixed.toml", "q4_0", "-c", "tiny.safetensors")
        (reason,) = why["reasons"]
        self.assertIn("(line 16) asks for q4_0, which cannot store the shape [64, 48]", reason)
        self.assertIn("instead it gets the fallback f16 of * (line 5)", reason)
        self.assertIsNone(why["paste"])

    def test_who_decides(self):
        self.write("who.toml", ROOT + scheme("model.layers", format="q8_0")
                   + scheme("model.layers.*.mlp", format="q4_0")
                   + scheme("model.layers.*.mlp", scope="internal", format="bf16"))
        why = self.follow("model.layers.1.mlp.up_proj.weight", "who.toml", "q8_0")
        self.assertEqual(
            why["reasons"],
            ["model.layers.*.mlp (line 10) decides: q4_0.",
             "model.layers (line 7) asks for q8_0, but model.layers.*.mlp (line 10) is narrower."],
        )
        why = self.follow("model.layers.1.mlp.up_proj.weight", "who.toml", "bf16")
        self.assertIn("for other values: internal, invocation", why["reasons"][1])
        why = self.follow("model.layers.1.mlp.up_proj.weight", "who.toml", "f16")
        self.assertEqual(why["reasons"][1:], ["No policy that covers it asks for f16."])
        why = self.follow("nothing.here", "narrow.toml", "f16")
        self.assertEqual(why["reasons"][0], "No scheme of the policy covers it.")

    def test_a_policy_of_just_this_path_has_to_change(self):
        path = "model.layers.0.mlp.up_proj.weight"
        self.write("own.toml", ROOT + scheme(path, format="q8_0", volatile=True))
        why = self.follow(path, "own.toml", "q4_0", "-c", "tiny.safetensors")
        self.assertEqual(why["replaces"], [{"file": "own.toml", "line": 7}])
        self.assertIn("volatile = true", why["paste"])
        # One that claims more than this value only needs a more specific claim beside it.
        self.write("own.toml", ROOT + scheme(path, scope="any", format="q8_0"))
        why = self.follow(path, "own.toml", "q4_0", "-c", "tiny.safetensors")
        self.assertEqual(why["replaces"], [])
        # In a file that is extended, saying it again is enough.
        self.write("own.toml", ROOT + scheme(path, format="q8_0"))
        self.write("more.toml", 'extends = "own.toml"\n')
        why = self.follow(path, "more.toml", "q4_0", "-c", "tiny.safetensors")
        self.assertEqual(why["replaces"], [])
        why = self.why(path, "pasted.toml", "q8_0")
        self.assertIn("line 7 of own.toml asks for q8_0, but line 3 replaces it.", why["reasons"])

    def test_the_source_encoding_has_to_be_named(self):
        path = "model.layers.0.mlp.up_proj.weight"
        self.write("keep.toml", scheme("*", format="keep"))
        why = self.follow(path, "keep.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertIn("does not name its source encoding bf16", why["reasons"][-1])
        self.assertTrue(why["paste"].startswith('[myelin]\nformats = ["bf16"]\n'), why["paste"])
        self.write("keep.toml", '[myelin]\nformats = ["f16"]\n' + scheme("*", format="keep"))
        why = self.why(path, "keep.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertEqual(why["declare"], "bf16")
        self.assertNotIn("[myelin]", why["paste"])
        said = self.explain(path, self.paste("keep.toml", why), "-c", "tiny.safetensors")
        self.assertEqual((said["codec"], said["warning"]), ("q8_0:q8_0", None))
        # The scheme is there, and only the name is missing.
        fallback = '[policies."*"]\nfallback = "f16"\n'
        self.write("unnamed.toml", scheme("*", format="q8_0") + fallback)
        why = self.follow(path, "unnamed.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertEqual(why["paste"], '[myelin]\nformats = ["bf16"]\n')
        self.write("unnamed.toml", "[myelin]\nformats = []\n" + scheme("*", format="f16"))
        why = self.why(path, "unnamed.toml", "f16", "-c", "tiny.safetensors")
        self.assertEqual((why["declare"], why["paste"]), ("bf16", None))
        text = self.ok("explain", path, "-p", "unnamed.toml", "-c", "tiny.safetensors",
                       "--why-not", "f16")
        self.assertIn('To have it f16, add "bf16" to the `formats` of [myelin].\n', text)

    def test_groups_change_together(self):
        path = "model.layers.0.self_attn.q_proj.weight"
        self.write("group.toml", ROOT + QK)
        why = self.follow(path, "group.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertIn("The group g (line 7) wants one format for it and "
                      "'model.layers.0.self_attn.k_proj.weight'", why["reasons"][-1])
        self.assertEqual(
            why["paste"],
            '[[policies."model.layers.0.self_attn.{k,q}_proj.weight".schemes]]\nformat = "q8_0"\n')
        why = self.why(path, "group.toml", "q8_0")
        self.assertIn("(line 7) wants one format for all weights", why["reasons"][-1])
        self.assertIn("A checkpoint (-c) is needed to find them", why["reasons"][-1])
        # The other member's rows do not fit.
        self.write("group.toml", ROOT + group_of("model.layers.*.mlp.{up,down}_proj"))
        path = "model.layers.0.mlp.up_proj.weight"
        why = self.why(path, "group.toml", "q8_0", "-c", "tiny.safetensors")
        self.assertIn("model.layers.0.mlp.down_proj.weight' (q8_0): found row length 48",
                      why["reasons"][-2])
        self.assertEqual(why["reasons"][-1], "The group g (line 7) stands in the way: its `same` or "
                                             "its `paths` would have to change.")
        self.assertNotIn("set a `fallback`", " ".join(why["reasons"]))
        self.assertEqual((why["paste"], why["tried"]), (None, False))
        text = self.ok("explain", path, "-p", "group.toml", "-c", "tiny.safetensors", "--why-not",
                       "q8_0")
        self.assertIn("No scheme is proposed that makes it q8_0.", text)
        self.follow(path, "group.toml", "f16", "-c", "tiny.safetensors")

    def write_zeros(self, name, paths, dtype="F32"):
        zeros = [0.0] * 32
        fixtures.write_safetensors(self.path(name), [(path, dtype, [1, 32], zeros) for path in paths])

    def test_large_groups_get_one_scheme(self):
        paths = [f"m.{i}.{name}" for i in range(100) for name in ("w", "v")]
        self.write_zeros("large.safetensors", [*paths, "other"])
        self.write("large.toml", ROOT + group_of("m.{0..99}.*"))
        why = self.follow("m.3.w", "large.toml", "q8_0", "-c", "large.safetensors")
        self.assertEqual(why["paste"], '[[policies."m.{0..99}.w".schemes]]\nformat = "q8_0"\n')
        self.assertEqual((why["tried"], why["also_changes"]), (True, []))
        # Two groups that share members: all of one layer, and nothing of another.
        paths = [f"l.{layer}.e.{expert}.{name}" for layer in range(3) for expert in range(40)
                 for name in ("gate", "up", "down")]
        self.write_zeros("large.safetensors", paths)
        self.write("large.toml", ROOT + "[groups.a]\npaths = 'l.*.e.*.{gate,up,down}'\n"
                   + "[groups.b]\npaths = 'l.*.e.{0..39}.*'\n")
        why = self.follow("l.1.e.7.up", "large.toml", "q8_0", "-c", "large.safetensors")
        self.assertEqual(why["paste"], '[[policies."l.1.e.{0..39}.{down,gate,up}".schemes]]\n'
                                       'format = "q8_0"\n')

    def test_too_many_schemes_to_propose(self):
        names = [f"{chr(97 + i % 26)}{i * 7919 % 1000}" for i in range(120)]
        self.write_zeros("many.safetensors", names)
        self.write("many.toml", ROOT + group_of("{" + ",".join(names) + "}")
                   + "".join(scheme(name, format="f16") for name in names))
        why = self.why(names[5], "many.toml", "q8_0", "-c", "many.safetensors")
        self.assertEqual(why["reasons"][-1],
                         "It takes schemes for 120 weights, which is too many to propose here.")
        self.assertIsNone(why["paste"])
        text = self.ok("explain", names[5], "-p", "many.toml", "-c", "many.safetensors",
                       "--why-not", "q8_0")
        self.assertNotIn("No scheme can", text)

    def test_reasons_name_no_place_in_what_nobody_has_seen(self):
        # One member's rows do not fit, and it falls back.
        self.write("group.toml", ROOT + '[policies."*"]\nfallback = "f16"\n'
                   + group_of("model.layers.*.mlp.{up,down}_proj"))
        self.write("more.toml", 'extends = "group.toml"\n')
        path = "model.layers.0.mlp.up_proj.weight"
        for policy in ("group.toml", "more.toml"):
            why = self.why(path, policy, "q8_0", "-c", "tiny.safetensors")
            self.assertIsNone(why["paste"])
            said = " ".join(why["reasons"])
            self.assertIn("members of a group differ", said)
            self.assertIn("(the new scheme)", said)
            self.assertNotIn("(pasted)", said)
            places = [int(line) for line in re.findall(r"line (\d+)", said)]
            self.assertLessEqual(max(places), len(self.read_text("group.toml").splitlines()))

    def test_what_lies_below_keeps_its_scheme(self):
        self.write_zeros("nested.safetensors", ["a", "a.b", "a.b.c", "a.d", "z"])
        self.write("nested.toml", ROOT + scheme("*.b.c", format="f16"))
        why = self.follow("a", "nested.toml", "q8_0", "-c", "nested.safetensors")
        self.assertTrue(why["paste"].startswith('[[policies."a".schemes]]\nformat = "q8_0"\n'))
        self.assertIn("'a.b' and 2 more would change along", why["reasons"][-1])
        self.assertEqual(why["also_changes"], [])
        before = {path: self.explain(path, "nested.toml", "-c", "nested.safetensors")["codec"]
                  for path in ("a.b", "a.b.c", "a.d", "z")}
        after = {path: self.explain(path, "pasted.toml", "-c", "nested.safetensors")["codec"]
                 for path in before}
        self.assertEqual(after, before)
        # Too many to name: it is said.
        below = [f"a.{i}" for i in range(40)]
        self.write_zeros("nested.safetensors", ["a", *below])
        self.write("nested.toml", ROOT)
        why = self.follow("a", "nested.toml", "q8_0", "-c", "nested.safetensors")
        self.assertEqual(why["also_changes"], sorted(below))
        self.assertIn("this also changes 'a.0' and 39 more", why["reasons"][-1])

    def test_a_policy_of_nothing_else_is_changed(self):
        path = "model.embed_tokens.weight"
        self.write("own.toml", ROOT + scheme("model.embed*", format="q8_0", volatile=True))
        why = self.follow(path, "own.toml", "q4_0", "-c", "tiny.safetensors")
        self.assertEqual(why["replaces"], [{"file": "own.toml", "line": 7}])
        self.assertTrue(why["paste"].startswith('[[policies."model.embed*".schemes]]\n'))
        self.assertIn("volatile = true", why["paste"])
        text = self.ok("explain", path, "-p", "own.toml", "-c", "tiny.safetensors", "--why-not",
                       "q4_0")
        self.assertIn("To have it q4_0, change the scheme at line 7 to:\n", text)
        self.ok("check", "tiny.safetensors", "-p", "pasted.toml", "--strict")
        # Without a checkpoint nobody knows what else it is for; with another weight it is not.
        self.assertEqual(self.why(path, "own.toml", "q4_0")["replaces"], [])
        self.write("own.toml", ROOT + scheme("model.{embed*,scale}", format="f16"))
        self.assertEqual(
            self.why(path, "own.toml", "q4_0", "-c", "tiny.safetensors")["replaces"], [])

    def test_files_that_nothing_can_be_added_to(self):
        self.write("inline.toml", 'policies = {"*" = {schemes = [{format = "keep"}]}}\n')
        for more in ((), ("-c", "tiny.safetensors")):
            why = self.why("model.embed_tokens.weight", "inline.toml", "q8_0", *more)
            self.assertEqual((why["tried"], why["fits_at_end"], why["declare"], why["replaces"]),
                             (True, False, None, []))
            self.write("beside.toml", 'extends = "inline.toml"\n' + why["paste"])
            said = self.explain("model.embed_tokens.weight", "beside.toml", *more)
            self.assertEqual(said["codec"], "q8_0:q8_0")
        text = self.ok("explain", "x", "-p", "inline.toml", "--why-not", "q8_0")
        self.assertIn("make a policy file beside inline.toml", text)
        self.assertIn('begins with the line `extends = "inline.toml"`', " ".join(text.split()))

    def test_files_that_cannot_be_extended(self):
        """Sixteen files that extend one another are as many as there may be."""
        self.write("c15.toml", ROOT + scheme("x", format="f16"))
        for i in range(15):
            self.write(f"c{i}.toml", f'extends = "c{i + 1}.toml"\n' + scheme("y", format="f16"))
        self.follow("w", "c0.toml", "q8_0")
        # A scheme that has to go can only be tried in one more file.
        why = self.why("y", "c0.toml", "q8_0")
        self.assertEqual((why["tried"], why["fits_at_end"]), (False, True))
        self.assertEqual(why["replaces"], [{"file": "c0.toml", "line": 3}])
        self.assertIn("has not been tried: too many files extend one another", why["reasons"][-1])
        said = self.explain("y", self.paste("c0.toml", why))
        self.assertEqual(said["codec"], "q8_0:q8_0")

    def test_groups_whose_members_take_too_long_to_find(self):
        paths = [f"{LONG_PATH}{i}" for i in range(100)]
        self.write_zeros("long.safetensors", paths)
        self.write("long.toml", hard_groups(1))
        self.fails(6, "explain", paths[7], "-p", "long.toml", "-c", "long.safetensors",
                   says="long.toml:7:9: finding the members of the groups takes too long")

    def test_names_that_need_quoting(self):
        name = 'a"b\\c\'d*{e}.w'
        tensor = (name, "F32", [2, 32], [0.0] * 64)
        fixtures.write_safetensors(self.path("odd.safetensors"), [tensor])
        self.write("odd.toml", ROOT)
        why = self.why(name, "odd.toml", "q8_0", "-c", "odd.safetensors")
        said = self.explain(name, self.paste("odd.toml", why), "-c", "odd.safetensors")
        self.assertEqual(said["codec"], "q8_0:q8_0")

    def test_values_that_are_no_constants(self):
        self.write("cache.toml", ROOT
                   + scheme("model.layers.*.self_attn", scope="internal", lifetime="session",
                            update="region", format="f16")
                   + scheme("model.layers.{1..2}.self_attn", scope="internal", lifetime="session",
                            update="region", format="q8_0"))
        cache = ("--scope", "internal", "--lifetime", "session")
        path = "model.layers.1.self_attn.cache"
        said = self.explain(path, "cache.toml", *cache)
        self.assertEqual((said["scope"], said["lifetime"]), ("internal", "session"))
        self.assertEqual(said["codec"], "q8_0:q8_0")
        (key,) = [key for key in said["keys"] if key["key"] == "format"]
        self.assertEqual((key["policy"], key["line"]), ("model.layers.{1..2}.self_attn", 13))
        (over,) = key["overrides"]
        self.assertEqual((over["pattern"], over["value"], over["line"]),
                         ("model.layers.*.self_attn", "f16:f16", 7))
        self.assertEqual(
            [s["outcome"] for s in said["schemes"]], ["other_values", "overridden", "chosen"]
        )
        said = self.explain("model.layers.0.self_attn.cache", "cache.toml", *cache)
        self.assertEqual(said["codec"], "f16:f16")
        # Another lifetime is another value.
        said = self.explain(path, "cache.toml", "--scope", "internal")
        self.assertEqual((said["lifetime"], said["codec"]), ("invocation", None))
        why = self.follow(path, "cache.toml", "bf16", *cache)
        self.assertIn('update = "region"', why["paste"])
        # Fallback and form are of weights alone.
        self.write("cache.toml", self.read_text("cache.toml")
                   + '[policies."*"]\nfallback = "f16"\n[policies."*".form]\norder = "auto"\n')
        keys = [key["key"] for key in self.explain(path, "cache.toml", *cache)["keys"]]
        self.assertEqual([key for key in keys if key == "fallback" or key.startswith("form.")], [])
        text = self.ok("explain", path, "-p", "cache.toml", *cache)
        self.assertIn("\n  value    internal, session, update region\n", text)

    def test_patterns_are_taken_as_paths(self):
        for path in ("model.layers.*.mlp", "a?", "{a,b}"):
            result = self.synps("explain", path, "-p", "mixed.toml")
            self.assertEqual(result.code, 0)
            self.assertEqual(
                result.err, f"synps: warning: '{path}' is taken as a path, not as a pattern\n")

    def test_usage(self):
        explain = ("explain", "model.scale", "-p", "mixed.toml")
        self.fails(2, *explain, "--scope", "any", says="no value has the scope `any`")
        self.fails(2, *explain, "--scope", "cache", says="the scopes are constant, input")
        self.fails(2, *explain, "--lifetime", "session", says="constants are immutable")
        self.fails(2, *explain, "--scope", "input", "--lifetime", "any",
                   says="no value has the lifetime")
        self.fails(2, *explain, "--scope", "input", "--lifetime", "ever", says="the lifetimes are")
        self.fails(2, *explain, "--scope", "input", "-c", "tiny.safetensors",
                   says="holds constants")
        self.fails(2, *explain, "--why-not", "q4_9",
                   says="there is no format 'q4_9'; did you mean q4_0")
        self.fails(2, *explain, "--why-not", "tq2_0", says="ternary:tq2_0")
        err = self.fails(2, "explain", "", "-p", "mixed.toml", says="PATH has an empty value")
        self.assertIn("; name a weight, by its path\n", err)
        self.assertIn("give it a value, or leave it out", self.fails(2, *explain, "--scope", ""))
        self.assertIn("name a file, or leave it out", self.fails(2, *explain, "-c", ""))
        self.fails(7, "explain", "model.layers.0.self_attn.q_proj.weight", "-p", "ambiguous.toml",
                   "--why-not", "f32", says="ambiguous")


if __name__ == "__main__":
    unittest.main()
