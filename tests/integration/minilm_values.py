#!/usr/bin/env python3
"""Looks at every value of a packed and an unpacked model with safetensors and numpy, against codecs
written here a second time from their formulas (docs/codecs.md).

    minilm_values.py POLICY SOURCE ARTIFACT UNPACKED REPORTS
"""

import json
import re
import sys

import numpy as np
from safetensors import safe_open

IDS = "embeddings.position_ids"
F32 = np.float32


def expected_codec(policy, name):
    """What policies/POLICY.toml stores a weight as, without asking synps."""
    if name == IDS:
        return "keep"
    if policy == "f16":
        return "f16"
    if policy == "q8_0":
        if re.search(r"LayerNorm\.|\.bias$", name):
            return "f32"
        return "f16" if "_embeddings.weight" in name else "q8_0"
    if re.fullmatch(r"encoder\.layer\.\d\.(intermediate|output)\.dense\.weight", name):
        return "q4_0"
    if re.search(r"attention\.(self\.\w+|output\.dense)\.weight$", name):
        return "q8_0"
    return "ternary" if name == "pooler.dense.weight" else "f16"


def inverse(scale):
    """1/scale in f32, 0 where the scale is 0."""
    return np.divide(F32(1), scale, out=np.zeros_like(scale), where=scale != 0)


def encode_q8_0(values):
    x = values.reshape(-1, 32)
    d = np.abs(x).max(axis=1, keepdims=True) / F32(127)
    scaled = (x * inverse(d)).astype(np.float64)  # exact, so that halves stay halves
    codes = (np.sign(scaled) * np.floor(np.abs(scaled) + 0.5)).astype(np.int8)
    return np.concatenate([d.astype("<f2").view(np.uint8), codes.view(np.uint8)], axis=1).reshape(-1)


def decode_q8_0(stored, shape):
    blocks = stored[: int(np.prod(shape)) // 32 * 34].reshape(-1, 34)
    d = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(F32)
    return (np.ascontiguousarray(blocks[:, 2:]).view(np.int8).astype(F32) * d).reshape(shape)


def encode_q4_0(values):
    x = values.reshape(-1, 32)
    first = np.abs(x).argmax(axis=1)[:, None]
    d = np.take_along_axis(x, first, axis=1) / F32(-8)
    codes = np.minimum(15, np.trunc(x * inverse(d) + F32(8.5))).astype(np.uint8)
    nibbles = codes[:, :16] | (codes[:, 16:] << 4)
    return np.concatenate([d.astype("<f2").view(np.uint8), nibbles], axis=1).reshape(-1)


def decode_q4_0(stored, shape):
    blocks = stored[: int(np.prod(shape)) // 32 * 18].reshape(-1, 18)
    d = np.ascontiguousarray(blocks[:, :2]).view("<f2").astype(F32)
    nibbles = blocks[:, 2:]
    codes = np.concatenate([nibbles & 15, nibbles >> 4], axis=1).astype(F32) - F32(8)
    return (codes * d).reshape(shape)


def decode_ternary(codes, scales, shape):
    rows, columns = shape
    groups = -(-columns // 128)
    packed = codes[: rows * groups * 32].reshape(rows, groups, 1, 32)
    shifts = np.array([0, 2, 4, 6], np.uint8).reshape(1, 1, 4, 1)
    signs = ((packed >> shifts) & 3).astype(F32) - F32(1)
    signs = signs.reshape(rows, groups * 128)[:, :columns]
    return signs * scales[: rows * 4].view("<f4").reshape(rows, 1)


def least_ternary_error(values):
    """For every row, the least squared error of any scale and any codes in {-1, 0, 1}."""
    x = values.astype(np.float64)
    sums = np.cumsum(-np.sort(-np.abs(x), axis=1), axis=1)
    gains = sums**2 / np.arange(1, x.shape[1] + 1)
    return (x**2).sum(axis=1) - gains.max(axis=1)


def same_bits(a, b):
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


class Check:
    def __init__(self, policy, source, artifact, plain, reports):
        self.policy = policy
        self.source = source
        self.artifact = artifact
        self.plain = plain
        self.plan = {weight["path"]: weight for weight in reports["plan"]["weights"]}
        self.errors = {weight["path"]: weight for weight in reports["verify"]["weights"]}

    def expect(self, condition, name, what):
        if not condition:
            sys.exit(f"minilm_values: {self.policy}: {name}: {what}")

    def files(self):
        paths = set(self.source.keys())
        self.expect(set(self.plain.keys()) == paths, "names", "unpacking changes them")
        self.expect(self.plain.metadata() == self.source.metadata(), "metadata", "is not carried over")
        self.expect(set(self.plan) == paths, "plan", "does not name every weight")
        self.expect(set(self.errors) == paths, "verify", "does not name every weight")
        entries = {"__synps__", "__synps_sums__"}
        for name in paths:
            entries.update(self.entries(name))
        self.expect(set(self.artifact.keys()) == entries, "entries", "are not what the policy says")
        dense = all(self.entries(name) == [name] for name in paths)
        wanted = "pt" if dense else "synps"
        self.expect(self.artifact.metadata()["format"] == wanted, "format", f"is not {wanted}")

    def entries(self, name):
        codec = expected_codec(self.policy, name)
        if codec in ("q8_0", "q4_0"):
            return [f"{name}#blocks"]
        return [f"{name}#codes", f"{name}#scales"] if codec == "ternary" else [name]

    def weight(self, name):
        codec = expected_codec(self.policy, name)
        planned = self.plan[name]["codec"]
        self.expect(planned == (codec if codec == "keep" else f"{codec}:{codec}"), name, planned)
        before, after = self.source.get_tensor(name), self.plain.get_tensor(name)
        stored = [self.artifact.get_tensor(entry) for entry in self.entries(name)]
        if codec in ("keep", "f32"):
            self.expect(same_bits(stored[0], before), name, "is not stored as it was")
            decoded = before
        elif codec == "f16":
            self.expect(same_bits(stored[0], before.astype(np.float16)), name, "differs from numpy's f16")
            decoded = stored[0].astype(F32)
        elif codec in ("q8_0", "q4_0"):
            decoded = self.blocks(name, codec, before, stored[0])
        else:
            decoded = self.ternary(name, before, *stored)
        self.expect(same_bits(after, decoded), name, "does not unpack to what is stored")
        self.error(name, before, decoded, codec in ("keep", "f32"))

    def blocks(self, name, codec, before, stored):
        encode, decode = {"q8_0": (encode_q8_0, decode_q8_0), "q4_0": (encode_q4_0, decode_q4_0)}[codec]
        wanted = encode(before)
        self.expect(same_bits(stored[: wanted.size], wanted), name, f"differs from numpy's {codec}")
        self.expect(stored.size == -(-wanted.size // 64) * 64, name, f"is {stored.size} bytes")
        self.expect(not stored[wanted.size :].any(), name, "is not padded with zeros")
        return decode(stored, before.shape)

    def ternary(self, name, before, codes, scales):
        decoded = decode_ternary(codes, scales, before.shape)
        error = ((before.astype(np.float64) - decoded) ** 2).sum(axis=1)
        least = least_ternary_error(before)
        self.expect((error <= least * (1 + 1e-6)).all(), name, "is not the least-squares choice")
        return decoded

    def error(self, name, before, decoded, lossless):
        said = self.errors[name]
        self.expect(said["lossless"] == lossless, name, f"lossless is {said['lossless']}")
        self.expect(self.plan[name]["lossless"] == lossless, name, "the plan says otherwise")
        difference = before.astype(np.float64) - decoded
        self.expect(said["max_abs_error"] == np.abs(difference).max(), name, "max_abs_error is wrong")
        rmse = np.sqrt((difference**2).mean())
        self.expect(np.isclose(said["rmse"], rmse, rtol=1e-9, atol=0), name, f"rmse is not {rmse}")
        if rmse > 0:
            snr = 10 * np.log10((before.astype(np.float64) ** 2).mean() / rmse**2)
            self.expect(np.isclose(said["snr_db"], snr, rtol=0, atol=1e-6), name, f"snr_db is not {snr}")


def main(arguments):
    policy, source, artifact, plain, reports = arguments
    with open(reports, encoding="utf-8") as file:
        reports = json.load(file)
    with safe_open(source, "np") as a, safe_open(artifact, "np") as b, safe_open(plain, "np") as c:
        check = Check(policy, a, b, c, reports)
        check.files()
        for name in a.keys():
            check.weight(name)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
