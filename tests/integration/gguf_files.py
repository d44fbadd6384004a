#!/usr/bin/env python3
"""Writes GGUF files with the PyPI package gguf, has synps read them, and compares every tensor and
key-value with what the package says. Run by test_gguf.py, in an environment that has the package.

    gguf_files.py FOLDER
"""

import json
import os
import struct
import sys

import gguf
import numpy as np
from gguf import GGMLQuantizationType as Type
from gguf import GGUFValueType as Value
from gguf import quants

import both_worlds
from support import file_tensors, read_safetensors, synps, synps_json, write_text

# What the package's Python code quantizes to, and the name of synps' codec.
QUANTIZED = {
    Type.F32: "f32",
    Type.F16: "f16",
    Type.BF16: "bf16",
    Type.Q4_0: "q4_0:q4_0",
    Type.Q4_1: "q4_1:q4_1",
    Type.Q5_0: "q5_0:q5_0",
    Type.Q5_1: "q5_1:q5_1",
    Type.Q8_0: "q8_0:q8_0",
    Type.TQ1_0: "ternary:tq1_0",
    Type.TQ2_0: "ternary:tq2_0",
    Type.MXFP4: "mxfp4:mxfp4",
}
# What it only dequantizes: blocks of any bytes, where the f16 scales are made finite.
SCALES = {
    Type.Q2_K: (80, 82),
    Type.Q3_K: (108,),
    Type.Q4_K: (0, 2),
    Type.Q5_K: (0, 2),
    Type.Q6_K: (208,),
    Type.IQ4_NL: (0,),
    Type.IQ4_XS: (0,),
}
# What no codec of synps decodes.
UNDECODED = [
    Type.IQ2_XXS,
    Type.IQ2_XS,
    Type.IQ3_XXS,
    Type.IQ1_S,
    Type.IQ3_S,
    Type.IQ2_S,
    Type.IQ1_M,
    Type.NVFP4,
]
# What both encode.
GGUF_OUTPUT = [type_ for type_ in QUANTIZED if type_ != Type.MXFP4]
PLAIN = {np.int8: "i8", np.int16: "i16", np.int32: "i32", np.int64: "i64", np.float64: "f64"}
ROWS, COLUMNS = 24, 512
VOCABULARY = [f"token {i} ▁" for i in range(3000)]


def check(condition, what):
    if not condition:
        raise AssertionError(what)


def blocks_of_any_bytes(type_, random):
    elements, size = gguf.GGML_QUANT_SIZES[type_]
    blocks = random.integers(0, 256, (ROWS, COLUMNS // elements, size), dtype=np.uint8)
    for at in SCALES.get(type_, ()):
        scales = random.standard_normal((ROWS, COLUMNS // elements)).astype(np.float16)
        blocks[:, :, at : at + 2] = scales.view(np.uint8).reshape(*scales.shape, 2)
    return blocks.reshape(ROWS, -1)


def codec_is_known(name):
    return name in {codec["codec"] for codec in synps_json("codecs")["codecs"]}


class Sample:
    """A GGUF file of every type, and what is in it."""

    def __init__(self, path, **options):
        self.path = path
        self.raw = {}  # name -> bytes
        self.values = {}  # name -> f32 array
        self.shapes = {}  # name -> shape of the values
        self.sources = {}  # name -> source encoding
        self.writer = gguf.GGUFWriter(path, "llama", **options)

    def add(self, name, raw, type_, source, values=None):
        self.writer.add_tensor(name, raw, raw_dtype=type_)
        self.raw[name] = raw.tobytes()
        self.sources[name] = source
        self.shapes[name] = list(raw.shape)
        if values is not None:
            self.values[name] = values.astype(np.float32)
            self.shapes[name] = list(values.shape)

    def add_all_types(self, random):
        for type_, source in QUANTIZED.items():
            raw = quants.quantize(
                random.standard_normal((ROWS, COLUMNS), dtype=np.float32), type_
            )
            self.add(f"quantized.{type_.name}", raw, type_, source, quants.dequantize(raw, type_))
        for type_ in SCALES:
            raw = blocks_of_any_bytes(type_, random)
            name = type_.name.lower()
            self.add(
                f"blocks.{type_.name}", raw, type_, f"{name}:{name}", quants.dequantize(raw, type_)
            )
        for type_ in UNDECODED:
            raw = blocks_of_any_bytes(type_, random)
            self.add(f"undecoded.{type_.name}", raw, type_, f"gguf:{type_.name.lower()}")
        for dtype, source in PLAIN.items():
            raw = random.integers(-100, 100, (3, 5)).astype(dtype)
            self.add(f"plain.{source}", raw, None, source)
        raw = quants.quantize(random.standard_normal((2, 3, 64), dtype=np.float32), Type.Q8_0)
        self.add("rank3", raw, Type.Q8_0, "q8_0:q8_0", quants.dequantize(raw, Type.Q8_0))

    def add_keys(self):
        writer = self.writer
        writer.add_uint8("test.u8", 200)
        writer.add_int8("test.i8", -5)
        writer.add_uint16("test.u16", 60000)
        writer.add_int16("test.i16", -30000)
        writer.add_uint32("test.u32", 2**32 - 1)
        writer.add_int32("test.i32", -(2**31))
        writer.add_uint64("test.u64", 2**64 - 1)
        writer.add_int64("test.i64", -(2**63))
        writer.add_float32("test.f32", 0.1)
        writer.add_float64("test.f64", 0.1)
        writer.add_bool("test.bool", True)
        writer.add_string("test.str", 'h\u00e9llo "\u4e16\u754c"\n')
        writer.add_array("test.ints", [1, -2, 3])
        writer.add_array("test.nested", [[1, 2], [3]])
        writer.add_array("tokenizer.ggml.tokens", VOCABULARY)
        writer.add_array("tokenizer.ggml.scores", [float(-i) for i in range(len(VOCABULARY))])

    def write(self):
        self.writer.write_header_to_file()
        self.writer.write_kv_data_to_file()
        self.writer.write_tensors_to_file()
        self.writer.close()


def own_key_values(path):
    """Key-values as the package reads them back: key -> (type, value)."""
    found = {}
    for field in gguf.GGUFReader(path).fields.values():
        if field.name.startswith("GGUF."):
            continue
        found[field.name] = (field.types[0], field.contents())
    return found


def check_keys(path):
    shown = {each["key"]: each for each in synps_json("inspect", path)["key_values"]}
    expected = own_key_values(path)
    check(list(shown) == list(expected), f"keys {list(shown)}, expected {list(expected)}")
    for key, (type_, value) in expected.items():
        names = {Value.BOOL: "bool"}
        name = names.get(type_, type_.name.lower())
        check(shown[key]["type"] == name, f"{key}: type {shown[key]['type']}")
        found = shown[key]["value"]
        if type_ == Value.ARRAY and found and isinstance(found[0], dict):
            continue  # the package's reader does not give arrays in arrays back
        if shown[key]["folded"]:
            check(shown[key]["count"] == len(value), f"{key}: count {shown[key]['count']}")
            value = value[: len(found)]
        check(found == value, f"{key}: {found!r}, expected {value!r}")
    nested = shown["test.nested"]["value"]
    check([each["value"] for each in nested] == [[1, 2], [3]], f"nested arrays: {nested}")


def check_carried(artifact):
    """The key-values of an artifact, from its metadata and from its own tensors."""
    metadata = read_safetensors(artifact).metadata
    check(json.loads(metadata["gguf.test.u64"]) == {"type": "uint64", "value": 2**64 - 1}, "u64")
    about = json.loads(metadata["gguf.tokenizer.ggml.tokens"])
    check(about["count"] == len(VOCABULARY) and about["items"] == "string", about)
    bytes_, at, words = file_tensors(artifact)[about["entry"]][2], 0, []
    for _ in range(about["count"]):
        (size,) = struct.unpack_from("<Q", bytes_, at)
        words.append(bytes_[at + 8 : at + 8 + size].decode())
        at += 8 + size
    check(words == VOCABULARY and at == len(bytes_), "the vocabulary is not what was written")


def check_tensors(sample, folder, path):
    policy = write_text(
        os.path.join(folder, "keep.toml"), '[[policies."*".schemes]]\nformat = "keep"\n'
    )
    artifact, plain = os.path.join(folder, "kept.synps"), os.path.join(folder, "kept.safetensors")
    plan = synps_json("plan", path, "-p", policy)
    synps("pack", path, "-p", policy, "-o", artifact, "--force")
    check(plan["artifact_bytes"] == os.path.getsize(artifact), "the planned size")
    planned = {weight["path"]: weight for weight in plan["weights"]}
    for name, source in sample.sources.items():
        check(planned[name]["source"] == source, f"{name}: source {planned[name]['source']}")
        check(planned[name]["lossless"], f"{name} is not lossless")
    verified = synps_json("verify", artifact, "--against", path)
    check(verified["ok"], verified["problems"])
    synps("unpack", artifact, "-o", plain, "--force")
    tensors = file_tensors(plain)
    compared = 0
    for name, raw in sample.raw.items():
        dtype, shape, found = tensors[name]
        decodes = name in sample.values and (
            ":" not in sample.sources[name] or codec_is_known(sample.sources[name])
        )
        if not decodes:
            check(found == raw, f"{name}: other bytes than written")
            check(shape == list(sample.shapes[name]) or dtype == "U8", f"{name}: {shape}")
            continue
        compared += 1
        check(shape == sample.shapes[name], f"{name}: shape {shape}, not {sample.shapes[name]}")
        values = sample.values[name]
        if dtype in ("F16", "BF16"):
            type_ = Type[dtype]
            values_found = quants.dequantize(np.frombuffer(found, np.uint8), type_)
        else:
            values_found = np.frombuffer(found, np.float32)
        differ = values_found.view(np.uint32) != values.reshape(-1).view(np.uint32)
        check(not differ.any(), f"{name}: {differ.sum()} of {differ.size} values differ")
    return artifact, compared


def check_encoding(folder):
    """What synps encodes of a GGUF file's f16 is what the package quantizes it to."""
    random = np.random.default_rng(3)
    path, artifact = os.path.join(folder, "f16.gguf"), os.path.join(folder, "encoded.synps")
    sample = Sample(path)
    values = random.standard_normal((64, 256)).astype(np.float16)
    sample.add("w", values, Type.F16, "f16", values)
    sample.write()
    for type_ in (Type.Q8_0, Type.Q4_0, Type.TQ1_0, Type.TQ2_0):
        codec = QUANTIZED[type_]
        text = f'[myelin]\nformats = ["f16"]\n[[policies."*".schemes]]\nformat = "{codec}"\n'
        policy = write_text(os.path.join(folder, "encode.toml"), text)
        synps("pack", path, "-p", policy, "-o", artifact, "--force")
        entry = file_tensors(artifact)["w#blocks"][2]
        expected = quants.quantize(values.astype(np.float32), type_).tobytes()
        check(entry[: len(expected)] == expected, f"{codec}: other bytes than gguf's")


def tensors_of(path):
    """Tensors as the package reads them, in their order: name, type, ne, bytes."""
    return [
        (tensor.name, tensor.tensor_type, [int(n) for n in tensor.shape], tensor.data.tobytes())
        for tensor in gguf.GGUFReader(path).tensors
    ]


def fields_of(path):
    """Key-values as the package reads them, in their order: name, types, raw bytes."""
    return [
        (field.name, field.types, [part.tobytes() for part in field.parts[1:]])
        for field in gguf.GGUFReader(path).fields.values()
        if not field.name.startswith("GGUF.")
    ]


def pack_gguf(folder, path, policy, name="out.gguf"):
    out = os.path.join(folder, name)
    plan = synps_json("plan", path, "-p", policy, "--to", "gguf")
    synps("pack", path, "-p", policy, "-o", out, "--force")
    check(plan["artifact_bytes"] == os.path.getsize(out), f"{name}: the planned size")
    verified = synps_json("verify", out, "--against", path)
    check(verified["ok"] and not verified["checksums"], verified["problems"])
    return out, plan


def check_kept_as_gguf(folder, path):
    """What the package wrote comes out the same when everything is kept."""
    policy = write_text(
        os.path.join(folder, "keep.toml"), '[[policies."*".schemes]]\nformat = "keep"\n'
    )
    out, plan = pack_gguf(folder, path, policy)
    check(tensors_of(out) == tensors_of(path), "kept tensors are not the package's")
    added = {"general.quantization_version"}
    dropped = {"split.no", "split.count", "split.tensors.count"}
    check(
        {change["key"] for change in plan["gguf"]["changes"]} <= added | dropped,
        plan["gguf"]["changes"],
    )
    kept = [field for field in fields_of(out) if field[0] not in added]
    check(kept == [f for f in fields_of(path) if f[0] not in dropped], "key-values differ")
    return out


def check_gguf_output(folder):
    """Every tensor that synps quantizes is what the package quantizes; all else is untouched."""
    random = np.random.default_rng(6)
    path = os.path.join(folder, "source-F16.gguf")
    sample = Sample(path)
    weights = random.standard_normal((40, 512)).astype(np.float16)
    weights[3] = 0
    sample.add("z.matrix", weights, Type.F16, "f16", weights)
    norm = random.standard_normal(512).astype(np.float32)
    sample.add("norm", norm, None, "f32")
    other = random.standard_normal((7, 256)).astype(np.float16)
    sample.add("a.matrix", other, Type.F16, "f16", other)
    sample.writer.add_file_type(gguf.LlamaFileType.MOSTLY_F16)
    sample.add_keys()
    sample.write()
    numbers = {type_: gguf.LlamaFileType[f"MOSTLY_{type_.name}"] for type_ in GGUF_OUTPUT if type_ != Type.F32}
    numbers[Type.F32] = gguf.LlamaFileType.ALL_F32
    for type_ in GGUF_OUTPUT:
        codec = QUANTIZED[type_]
        text = (
            '[myelin]\nformats = ["f16"]\n[[policies."*".schemes]]\nformat = "keep"\n'
            f'[[policies."*.matrix".schemes]]\nformat = "{codec}"\n'
        )
        policy = write_text(os.path.join(folder, "out.toml"), text)
        out, _ = pack_gguf(folder, path, policy, f"out-{type_.name}.gguf")
        found = tensors_of(out)
        check([each[0] for each in found] == ["z.matrix", "norm", "a.matrix"], "the order")
        for (name, found_type, ne, bytes_), source in zip(found, (weights, norm, other)):
            wanted = Type.F32 if name == "norm" else type_
            check(found_type == wanted, f"{name}: type {found_type}")
            check(ne == list(reversed(source.shape)), f"{name}: ne {ne}")
            expected = quants.quantize(source.astype(np.float32), wanted).tobytes()
            check(bytes_ == expected, f"{codec}: {name} is not what gguf quantizes")
        own = ("general.file_type", "general.quantization_version")
        check(
            [f for f in fields_of(out) if f[0] not in own]
            == [f for f in fields_of(path) if f[0] not in own],
            f"{codec}: key-values differ",
        )
        values = own_key_values(out)
        check(values["general.file_type"] == (Value.UINT32, numbers[type_]), codec)
        quantized = type_ not in (Type.F32, Type.F16, Type.BF16)
        check(
            values.get("general.quantization_version")
            == ((Value.UINT32, gguf.GGML_QUANT_VERSION) if quantized else None),
            f"{codec}: quantization_version",
        )
    return len(GGUF_OUTPUT)


def check_split(folder):
    """A checkpoint in parts, as the package cuts it, is the checkpoint in one file."""
    random = np.random.default_rng(4)
    sample = Sample(os.path.join(folder, "split.gguf"), split_max_tensors=10)
    sample.add_all_types(random)
    sample.add_keys()
    sample.write()
    parts = sorted(name for name in os.listdir(folder) if name.startswith("split-"))
    check(len(parts) > 2, f"parts: {parts}")
    check_tensors(sample, folder, os.path.join(folder, parts[1]))
    joined = pack_gguf(
        folder,
        os.path.join(folder, parts[1]),
        write_text(os.path.join(folder, "k.toml"), '[[policies."*".schemes]]\nformat = "keep"\n'),
        "joined.gguf",
    )[0]
    pieces = [each for part in parts for each in tensors_of(os.path.join(folder, part))]
    check(tensors_of(joined) == pieces, "joined parts are not the parts")
    os.remove(os.path.join(folder, parts[2]))
    failed = synps("inspect", os.path.join(folder, parts[0]), expect=3)
    check(parts[2] in failed.stderr, failed.stderr)


def write_with_package(path, tensors):
    writer = gguf.GGUFWriter(path, "llama")
    for name, shape, values in tensors:
        array = np.array(values, dtype=np.float32 if len(shape) == 1 else np.float16)
        writer.add_tensor(name, array.reshape(shape))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(arguments):
    (folder,) = arguments
    sample = Sample(os.path.join(folder, "all.gguf"))
    sample.add_all_types(np.random.default_rng(2))
    sample.add_keys()
    sample.write()
    check_keys(sample.path)
    artifact, compared = check_tensors(sample, folder, sample.path)
    check_carried(artifact)
    check_kept_as_gguf(folder, sample.path)
    written = check_gguf_output(folder)
    check_encoding(folder)
    check_split(folder)
    both_worlds.check(folder, write_with_package)
    print(
        f"{len(sample.raw)} tensors as the gguf package wrote them, {compared} decoded alike; "
        f"{written} types written as GGUF as the package quantizes them"
    )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
