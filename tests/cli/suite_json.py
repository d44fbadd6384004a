"""What --json gives: parsed, with its keys and how they hang together."""

import json
import math
import os

import fixtures
from support import CliTest

PLAN_KEYS = {
    "artifact_bytes", "artifact_bytes_exact", "source_bytes", "resident_bytes", "mapped_bytes",
    "conversion_bytes", "file_bytes", "transient_bytes", "fits", "budget", "profile", "target",
    "suggestions", "refused", "pack_memory", "compressed", "bits_per_weight", "source_bits_per_weight",
    "shards", "shard_index", "codecs", "fallbacks", "weights", "values",
}
WEIGHT_KEYS = {
    "path", "shape", "source", "codec", "encoding", "order", "orientation", "residency", "compress",
    "device", "lossless", "source_bytes", "bytes", "bytes_exact", "policy",
}
LOAD_KEYS = {
    "file_bytes", "resident_bytes", "mapped_bytes", "conversion_bytes", "transient_bytes", "load",
}


class Json(CliTest):
    def json(self, *arguments):
        return json.loads(self.ok(*arguments, "--json"))

    def pack(self, policy="mixed.toml", output="tiny.synps"):
        return self.json("pack", "tiny.safetensors", "-p", policy, "-o", output)

    def test_trace(self):
        """Python's parser reads a trace, and its events are the conversions of the plan."""
        target = ("--target", "cpu-avx2", "--compress", "zstd")
        plan = self.json("plan", "tiny.safetensors", "-p", "mixed.toml", *target)
        self.ok("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "traced.synps", "--trace",
                "traced.json", *target)
        with open(os.path.join(self.folder, "traced.json"), encoding="utf-8") as file:
            trace = json.load(file)
        expected = set()
        for weight in plan["weights"]:
            if weight["encoding"] != "keep_as_stored":
                expected.add(("encode", weight["path"]))
            if weight["order"] != "rows1":
                expected.add(("relayout", weight["path"]))
            if weight["bytes"] != 0:
                expected.add(("compress", weight["path"]))
        self.assertIn(("encode", "model.layers.0.mlp.up_proj.weight"), expected)
        found = []
        for event in trace["traceEvents"]:
            if event["ph"] == "M":
                continue
            self.assertEqual((event["ph"], event["pid"]), ("X", 1))
            self.assertEqual(event["name"], f"{event['cat']} {event['args']['weight']}")
            self.assertGreaterEqual(event["dur"], 0)
            args = event["args"]
            self.assertEqual(set(args), {"weight", "from", "to", "bytes_before", "bytes_after",
                                         "busy_us"})
            self.assertLessEqual(args["busy_us"], event["dur"] * 1024 + 1)
            kind = event["name"].split(" ")[0]
            self.assertEqual(event["name"], f"{kind} {args['weight']}")
            found.append((kind, args["weight"]))
        self.assertEqual(len(found), len(set(found)))
        self.assertEqual(set(found), expected)

    def test_plan(self):
        plan = self.json("plan", "tiny.safetensors", "-p", "mixed.toml")
        self.assertEqual(set(plan), PLAN_KEYS)
        self.assertIs(plan["fits"], True)
        weights = {weight["path"]: weight for weight in plan["weights"]}
        self.assertEqual(list(weights), sorted(t[0] for t in fixtures.tiny_tensors()))
        for weight in plan["weights"]:
            self.assertEqual(set(weight), WEIGHT_KEYS | LOAD_KEYS)
        query = weights["model.layers.1.self_attn.q_proj.weight"]
        self.assertEqual(
            query,
            {
                "path": "model.layers.1.self_attn.q_proj.weight",
                "shape": [64, 64],
                "source": "bf16",
                "codec": "q8_0:q8_0",
                "encoding": "requantize_to(q8_0:q8_0)",
                "order": "rows1",
                "orientation": "out_in",
                "residency": "mapped",
                "compress": "none",
                "device": "local",
                "lossless": False,
                "source_bytes": 64 * 64 * 2,
                "bytes": 64 * 64 // 32 * 34,
                "bytes_exact": True,
                "policy": "model.layers.*.self_attn.*.weight",
                "file_bytes": 64 * 64 // 32 * 34,
                "resident_bytes": 0,
                "mapped_bytes": 64 * 64 // 32 * 34,
                "conversion_bytes": 0,
                "transient_bytes": 0,
                "load": {
                    "encoding": "keep_as_stored",
                    "order": "rows1",
                    "residency": "mapped",
                    "reason": "as packed: no profile is given",
                },
            },
        )
        ids = weights["model.position_ids"]
        self.assertEqual((ids["codec"], ids["policy"], ids["lossless"]), ("keep", None, True))
        self.assertEqual(plan["source_bytes"], sum(w["source_bytes"] for w in plan["weights"]))
        self.assertEqual(plan["mapped_bytes"], sum(w["bytes"] for w in plan["weights"]))
        self.assertEqual(sum(c["weights"] for c in plan["codecs"]), len(weights))
        self.assertEqual(sum(c["bytes"] for c in plan["codecs"]), plan["mapped_bytes"])
        (fallback,) = plan["fallbacks"]
        self.assertEqual((fallback["wanted"], fallback["codec"]), ("q4_0:q4_0", "f16:f16"))
        self.assertEqual(fallback["columns"], 48)
        self.assertEqual(
            fallback["paths"], [f"model.layers.{i}.mlp.down_proj.weight" for i in range(3)]
        )
        self.assertIn("48", fallback["reason"])
        self.assertEqual(plan["values"], [])

    def test_pack_makes_what_plan_says(self):
        for source in ("tiny.safetensors", "sharded"):
            for policy in ("mixed.toml", "f16.toml"):
                plan = self.json("plan", source, "-p", policy)
                name = f"{source}.{policy}.synps"
                packed = self.json("pack", source, "-p", policy, "-o", name)
                self.assertEqual(packed["artifact_bytes"], plan["artifact_bytes"])
                self.assertEqual(packed["artifact_bytes"], len(self.read(name)))
                loaded = self.json("plan", name)
                self.assertIsNone(loaded["pack_memory"])
                for key in PLAN_KEYS - {"fallbacks", "weights", "pack_memory"}:
                    self.assertEqual(loaded[key], plan[key], key)
                self.assertEqual(loaded["weights"], plan["weights"])

    def test_dry_run_is_plan(self):
        plan = self.ok("plan", "tiny.safetensors", "-p", "mixed.toml", "--json")
        dry = self.ok(
            "pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "x", "--dry-run", "--json"
        )
        self.assertEqual(dry, plan)
        self.assertEqual(self.new_names(), [])

    def test_pack(self):
        packed = self.pack()
        self.assertEqual(
            set(packed),
            {"artifact_bytes", "source_bytes", "weights", "compressed", "shards", "shard_index",
             "codecs", "fallbacks", "underflow", "overflow"},
        )
        self.assertIsNone(packed["compressed"])
        self.assertEqual(packed["weights"], len(fixtures.tiny_tensors()))
        self.assertEqual((packed["underflow"], packed["overflow"]), ([], []))

    def test_shards(self):
        command = ["tiny.safetensors", "-p", "mixed.toml", "-o", "set.synps",
                   "--max-shard-size", "50KB"]
        planned = self.json("pack", *command, "--dry-run")
        packed = self.json("pack", *command)
        for key in ("artifact_bytes", "shards", "shard_index"):
            self.assertEqual(packed[key], planned[key])
        files = [*packed["shards"], packed["shard_index"]]
        for file in files:
            self.assertEqual(set(file), {"file", "bytes", "weights"})
            self.assertEqual(file["bytes"], len(self.read(file["file"])))
        self.assertEqual(packed["artifact_bytes"], sum(file["bytes"] for file in files))
        index = packed["shard_index"]["file"]
        self.assertEqual(packed["shard_index"]["weights"], packed["weights"])
        seen = self.json("inspect", index)
        self.assertEqual(seen["shards"], packed["shards"])
        for number, shard in enumerate(packed["shards"]):
            mine = [weight for weight in seen["weights"] if weight["shard"] == number]
            self.assertEqual(len(mine), shard["weights"])
            alone = self.json("inspect", shard["file"])
            self.assertEqual(alone["weights"],
                             [{k: v for k, v in w.items() if k != "shard"} for w in mine])
        self.assertIs(self.json("verify", index, "--against", "tiny.safetensors")["ok"], True)

    def test_compressed(self):
        plan = self.json("plan", "tiny.safetensors", "-p", "mixed.toml", "--compress", "zstd:5")
        self.assertIs(plan["artifact_bytes_exact"], False)
        self.assertIs(plan["compressed"]["bytes_exact"], False)
        inflated = [w for w in plan["weights"] if w["compress"] != "none"]
        self.assertEqual(plan["conversion_bytes"], sum(w["resident_bytes"] for w in inflated))
        # Components take multiples of 64 bytes.
        more = plan["conversion_bytes"] - plan["compressed"]["inflated_bytes"]
        self.assertIn(more, range(64 * len(inflated)))
        packed = self.json("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "z.synps",
                           "--compress", "zstd:5")
        size = len(self.read("z.synps"))
        self.assertEqual(packed["artifact_bytes"], size)
        self.assertLess(size, plan["artifact_bytes"])
        self.assertIs(packed["compressed"]["bytes_exact"], True)
        seen = self.json("inspect", "z.synps")
        self.assertRegex(seen["zstd"], r"^\d+\.\d+\.\d+$")
        self.assertEqual(seen["compressed"], packed["compressed"])
        stored = sum(c["stored_bytes"] for w in seen["weights"] for c in w["components"]
                     if c["compression"] == "zstd")
        self.assertEqual(stored, packed["compressed"]["bytes"])
        planned = {weight["path"]: weight for weight in plan["weights"]}
        for weight in seen["weights"]:
            empty = 0 in weight["shape"]
            self.assertEqual(weight["compress"], "none" if empty else "zstd:5")
            self.assertEqual(weight["residency"], "mapped" if empty else "heap")
            self.assertIs(weight["bytes_exact"], True)
            self.assertIs(planned[weight["path"]]["bytes_exact"], empty)
            self.assertLessEqual(weight["bytes"], planned[weight["path"]]["bytes"])
        self.assertTrue(self.json("verify", "z.synps", "--against", "tiny.safetensors")["ok"])
        self.pack()
        for name, artifact in (("plain", "tiny.synps"), ("inflated", "z.synps")):
            self.ok("unpack", artifact, "-o", f"{name}.safetensors")
        self.assertEqual(self.read("plain.safetensors"), self.read("inflated.safetensors"))
        loaded = self.json("plan", "z.synps")
        self.assertEqual(loaded["resident_bytes"], plan["resident_bytes"])

    def test_plans_under_profiles(self):
        self.pack()
        target = ("--target", "cpu-avx2")
        packed = self.json("plan", "tiny.synps")
        self.assertIsNone(packed["profile"])
        self.assertIsNone(packed["budget"])
        mapped = self.json("plan", "tiny.synps", "--profile", "mobile_2gb", *target)
        self.assertEqual(mapped["profile"]["name"], "mobile_2gb")
        self.assertEqual(mapped["target"], "cpu-avx2")
        self.assertEqual(mapped["budget"], (2048 - 700) << 20)
        self.assertEqual(mapped["resident_bytes"], 0)
        self.assertEqual(mapped["mapped_bytes"], mapped["file_bytes"])
        heap = self.json("plan", "tiny.synps", "--profile", "desktop", "--budget", "1GiB", *target)
        self.assertEqual((heap["mapped_bytes"], heap["fits"], heap["budget"]), (0, True, 1 << 30))
        for plan in (packed, mapped, heap):
            for key in LOAD_KEYS - {"load", "transient_bytes"}:
                self.assertEqual(plan[key], sum(w[key] for w in plan["weights"]), key)
            self.assertEqual(plan["transient_bytes"],
                             max(w["transient_bytes"] for w in plan["weights"]))
        self.assertEqual(heap["conversion_bytes"], 0)
        # A byte less than it takes, and the largest weight is mapped after all.
        need = heap["resident_bytes"] + heap["transient_bytes"]
        tight = self.json("plan", "tiny.synps", "--profile", "desktop", "--budget", str(need), *target)
        self.assertEqual(tight["weights"], heap["weights"])
        less = self.json("plan", "tiny.synps", "--profile", "desktop", "--budget", str(need - 1),
                         *target)
        self.assertIs(less["fits"], True)
        largest = max(heap["weights"], key=lambda w: w["resident_bytes"])
        self.assertEqual([w["path"] for w in less["weights"] if w["load"]["residency"] == "mapped"],
                         [largest["path"]])
        none = self.json("plan", "tiny.synps", "--profile", "desktop", "--budget", "0", *target)
        self.assertEqual(none["resident_bytes"], 0)

    def test_plan_of_a_checkpoint_is_that_of_its_artifact(self):
        arguments = ("--profile", "desktop", "--budget", "40KiB", "--target", "cpu-avx2")
        plan = self.json("plan", "tiny.safetensors", "-p", "mixed.toml", *arguments)
        self.json("pack", "tiny.safetensors", "-p", "mixed.toml", "-o", "tiny.synps",
                  "--profile", "desktop", "--target", "cpu-avx2")
        loaded = self.json("plan", "tiny.synps", *arguments)
        for key in LOAD_KEYS - {"load"} | {"fits", "budget", "profile", "target"}:
            self.assertEqual(plan[key], loaded[key], key)
        self.assertEqual([w["load"] for w in plan["weights"]],
                         [w["load"] for w in loaded["weights"]])

    def test_profiles(self):
        names = ["desktop", "native", "edge", "mobile_2gb"]
        listed = self.json("profiles")
        self.assertEqual([p["profile"]["name"] for p in listed["profiles"]], names)
        self.assertIn(listed["auto"], names)
        self.assertGreaterEqual(listed["machine"]["total_bytes"],
                                listed["machine"]["available_bytes"])
        with open(self.path("own.toml"), "w", encoding="utf-8") as file:
            file.write('[profiles.board]\nextends = "mobile_2gb"\nmemory = "1GiB"\n')
        own = self.json("profiles", "-p", "own.toml")["profiles"][-1]
        self.assertEqual(
            own,
            {
                "profile": {"name": "board", "memory_bytes": 1 << 30, "reserve_bytes": 700 << 20,
                            "residency": "mapped", "strict": True},
                "built_in": False,
                "extends": "mobile_2gb",
            },
        )
        self.pack()
        plan = self.json("plan", "tiny.synps", "--profile", "board", "-p", "own.toml",
                         "--target", "cpu")
        self.assertEqual(plan["profile"], own["profile"])
        self.assertEqual(plan["budget"], (1024 - 700) << 20)
        auto = self.json("plan", "tiny.synps", "--profile", "auto", "--budget", "1GiB")
        self.assertEqual(auto["profile"]["name"], listed["auto"])

    def test_weights_are_packed_for_their_device(self):
        policy = """extends = "mixed.toml"
[devices.desk]
target = "cpu-avx2"
profile = "roomy"
[profiles.roomy]
residency = "heap"
[devices.watch]
profile = "tight"
[profiles.tight]
extends = "mobile_2gb"
memory = "700MiB"
[policies."model.layers.0".backend]
device = "desk"
"""
        with open(self.path("devices.toml"), "w", encoding="utf-8") as file:
            file.write(policy)
        forms = lambda plan: {w["path"]: (w["order"], w["residency"]) for w in plan["weights"]}
        path = "model.layers.{}.mlp.up_proj.weight"
        planned = self.json("plan", "tiny.safetensors", "-p", "devices.toml")
        self.assertEqual(forms(planned)[path.format(0)], ("rows1", "heap"))
        self.assertEqual(forms(planned)[path.format(1)], ("rows1", "mapped"))
        self.pack("devices.toml")
        packed = self.json("inspect", "tiny.synps")
        self.assertEqual(forms(packed), forms(planned))
        # The command line holds for all devices.
        for arguments, wanted in (
            (("--target", "cpu"), ("rows1", "heap")),
            (("--profile", "edge"), ("rows1", "mapped")),
            (("--target", "cpu-portable", "--profile", "edge"), ("rows1", "mapped")),
        ):
            plan = self.json("plan", "tiny.safetensors", "-p", "devices.toml", "--budget", "1GiB",
                             *arguments)
            self.assertEqual(forms(plan)[path.format(0)], wanted, arguments)
        # A device's strict profile refuses what no budget of it holds.
        with open(self.path("watch.toml"), "w", encoding="utf-8") as file:
            file.write(policy + """[policies."model.layers.1".backend]
device = "watch"
[policies."model.layers.1".form]
residency = "heap"
""")
        said = self.fails(6, "pack", "tiny.safetensors", "-p", "watch.toml", "-o", "no.synps",
                          says="does not fit the budget of the profile tight")
        self.assertIn("residency", said)
        self.assertFalse(os.path.exists(self.path("no.synps")))

    def test_who_asked_for_compression(self):
        path = "model.layers.0.self_attn.q_proj.weight"
        said = self.json("explain", path, "-p", "f16.toml", "-c", "tiny.safetensors",
                         "--compress", "zstd")
        (key,) = [key for key in said["keys"] if key["key"] == "form.compress"]
        self.assertEqual((key["value"], key["policy"], key["by_command_line"]),
                         ("zstd:3", None, True))
        plan = self.json("plan", "tiny.safetensors", "-p", "f16.toml", "--compress", "zstd")
        (weight,) = [weight for weight in plan["weights"] if weight["path"] == path]
        self.assertEqual(said["weight"]["stored"]["bytes"], weight["bytes"])
        self.assertEqual(said["weight"]["stored"]["compress"], "zstd:3")
        self.assertIs(said["weight"]["stored"]["bytes_exact"], False)

    def test_pack_findings(self):
        packed = self.json("pack", "small_values.safetensors", "-p", "f16.toml", "-o", "s.synps")
        (finding,) = packed["underflow"]
        self.assertEqual((finding["path"], finding["count"], finding["first_index"]), ("w", 3, 0))
        self.assertTrue(math.isclose(finding["first_value"], 1e-9, rel_tol=1e-6))
        packed = self.json(
            "pack", "huge_values.safetensors", "-p", "f16.toml", "-o", "h.synps", "--allow-overflow"
        )
        (finding,) = packed["overflow"]
        self.assertEqual((finding["path"], finding["count"], finding["first_value"]), ("w", 3, 1e9))

    def test_explain(self):
        path = "model.layers.0.mlp.down_proj.weight"
        said = self.json("explain", path, "-p", "mixed.toml")
        self.assertEqual(
            set(said),
            {"path", "scope", "lifetime", "codec", "dtype", "policies", "keys", "schemes", "groups",
             "codec_info", "weight", "warning", "why_not"},
        )
        self.assertEqual((said["scope"], said["lifetime"]), ("constant", "immutable"))
        self.assertEqual(
            (said["path"], said["codec"], said["dtype"]), (path, "q4_0:q4_0", "f32")
        )
        self.assertEqual([p["pattern"] for p in said["policies"]],
                         ["*", "model.layers.*.mlp.*.weight"])
        self.assertEqual(said["policies"][0]["sets"], {"fallback": "f16:f16", "format": "f32:f32"})
        self.assertEqual(said["policies"][1]["sets"], {"format": "q4_0:q4_0"})
        for policy in said["policies"]:
            self.assertEqual(set(policy), {"pattern", "file", "line", "sets"})
            self.assertEqual(policy["file"], "mixed.toml")
            line = fixtures.MIXED.splitlines()[policy["line"] - 1]
            self.assertIn('"%s"' % policy["pattern"], line)
        keys = {key["key"]: key for key in said["keys"]}
        self.assertEqual(keys["format"]["policy"], "model.layers.*.mlp.*.weight")
        (overridden,) = keys["format"]["overrides"]
        self.assertEqual((overridden["pattern"], overridden["value"]), ("*", "f32:f32"))
        self.assertEqual(keys["format"]["replaces"], [])
        self.assertEqual(
            [(s["pattern"], s["format"], s["outcome"]) for s in said["schemes"]],
            [("*", "f32:f32", "overridden"), ("model.layers.*.mlp.*.weight", "q4_0:q4_0", "chosen")],
        )
        self.assertEqual(said["schemes"][0]["by"],
                         {"pattern": "model.layers.*.mlp.*.weight", "file": "mixed.toml", "line": 16})
        self.assertEqual((said["codec_info"]["bits_per_weight"], said["codec_info"]["exact"]), (4.5, []))
        for key in ("weight", "warning", "why_not"):
            self.assertIsNone(said[key])

    def test_explain_files_and_groups(self):
        path = "model.layers.1.self_attn.q_proj.weight"
        said = self.json("explain", path, "-p", "layered.toml", "-c", "tiny.safetensors")
        (group,) = said["groups"]
        self.assertEqual(
            group,
            {"name": "qk", "paths": "model.layers.*.self_attn.{q,k}_proj", "file": "layered.toml",
             "line": fixtures.LAYERED.splitlines().index("[groups.qk]") + 1,
             "same": ["form", "format"], "others": ["model.layers.1.self_attn.k_proj.weight"]},
        )
        self.assertIsNone(self.json("explain", path, "-p", "layered.toml")["groups"][0]["others"])
        said = self.json("explain", "model.layers.1.mlp.up_proj.weight", "-p", "layered.toml")
        self.assertEqual(
            [(p["file"], p["pattern"]) for p in said["policies"]],
            [("mixed.toml", "*"), ("layered.toml", "model.layers.*.mlp"),
             ("layered.toml", "model.layers.*.mlp.*.weight")],
        )
        (key,) = [key for key in said["keys"] if key["key"] == "format"]
        self.assertEqual((key["value"], key["file"], key["line"]), ("q8_0:q8_0", "layered.toml", 3))
        self.assertEqual(key["replaces"], [{"file": "mixed.toml", "line": 16, "value": "q4_0:q4_0"}])
        self.assertEqual(
            [over["file"] for over in key["overrides"]], ["mixed.toml", "layered.toml"]
        )

    def test_explain_why_not(self):
        path = "model.layers.1.mlp.up_proj.weight"
        said = self.json("explain", path, "-p", "layered.toml", "--why-not", "q4_0")["why_not"]
        self.assertEqual(
            set(said),
            {"format", "already", "reasons", "declare", "paste", "replaces", "tried", "fits_at_end",
             "also_changes"},
        )
        self.assertEqual((said["tried"], said["fits_at_end"], said["also_changes"]),
                         (True, True, []))
        self.assertEqual((said["format"], said["already"]), ("q4_0:q4_0", False))
        self.assertEqual(said["paste"], f'[[policies."{path}".schemes]]\nformat = "q4_0"\n')
        said = self.json("explain", path, "-p", "layered.toml", "--why-not", "q8_0")["why_not"]
        self.assertEqual((said["already"], said["reasons"], said["paste"]), (True, [], None))

    def test_names_of_files_that_are_no_utf8(self):
        name = os.path.join(os.fsencode(self.folder), b"a\xff.toml")
        with open(name, "wb") as out:
            out.write(fixtures.MIXED.encode())
        policy = os.fsdecode(b"a\xff.toml")
        said = self.json("explain", "model.scale", "-p", policy, "--why-not", "q8_0")
        self.assertEqual(said["policies"][0]["file"], "a\\xff.toml")
        checked = self.json("check", "-p", policy)
        self.assertEqual(checked["file"], "a\\xff.toml")
        self.json("plan", "tiny.safetensors", "-p", policy)

    def test_explain_with_checkpoint(self):
        plan = self.json("plan", "tiny.safetensors", "-p", "mixed.toml")
        for weight in plan["weights"]:
            said = self.json(
                "explain", weight["path"], "-p", "mixed.toml", "-c", "tiny.safetensors"
            )
            self.assertEqual(said["codec"], weight["codec"], weight["path"])
            self.assertEqual(said["weight"]["shape"], weight["shape"])
            self.assertEqual(said["weight"]["source_bytes"], weight["source_bytes"])
            stored = said["weight"]["stored"]
            for key in ("encoding", "order", "orientation", "residency", "compress",
                        "bytes", "bytes_exact"):
                self.assertEqual(stored[key], weight[key], (weight["path"], key))
            falls_back = "mlp.down_proj" in weight["path"]
            self.assertEqual(said["weight"]["fallback_reason"] is not None, falls_back)
            self.assertEqual(stored["lossless"], weight["lossless"])
            support = said["weight"]["support"]
            if weight["path"] in ("model.position_ids", "model.empty"):
                self.assertIsNone(support)  # nothing is encoded
            else:
                self.assertEqual(support["ok"], not falls_back)
                self.assertEqual(support["reason"], said["weight"]["fallback_reason"])

    def test_inspect_artifact(self):
        self.pack()
        seen = self.json("inspect", "tiny.synps")
        self.assertEqual(seen["kind"], "artifact")
        self.assertEqual(seen["file_bytes"], len(self.read("tiny.synps")))
        self.assertEqual(seen["metadata"]["synps.source.format"], "pt")
        by_path = {weight["path"]: weight for weight in seen["weights"]}
        self.assertEqual(len(by_path), len(fixtures.tiny_tensors()))
        query = by_path["model.layers.0.self_attn.q_proj.weight"]
        self.assertEqual(set(query), WEIGHT_KEYS | {"components"})
        (blocks,) = query["components"]
        self.assertEqual((blocks["name"], blocks["entry"]), ("blocks", query["path"] + "#blocks"))
        self.assertEqual(blocks["stored_bytes"], query["bytes"])
        # The bytes are where it says: an empty block of q8_0 is 34 zeros, and no block here is.
        self.assertNotEqual(
            self.read("tiny.synps")[blocks["offset"] : blocks["offset"] + 34], bytes(34)
        )

    def test_inspect_schemes_of_values(self):
        with open(self.path("cache.toml"), "w") as out:
            out.write(fixtures.F16 + """
[[policies."model.layers.*.self_attn".schemes]]
scope = "internal"
lifetime = "session"
format = "q8_0"
""")
        self.pack("cache.toml", "cache.synps")
        self.assertEqual(
            self.json("inspect", "cache.synps")["values"],
            [{"pattern": "model.layers.*.self_attn", "scope": "internal", "lifetime": "session",
              "update": "whole", "format": "q8_0:q8_0"}],
        )
        self.assertIn("model.layers.*.self_attn: q8_0, scope internal, lifetime session",
                      self.ok("inspect", "cache.synps"))
        said = self.json("explain", "model.layers.0.self_attn", "-p", "cache.toml")
        self.assertEqual(said["policies"][1]["sets"], {"format.internal.session": "q8_0:q8_0"})

    def test_inspect_checkpoint(self):
        for source in ("tiny.safetensors", "sharded"):
            seen = self.json("inspect", source)
            self.assertEqual((seen["kind"], seen["metadata"]), ("checkpoint", {"format": "pt"}))
            self.assertEqual(
                [(w["path"], w["shape"], w["source"].upper()) for w in seen["weights"]],
                sorted((t[0], t[2], t[1]) for t in fixtures.tiny_tensors()),
            )
            self.assertEqual(seen["data_bytes"], sum(w["bytes"] for w in seen["weights"]))

    def test_gguf(self):
        seen = self.json("inspect", "tiny.gguf")
        self.assertEqual(seen["gguf_version"], 3)
        self.assertAlmostEqual(seen["bits_per_weight"], 8 * 14520 / 16960)
        keys = {each["key"]: each for each in seen["key_values"]}
        self.assertEqual(
            keys["general.file_type"],
            {"key": "general.file_type", "type": "uint32", "value": 7, "folded": False,
             "carried": "metadata"},
        )
        tokens = keys["tokenizer.ggml.tokens"]
        self.assertEqual((tokens["items"], tokens["count"], tokens["folded"], tokens["carried"]),
                         ("string", 100, True, "entry"))
        self.assertEqual(tokens["value"], [f"<{i}>" for i in range(64)])
        self.assertEqual(keys["split.count"]["carried"], "dropped")
        encodings = {each["source"]: each for each in seen["encodings"]}
        self.assertEqual(
            encodings["q8_0:q8_0"],
            {"source": "q8_0:q8_0", "weights": 1, "elements": 2560, "bytes": 2720,
             "bits_per_weight": 8.5},
        )
        self.assertEqual(sum(each["weights"] for each in seen["encodings"]), 6)
        self.assertIn("gguf.tokenizer.ggml.tokens", [w["path"] for w in seen["weights"]])

        plan = self.json("plan", "tiny.gguf", "-p", "gguf.toml")
        self.assertEqual(set(plan), PLAN_KEYS | {"key_values"})
        self.assertEqual(plan["key_values"], seen["key_values"])
        self.assertAlmostEqual(plan["source_bits_per_weight"], seen["bits_per_weight"])
        weights = {weight["path"]: weight for weight in plan["weights"]}
        self.assertEqual(
            [weights[path]["source"] for path in ("token_embd.weight", "blk.1.ffn_up.weight")],
            ["q8_0:q8_0", "gguf:iq2_xxs"],
        )
        self.assertTrue(weights["blk.0.attn_q.weight"]["lossless"])
        self.assertFalse(weights["token_embd.weight"]["lossless"])

    def test_gguf_output(self):
        plan = self.json("plan", "tiny.gguf", "-p", "gguf_out.toml", "--to", "gguf")
        self.assertEqual(set(plan), PLAN_KEYS | {"key_values", "gguf"})
        for key in LOAD_KEYS - {"load"} | {"budget", "profile", "target"}:
            self.assertIsNone(plan[key])
        self.assertEqual((plan["fits"], plan["suggestions"], plan["refused"]), (True, [], []))
        weights = {weight["path"]: weight for weight in plan["weights"]}
        self.assertEqual(set(weights["output_norm.weight"]), WEIGHT_KEYS | LOAD_KEYS | {"type"})
        self.assertIsNone(weights["output_norm.weight"]["load"])
        self.assertEqual(
            {path: weight["type"] for path, weight in weights.items()},
            {"output_norm.weight": "F32", "token_embd.weight": "BF16",
             "blk.0.attn_q.weight": "Q5_1", "blk.1.attn_q.weight": "Q5_1",
             "blk.0.ffn_up.weight": "F16", "blk.1.ffn_up.weight": "IQ2_XXS"},
        )
        self.assertEqual(weights["blk.1.ffn_up.weight"]["shape"], [12, 256])
        for key in ("orientation", "residency", "device"):
            self.assertIsNone(weights["output_norm.weight"][key])
        self.assertEqual(
            plan["gguf"],
            {"version": 3, "source_version": 3, "alignment": 32,
             "changes": [{"key": "general.file_type", "from": 7, "to": 9},
                         {"key": "split.count", "from": 0, "to": None},
                         {"key": "general.quantization_version", "from": None, "to": 2}],
             "not_carried": [
                 {"key": "dtype", "value": "bf16", "count": 6, "example": "blk.0.attn_q.weight"},
                 {"key": "form.residency", "value": "heap", "count": 1,
                  "example": "output_norm.weight"}]},
        )
        self.assertEqual({each["key"]: each["carried"] for each in plan["key_values"]}
                         ["tokenizer.ggml.tokens"], "key_value")
        packed = self.json("pack", "tiny.gguf", "-p", "gguf_out.toml", "-o", "out.gguf")
        self.assertEqual(packed["gguf"], plan["gguf"])
        self.assertEqual(packed["artifact_bytes"], plan["artifact_bytes"])
        self.assertEqual(len(self.read("out.gguf")), plan["artifact_bytes"])
        verified = self.json("verify", "out.gguf", "--against", "tiny.gguf")
        self.assertEqual((verified["ok"], verified["checksums"]), (True, False))
        self.assertEqual([weight["codec"] for weight in verified["weights"]],
                         ["q5_1:q5_1", "f16:f16", "q5_1:q5_1", "keep", "f32:f32", "bf16:bf16"])
        explained = self.json("explain", "blk.0.attn_q.weight", "-c", "tiny.gguf", "-p",
                              "gguf_out.toml", "--to", "gguf")
        stored = explained["weight"]["stored"]
        self.assertEqual((stored["type"], stored["residency"], stored["bytes"]),
                         ("Q5_1", None, 3072))

    def test_verify(self):
        self.pack()
        alone = self.json("verify", "tiny.synps")
        self.assertEqual(
            alone,
            {"ok": True, "bytes": len(self.read("tiny.synps")), "checksums": True, "problems": [],
             "weights": []},
        )
        compared = self.json("verify", "tiny.synps", "--against", "tiny.safetensors")
        self.assertEqual([w["path"] for w in compared["weights"]],
                         sorted(t[0] for t in fixtures.tiny_tensors()))
        for weight in compared["weights"]:
            self.assertEqual(
                set(weight),
                {"path", "codec", "source", "lossless", "exact", "decoded", "bytes", "elements",
                 "max_abs_error", "mean_abs_error", "rmse", "relative_error", "snr_db"},
            )
            if weight["lossless"]:
                self.assertEqual((weight["exact"], weight["rmse"]), (True, 0))
        by_path = {weight["path"]: weight for weight in compared["weights"]}
        for name, least in (("self_attn.q_proj", 40), ("mlp.up_proj", 15)):
            self.assertGreater(by_path[f"model.layers.0.{name}.weight"]["snr_db"], least)
        self.assertIsNone(by_path["model.position_ids"]["snr_db"])
        self.assertEqual(by_path["model.position_ids"]["codec"], "keep")
        self.assertEqual(by_path["model.layers.0.mlp.up_proj.weight"]["codec"], "q4_0:q4_0")

    def test_verify_damage(self):
        self.pack()
        seen = self.json("inspect", "tiny.synps")
        path = "model.layers.1.mlp.up_proj.weight"
        (weight,) = [w for w in seen["weights"] if w["path"] == path]
        damaged = bytearray(self.read("tiny.synps"))
        damaged[weight["components"][0]["offset"]] ^= 1
        with open(self.path("bad.synps"), "wb") as out:
            out.write(damaged)
        result = self.synps("verify", "bad.synps", "--json")
        self.assertEqual(result.code, 5)
        report = json.loads(result.out)
        self.assertIs(report["ok"], False)
        (problem,) = report["problems"]
        self.assertIn(path, problem["where"])
        self.assertIn("bad.synps", problem["what"])
        self.assertEqual(result.err, f"synps: error: {problem['what']}\n")

    def test_unpack(self):
        self.pack()
        report = self.json("unpack", "tiny.synps", "-o", "back.safetensors")
        self.assertEqual(report["bytes"], len(self.read("back.safetensors")))
        self.assertIn("model.layers.0.self_attn.q_proj.weight", report["widened"])
        self.assertNotIn("model.layers.0.input_layernorm.weight", report["widened"])

    def test_codecs(self):
        codecs = {codec["codec"]: codec for codec in self.json("codecs")["codecs"]}
        for name in ("f32:f32", "f16:f16", "bf16:bf16", "q8_0:q8_0", "q4_0:q4_0",
                     "q4_k:q4_k", "q8_k:q8_k", "ternary:ternary", "ternary:absmean",
                     "ternary:tq1_0", "ternary:tq2_0", "ternary:planes"):
            self.assertEqual(
                set(codecs[name]),
                {"codec", "name", "file", "revision", "bits_per_weight", "dense", "encodes", "exact",
                 "error_bound", "summary"},
            )
        self.assertEqual(codecs["q8_0:q8_0"]["bits_per_weight"], 8.5)
        self.assertTrue(codecs["q4_k:q4_k"]["encodes"])
        self.assertFalse(codecs["q8_k:q8_k"]["encodes"])
        self.assertEqual(codecs["q8_0:q8_0"]["name"], "q8_0")
        self.assertIn("bf16", codecs["f32:f32"]["exact"])

    def test_pairs_of_codecs(self):
        names = [codec["codec"] for codec in self.json("codecs")["codecs"]]
        pairs = self.json("codecs", "--pairs")["pairs"]
        kinds = {(pair["from"], pair["to"]): pair["kind"] for pair in pairs}
        self.assertEqual(len(pairs), len(names) ** 2)
        self.assertEqual(set(kinds), {(a, b) for a in names for b in names})
        self.assertTrue(all((a == b) == (kind == "same") for (a, b), kind in kinds.items()))
        self.assertEqual(kinds["bf16:bf16", "f32:f32"], "lossless")
        self.assertEqual(kinds["q2_k:q2_k", "f32:f32"], "lossless")
        self.assertEqual(kinds["f64:f64", "f32:f32"], "lossy")
        self.assertEqual(kinds["q4_0:q4_0", "q8_0:q8_0"], "lossy")
        self.assertEqual(kinds["f32:f32", "q2_k:q2_k"], "refused")
