#!/usr/bin/env python3
"""Checkpoints of 8-bit floats as they are published: values against the definition, every command
on them, and refusal of what other tools packed. The standard library alone."""

import json
import math
import os
import random
import struct
import sys
import tempfile

from support import file_tensors, read_safetensors, synps, synps_json, write_text

FORMATS = '[myelin]\nformats = ["f8_e4m3", "f8_e5m2", "bf16", "f16"]\n'
TO_F32 = FORMATS + '[[policies."*".schemes]]\nformat = "f32"\n'


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def e4m3(code):
    sign, exponent, fraction = -1.0 if code & 128 else 1.0, code >> 3 & 15, code & 7
    if code & 127 == 127:
        return math.nan
    if exponent == 0:
        return sign * math.ldexp(fraction, -9)
    return sign * math.ldexp(8 + fraction, exponent - 10)


def e5m2(code):
    sign, exponent, fraction = -1.0 if code & 128 else 1.0, code >> 2 & 31, code & 3
    if exponent == 31:
        return math.nan if fraction else sign * math.inf
    if exponent == 0:
        return sign * math.ldexp(fraction, -16)
    return sign * math.ldexp(4 + fraction, exponent - 17)


DECODERS = {"F8_E4M3": e4m3, "F8_E5M2": e5m2}


def product(code, scale):
    """Exact as a double, then rounded once to f32, as bits."""
    return struct.pack("<f", code * scale)


def write(path, tensors, metadata=None):
    header, data = {}, b""
    if metadata:
        header["__metadata__"] = metadata
    for name, (dtype, shape, block) in tensors.items():
        header[name] = {
            "dtype": dtype, "shape": shape, "data_offsets": [len(data), len(data) + len(block)]
        }
        data += block
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)
    return path


def write_shards(folder, shards):
    os.makedirs(folder, exist_ok=True)
    weight_map = {}
    for i, tensors in enumerate(shards):
        name = f"model-{i + 1:05}-of-{len(shards):05}.safetensors"
        write(os.path.join(folder, name), tensors)
        weight_map.update({path: name for path in tensors})
    write_text(
        os.path.join(folder, "model.safetensors.index.json"), json.dumps({"weight_map": weight_map})
    )
    return folder


class Maker:
    def __init__(self, seed):
        self.random = random.Random(seed)

    def codes(self, count, dtype="F8_E4M3"):
        finite = [code for code in range(256) if math.isfinite(DECODERS[dtype](code))]
        return bytes(self.random.choices(finite, k=count))

    def scales(self, count, dtype="F32"):
        """Numbers of a scale, and their bytes."""
        numbers = [self.random.uniform(0.5, 2) * 2.0 ** self.random.randint(-12, 0)
                   for _ in range(count)]
        if dtype == "BF16":
            block = b"".join(struct.pack("<f", number)[2:] for number in numbers)
            numbers = [struct.unpack("<f", b"\0\0" + block[2 * i : 2 * i + 2])[0]
                       for i in range(count)]
        else:
            code = {"F32": "f", "F16": "e"}[dtype]
            block = struct.pack(f"<{count}{code}", *numbers)
            numbers = struct.unpack(f"<{count}{code}", block)
        return numbers, block

    def bf16(self, count):
        return b"".join(struct.pack("<f", self.random.gauss(0, 0.05))[2:] for _ in range(count))


def expected(dtype, shape, codes, number_at, numbers):
    decode = DECODERS[dtype]
    table = [decode(code) for code in range(256)]
    columns = shape[-1]
    return b"".join(product(table[code], numbers[number_at(i // columns, i % columns)])
                    for i, code in enumerate(codes))


def unpacked_as_f32(folder, checkpoint):
    policy = write_text(os.path.join(folder, "f32.toml"), TO_F32)
    artifact, plain = os.path.join(folder, "a.synps"), os.path.join(folder, "a.safetensors")
    synps("pack", checkpoint, "-p", policy, "-o", artifact, "--force", "--jobs", "2")
    report = synps_json("verify", artifact, "--against", checkpoint)
    check(report["ok"], report["problems"])
    check(all(weight["max_abs_error"] == 0 for weight in report["weights"]), report["weights"])
    synps("unpack", artifact, "-o", plain, "--force")
    return file_tensors(plain)


def init_gives_a_sound_policy(folder, checkpoint, strict=True):
    """Not strict: of a checkpoint in which a scale may be lost, `check` warns."""
    for preset in ("f16", "q8_0", "q4_0"):
        policy = os.path.join(folder, "init.toml")
        synps("init", checkpoint, "--preset", preset, "-o", policy, "--force")
        report = synps_json("check", checkpoint, "-p", policy, *(["--strict"] if strict else []))
        check(report["ok"], report)
        artifact = os.path.join(folder, "init.synps")
        synps("pack", checkpoint, "-p", policy, "-o", artifact, "--force")
        check(synps_json("verify", artifact, "--against", checkpoint)["ok"], preset)
    return policy


def deepseek(folder):
    """Blocks of 128x128, in shards, the scale not beside its weight."""
    make = Maker(1)
    shards, wanted = [{}, {}], {}
    for layer in range(2):
        for name, rows, columns in (("q_proj", 192, 256), ("o_proj", 256, 130)):
            path = f"model.layers.{layer}.self_attn.{name}.weight"
            codes = make.codes(rows * columns)
            across, down = -(-columns // 128), -(-rows // 128)
            numbers, block = make.scales(across * down)
            shards[layer][path] = ("F8_E4M3", [rows, columns], codes)
            shards[1 - layer][path + "_scale_inv"] = ("F32", [down, across], block)
            wanted[path] = expected(
                "F8_E4M3", [rows, columns], codes,
                lambda r, c, across=across: r // 128 * across + c // 128, numbers)
    shards[0]["model.norm.weight"] = ("BF16", [256], make.bf16(256))
    shards[1]["lm_head.weight"] = ("BF16", [64, 256], make.bf16(64 * 256))
    checkpoint = write_shards(os.path.join(folder, "deepseek"), shards)
    values = unpacked_as_f32(folder, checkpoint)
    check(set(values) == set(wanted) | {"model.norm.weight", "lm_head.weight"}, sorted(values))
    for path, block in wanted.items():
        check(values[path][2] == block, path)
    init_gives_a_sound_policy(folder, checkpoint)


def compressed_tensors(folder):
    """A number for each row in BF16, one for the weight, and one with no scale at all."""
    make = Maker(2)
    rows, columns = 96, 160
    by_row, row_block = make.scales(rows, "BF16")
    one, one_block = make.scales(1, "F16")
    codes = [make.codes(rows * columns, dtype) for dtype in ("F8_E4M3", "F8_E5M2", "F8_E4M3")]
    checkpoint = write(os.path.join(folder, "ct.safetensors"), {
        "a.weight": ("F8_E4M3", [rows, columns], codes[0]),
        "a.weight_scale": ("BF16", [rows, 1], row_block),
        "a.input_scale": ("F32", [1], struct.pack("<f", 0.25)),
        "b.weight": ("F8_E5M2", [rows, columns], codes[1]),
        "b.weight_scale": ("F16", [1], one_block),
        "c.weight": ("F8_E4M3", [rows, columns], codes[2]),
        "k_scale": ("F32", [], struct.pack("<f", 0.5)),
    })
    values = unpacked_as_f32(folder, checkpoint)
    shape = [rows, columns]
    check(values["a.weight"][2] == expected("F8_E4M3", shape, codes[0], lambda r, c: r, by_row), "a")
    check(values["b.weight"][2] == expected("F8_E5M2", shape, codes[1], lambda r, c: 0, one), "b")
    check(values["c.weight"][2] == expected("F8_E4M3", shape, codes[2], lambda r, c: 0, [1.0]), "c")
    check(set(values) == {"a.weight", "a.input_scale", "b.weight", "c.weight", "k_scale"}, values.keys())
    check(values["a.input_scale"][2] == struct.pack("<f", 0.25), "a.input_scale")
    policy = os.path.join(folder, "f32.toml")
    plan = synps("plan", checkpoint, "-p", policy).stdout
    for text in ("a.weight: scale folded in from a.weight_scale, per row",
                 "b.weight: scale folded in from b.weight_scale, per tensor",
                 "8-bit floats decoded as they stand: c.weight",
                 "scales of activations are weights of their own: 2 tensors, such as a.input_scale"):
        check(text in plan, f"{text!r} is not in\n{plan}")
    scales = {weight["path"]: weight.get("scale") for weight in
              synps_json("plan", checkpoint, "-p", policy)["weights"]}
    check(scales["a.weight"] == {"path": "a.weight_scale", "form": "row", "folded": True}, scales)
    check(scales["c.weight"] is None and "a.weight_scale" not in scales, scales)
    init_gives_a_sound_policy(folder, checkpoint, strict=False)


def comfy(folder):
    """A marker, `scale_weight`, and a weight that is kept with its scale."""
    make = Maker(3)
    number, block = make.scales(1)
    codes = make.codes(64 * 64)
    checkpoint = write(os.path.join(folder, "comfy.safetensors"), {
        "model.diffusion_model.x.weight": ("F8_E4M3", [64, 64], codes),
        "model.diffusion_model.x.scale_weight": ("F32", [], block),
        "model.diffusion_model.x.scale_input": ("F32", [], struct.pack("<f", 1.0)),
        "model.diffusion_model.x.bias": ("BF16", [64], make.bf16(64)),
        "model.diffusion_model.scaled_fp8": ("F8_E4M3", [2], b"\0\0"),
    })
    values = unpacked_as_f32(folder, checkpoint)
    check(values["model.diffusion_model.x.weight"][2]
          == expected("F8_E4M3", [64, 64], codes, lambda r, c: 0, number), "x.weight")
    check("model.diffusion_model.x.scale_weight" not in values, sorted(values))
    keep = write_text(os.path.join(folder, "keep.toml"), '[[policies."*".schemes]]\nformat = "keep"\n')
    artifact, plain = os.path.join(folder, "kept.synps"), os.path.join(folder, "kept.safetensors")
    synps("pack", checkpoint, "-p", keep, "-o", artifact)
    synps("verify", artifact, "--against", checkpoint)
    synps("unpack", artifact, "-o", plain)
    check(file_tensors(plain) == file_tensors(checkpoint), "kept as stored")
    init_gives_a_sound_policy(folder, checkpoint)


def misfits(folder):
    """Exit code 3, and a policy that names only a scale: 7."""
    make = Maker(4)
    codes = make.codes(300 * 200)
    weight = {"a.weight": ("F8_E4M3", [300, 200], codes)}
    policy = write_text(os.path.join(folder, "f32.toml"), TO_F32)

    def refused(extra, *texts, code=3, policy=policy):
        checkpoint = write(os.path.join(folder, "bad.safetensors"), {**weight, **extra})
        for command in ("plan", "check", "pack"):
            arguments = ["-o", os.path.join(folder, "bad.synps")] if command == "pack" else []
            done = synps(command, checkpoint, "-p", policy, *arguments, expect=code)
            for text in texts:
                check(text in done.stderr + done.stdout, f"{text!r} is not in {done.stderr}")
        check(not os.path.exists(os.path.join(folder, "bad.synps")), "an output")
        return checkpoint

    def f32(count, value=0.5):
        return struct.pack("<f", value) * count

    bad = refused({"a.weight_scale": ("F32", [200], f32(200))},
                  "F32 [200]", "F8_E4M3 [300, 200]", "[300, 1]", "[3, 2]")
    synps("inspect", bad)
    policy_of_init = os.path.join(folder, "init.toml")
    synps("init", bad, "-o", policy_of_init, "--force")
    check(synps_json("check", bad, "-p", policy_of_init)["ok"], "init on a misfit")
    refused({"b.weight_scale": ("F32", [], f32(1))}, "b.weight_scale", "without the weight")
    refused({"a.weight_scale": ("F32", [], f32(1)), "a.scale_weight": ("F32", [], f32(1))},
            "a second scale for one weight")
    only_scale = write_text(os.path.join(folder, "scale.toml"), TO_F32
                            + '[[policies."a.weight_scale".schemes]]\nformat = "f16"\n')
    refused({"a.weight_scale": ("F32", [], f32(1))}, "matches only scales",
            '[[policies."a.weight".schemes]]', code=7, policy=only_scale)
    for value, text in ((0.0, "0 at element"), (math.nan, "NaN at element"),
                        (math.inf, "infinity at element")):
        numbers = f32(4) + struct.pack("<f", value) + f32(1)
        checkpoint = write(os.path.join(folder, "bad.safetensors"),
                           {**weight, "a.weight_scale_inv": ("F32", [3, 2], numbers)})
        done = synps("pack", checkpoint, "-p", policy, "-o", os.path.join(folder, "bad.synps"), expect=3)
        check("a.weight_scale_inv" in done.stderr and text + " 4 [2, 0]" in done.stderr, done.stderr)
        check(not os.path.exists(os.path.join(folder, "bad.synps")), "an output")


PACKED = {
    "GPTQ": {"qweight": ("I32", [8, 64]), "qzeros": ("I32", [2, 8]), "scales": ("F16", [2, 64]),
             "g_idx": ("I32", [64])},
    "AWQ": {"qweight": ("I32", [64, 8]), "qzeros": ("I32", [2, 8]), "scales": ("F16", [2, 64])},
    "bitsandbytes 4-bit": {
        "weight": ("U8", [128, 1]), "weight.absmax": ("F32", [4]), "weight.quant_map": ("F32", [16]),
        "weight.quant_state.bitsandbytes__nf4": ("U8", [80])},
    "bitsandbytes int8": {"weight": ("I8", [16, 16]), "SCB": ("F32", [16]), "weight_format": ("U8", [])},
    "compressed-tensors packed integers": {
        "weight_packed": ("I32", [16, 8]), "weight_scale": ("BF16", [16, 1]), "weight_shape": ("I64", [2])},
    "compressed-tensors int8": {"weight": ("I8", [16, 16]), "weight_scale": ("BF16", [16, 1])},
    "NVFP4": {"weight_packed": ("U8", [16, 8]), "weight_scale": ("F8_E4M3", [16, 1]),
              "weight_global_scale": ("F32", [1])},
}
BYTES = {"I32": 4, "F16": 2, "BF16": 2, "F32": 4, "U8": 1, "I8": 1, "I64": 8, "F8_E4M3": 1}


def packed_by_others(folder):
    make = Maker(5)
    policy = write_text(os.path.join(folder, "f32.toml"), TO_F32)
    for scheme, parts in PACKED.items():
        tensors = {"embed.weight": ("BF16", [64, 64], make.bf16(64 * 64))}
        for layer in range(3):
            for name, (dtype, shape) in parts.items():
                size = BYTES[dtype] * math.prod(shape)
                tensors[f"layers.{layer}.mlp.up.{name}"] = (dtype, shape, b"\x11" * size)
        checkpoint = write(os.path.join(folder, "packed.safetensors"), tensors)
        for command in ("plan", "check"):
            done = synps(command, checkpoint, "-p", policy, expect=3)
            # What is wrong is the result of check, whose lines are broken.
            error = " ".join((done.stderr + done.stdout).split())
            check(f"packed as {scheme}," in error and "3 modules" in error, (scheme, error))
        check(scheme in synps("inspect", checkpoint).stdout, f"inspect on {scheme}")
        marked = [weight for weight in synps_json("inspect", checkpoint)["weights"]
                  if weight.get("packed_as") == scheme]
        check(len(marked) == 3 * len(parts), marked)
        text = open(init_gives_a_sound_policy(folder, checkpoint), encoding="utf-8").read()
        check(scheme in text, text)
        artifact, plain = os.path.join(folder, "init.synps"), os.path.join(folder, "plain.safetensors")
        synps("unpack", artifact, "-o", plain, "--force")
        again = file_tensors(plain)
        for name, tensor in tensors.items():
            if name.startswith("layers."):
                check(again[name] == (tensor[0], tensor[1], tensor[2]), name)
        check(len(read_safetensors(plain).entries) == len(tensors), "all tensors")


def main():
    for test in (deepseek, compressed_tensors, comfy, misfits, packed_by_others):
        with tempfile.TemporaryDirectory() as folder:
            test(folder)
        print(f"{test.__name__}: ok")


if __name__ == "__main__":
    sys.exit(main())
