#!/usr/bin/env python3
"""The commands on the sample checkpoint, under the example policy and one policy a codec: planned
size, packed size, verification, the way back, and equal bytes for any number of jobs."""

import os
import tempfile
import unittest

from support import (
    EXAMPLE_POLICY,
    SAMPLE,
    checkpoint_tensors,
    file_tensors,
    read_bytes,
    read_safetensors,
    sha256,
    synps,
    synps_json,
    write_text,
)

ONE_FORMAT = """
[myelin]
formats = ["bf16"]

[policies."*"]
fallback = "f32"

[[policies."*".schemes]]
format = "{}"
"""

FORMATS = [
    "keep",
    "f32",
    "f16",
    "bf16",
    "q8_0",
    "q4_0",
    "q4_1",
    "q5_0",
    "q5_1",
    "q4_k",
    "q5_k",
    "q6_k",
    "ternary",
    "ternary:absmean",
    "ternary:tq1_0",
    "ternary:tq2_0",
    "ternary:planes",
]

LAYERS_APART = """
[myelin]
formats = ["bf16"]

[[policies."*".schemes]]
format = "bf16"

[[policies."model.layers.*.mlp".schemes]]
format = "q8_0"

[[policies."model.layers.{1..3}.mlp.down_proj".schemes]]
format = "ternary"

[[policies."model.layers.*.self_attn.{q,k}_proj".schemes]]
format = "q4_0"
volatile = true

[policies."lm_head".form]
residency = "heap"
"""


class Sample(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.source = checkpoint_tensors(SAMPLE)

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = scratch.name
        self.artifact = os.path.join(self.folder, "sample.synps")

    def pack(self, policy):
        """Packs the sample and returns the plan, which must have told the size exactly."""
        plan = synps_json("plan", SAMPLE, "-p", policy)
        synps("pack", SAMPLE, "-p", policy, "-o", self.artifact)
        self.assertEqual(plan["artifact_bytes"], os.path.getsize(self.artifact))
        self.assertEqual(plan["source_bytes"], sum(len(data) for _, _, data in self.source.values()))
        self.assertEqual([w["path"] for w in plan["weights"]], sorted(self.source))
        return plan

    def check_verified(self, plan):
        report = synps_json("verify", self.artifact, "--against", SAMPLE)
        self.assertTrue(report["ok"])
        self.assertEqual(report["problems"], [])
        self.assertEqual([w["path"] for w in report["weights"]], sorted(self.source))
        lossless = {w["path"]: w["lossless"] for w in plan["weights"]}
        for weight in report["weights"]:
            self.assertEqual(weight["lossless"], lossless[weight["path"]], weight["path"])
            if weight["lossless"]:
                self.assertEqual(weight["max_abs_error"], 0, weight["path"])
                self.assertEqual(weight["rmse"], 0, weight["path"])

    def check_unpacked(self, plan):
        """Lossless weights come back as they were, the others as f32 of the same shape."""
        plain = os.path.join(self.folder, "plain.safetensors")
        synps("unpack", self.artifact, "-o", plain)
        unpacked = file_tensors(plain)
        self.assertEqual(sorted(unpacked), sorted(self.source))
        self.assertEqual(read_safetensors(plain).metadata, {"format": "pt"})
        for weight in plan["weights"]:
            path = weight["path"]
            if weight["lossless"]:
                self.assertEqual(unpacked[path], self.source[path], path)
            else:
                self.assertEqual(unpacked[path][:2], ("F32", self.source[path][1]), path)

    def check_whole_path(self, policy):
        plan = self.pack(policy)
        self.check_verified(plan)
        self.check_unpacked(plan)
        return plan

    def test_the_example_policy(self):
        plan = self.check_whole_path(EXAMPLE_POLICY)
        self.assertTrue(any(weight["lossless"] for weight in plan["weights"]))
        self.assertFalse(all(weight["lossless"] for weight in plan["weights"]))

    def test_every_format(self):
        for name in FORMATS:
            with self.subTest(format=name):
                policy = write_text(os.path.join(self.folder, "one.toml"), ONE_FORMAT.format(name))
                self.check_whole_path(policy)
                os.remove(self.artifact)
                os.remove(os.path.join(self.folder, "plain.safetensors"))

    def test_formats_by_layer_and_form(self):
        policy = write_text(os.path.join(self.folder, "layers.toml"), LAYERS_APART)
        plan = self.check_whole_path(policy)
        codec = {weight["path"]: weight["codec"] for weight in plan["weights"]}
        self.assertEqual(codec["model.layers.0.mlp.down_proj.weight"], "q8_0:q8_0")
        self.assertEqual(codec["model.layers.1.mlp.down_proj.weight"], "ternary:ternary")
        self.assertEqual(codec["model.layers.4.mlp.down_proj.weight"], "q8_0:q8_0")
        self.assertEqual(codec["model.layers.4.self_attn.k_proj.weight"], "q4_0:q4_0")
        self.assertEqual(codec["model.layers.4.self_attn.v_proj.weight"], "bf16:bf16")
        residency = {weight["path"]: weight["residency"] for weight in plan["weights"]}
        self.assertEqual(residency["lm_head.weight"], "heap")
        self.assertEqual(residency["model.norm.weight"], "mapped")
        for name, entry in read_safetensors(self.artifact).entries.items():
            if "self_attn.q_proj" in name:
                self.assertEqual(entry.begin % 4096, 0, f"{name} is volatile")

    def test_dense_weights_are_plain_tensors(self):
        policy = write_text(os.path.join(self.folder, "layers.toml"), LAYERS_APART)
        self.pack(policy)
        artifact = read_safetensors(self.artifact)
        for name in ("lm_head.weight", "model.norm.weight", "model.layers.2.self_attn.o_proj.weight"):
            entry = artifact.entries[name]
            data = read_bytes(self.artifact, entry.begin, entry.end)
            self.assertEqual((entry.dtype, entry.shape, data), self.source[name], name)
        self.assertNotIn("model.layers.0.mlp.down_proj.weight", artifact.entries)
        self.assertEqual(artifact.metadata["format"], "synps")
        self.assertEqual(artifact.metadata["synps.source.format"], "pt")

    def test_jobs_do_not_change_a_byte(self):
        for number, text in enumerate([LAYERS_APART, ONE_FORMAT.format("ternary:absmean")]):
            policy = write_text(os.path.join(self.folder, f"{number}.toml"), text)
            seen = set()
            for jobs in (1, 2, 8, 1, 2, 8):
                synps("pack", SAMPLE, "-p", policy, "-o", self.artifact, "--jobs", jobs, "--force")
                seen.add(sha256(self.artifact))
            self.assertEqual(len(seen), 1)

    def test_an_output_that_is_an_input_is_refused(self):
        copy = os.path.join(self.folder, "copy")
        os.mkdir(copy)
        for name in os.listdir(SAMPLE):
            with open(os.path.join(copy, name), "wb") as file:
                file.write(read_bytes(os.path.join(SAMPLE, name), 0, 1 << 24))
        shard = os.path.join(copy, "model-00002-of-00002.safetensors")
        index = os.path.join(copy, "model.safetensors.index.json")
        os.link(shard, os.path.join(self.folder, "hard.synps"))
        os.symlink(shard, os.path.join(self.folder, "soft.synps"))
        before = {name: sha256(os.path.join(copy, name)) for name in os.listdir(copy)}
        for output in (shard, index, *(os.path.join(self.folder, n + ".synps") for n in ("hard", "soft"))):
            with self.subTest(output=output):
                done = synps("pack", copy, "-p", EXAMPLE_POLICY, "-o", output, "--force", expect=8)
                self.assertIn(os.path.basename(output), done.stderr)
        self.assertEqual({name: sha256(os.path.join(copy, name)) for name in os.listdir(copy)}, before)


if __name__ == "__main__":
    unittest.main()
