"""What each artifact of v1/ was made of: a checkpoint, a policy, and the commands. make_v1.py runs
them; `run` is a call of synps in the folder of the checkpoint."""

import os
import struct

import checkpoints
from checkpoints import GGUF_TYPES, gguf_tensor, tensor
from fixtures import encode

KEEP = '[[policies."*".schemes]]\nformat = "keep"\n'
READ = '[myelin]\nformats = ["bf16", "f16", "f64", "f8_e4m3", "f8_e5m2", "q8_0"]\n'

# Rows, columns and codec. Names are the codecs' exports.
SMALL = {"q8_0": "q8_0", "q4_0": "q4_0", "q4_1": "q4_1", "q5_0": "q5_0", "q5_1": "q5_1"}
LARGE = {"q4_k": "q4_k", "q5_k": "q5_k", "q6_k": "q6_k", "tq1_0": "ternary:tq1_0",
         "tq2_0": "ternary:tq2_0"}
OURS = {"ternary": "ternary", "absmean": "ternary:absmean", "planes": "ternary:planes"}
ENCODED = SMALL | LARGE | OURS


def write(folder, name, text):
    with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
        file.write(text)


def scheme(pattern, format_, more=""):
    return f"[[policies.{quoted(pattern)}.schemes]]\nformat = \"{format_}\"\n{more}\n"


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def pack(folder, run, tensors, policy, *options, output="out.synps", metadata=None):
    checkpoints.write(os.path.join(folder, "model.safetensors"), tensors, metadata)
    write(folder, "synps.toml", policy)
    run("pack", "model.safetensors", "-o", output, *options)


def dense(folder, run):
    """Dense codecs, special values, names that need escaping, no elements, scalars."""
    special = struct.pack("<8I", 0x7FC00000, 0x7F800001, 0x7F800000, 0xFF800000, 0x80000000, 1,
                          0x00800000, 0x7F7FFFFF)
    tensors = [(f"{dtype.lower()}.special", dtype, [4], special[:size])
               for dtype, size in (("F32", 16), ("F16", 8), ("BF16", 8))]
    tensors += [tensor("as_f16.a", "F32", [3, 5], 1), tensor("as_f16.b", "BF16", [7], 2),
                tensor("as_bf16.a", "F32", [2, 3, 4], 3), tensor("as_f32.a", "F16", [5, 3], 4),
                tensor("as_f32.b", "F64", [9], 5),
                tensor("scalar", "F32", [], 7), tensor("empty", "F32", [0, 64], 8),
                tensor("empty.too", "BF16", [3, 0], 8), tensor("aligned", "F32", [16], 9)]
    tensors += [tensor(name, "F32", [3], 20 + i) for i, name in enumerate(
        ['quoted "name"', "back\\slash", "tab\tand\nline\x01", "ünïcödé.名前.😀", "with#hash",
         "with#values.zstd", "", ".", "a..b", "\x7f"])]
    tensors.append(("f8.finite", "F8_E5M2", [8], bytes(range(0, 64, 8))))
    pack(folder, run, tensors, READ + scheme("*", "keep") + scheme("as_f16", "f16") +
         scheme("as_bf16", "bf16") + scheme("as_f32", "f32") + scheme("f8", "f32"),
         metadata={"format": "pt", "note": 'quote " back\\slash\n é 😀', "": "no key"})


def kept(folder, run):
    """Every dtype of safetensors, as stored."""
    pack(folder, run, [tensor(f"all.{dtype.lower()}", dtype, [3, 8], i)
                       for i, dtype in enumerate(checkpoints.BITS)] +
         [tensor("gptq.qweight", "I32", [4, 16], 90), tensor("gptq.qzeros", "I32", [2, 2], 91),
          tensor("gptq.scales", "F16", [2, 16], 92), tensor("gptq.g_idx", "I32", [32], 93)], KEEP)


def packed(folder, run):
    """Every codec that encodes, for matrices, vectors and stacks, and a fallback."""
    tensors, policy = [], READ + '[policies."*"]\nfallback = "f16"\n' + scheme("*", "f32")
    for i, (name, codec) in enumerate(ENCODED.items()):
        columns = 256 if name in LARGE else 200 if name in OURS else 96
        tensors += [tensor(name + ".matrix", "F32", [3, columns], 3 * i),
                    tensor(name + ".vector", "BF16", [columns], 3 * i + 1),
                    tensor(name + ".stack", "F16", [2, 1, columns], 3 * i + 2)]
        policy += scheme(name, codec)
    tensors.append(tensor("q8_0.odd", "F32", [3, 33], 80))
    pack(folder, run, tensors, policy)


def rows8(folder, run):
    """The other order: full groups alone, and with rows that are left."""
    tensors, policy = [], READ + scheme("*", "f32")
    for i, (name, codec) in enumerate(ENCODED.items()):
        if codec in ("ternary:absmean", "ternary:planes"):
            continue
        columns = 512 if name in LARGE else 300 if name in OURS else 64
        rows = (8, 9) if name in LARGE else (16, 19)
        for r in rows if name != "q5_k" else (9,):
            tensors.append(tensor(f"{name}.{r}", "F32", [r, columns], 40 + i))
        policy += scheme(name, codec)
    tensors += [tensor("q8_0.few", "F32", [7, 64], 70), tensor("q8_0.stack", "F32", [2, 8, 64], 71),
                tensor("q8_0.narrow", "F32", [16, 32], 72)]
    pack(folder, run, tensors, policy, output="rows1.synps")
    run("repack", "rows1.synps", "-o", "out.synps", "--order", "rows8")


def zstd(folder, run):
    """Byte planes of every width, several chunks, several segments, packed and kept weights."""
    def wave(name, dtype, shape, period):
        count = checkpoints.elements(shape)
        numbers = [(i % period - period / 2) / 16 for i in range(count)]
        return name, dtype, shape, encode(dtype, numbers)
    doubles = struct.pack("<100d", *checkpoints.values(100, 1))
    integers = struct.pack("<400i", *(i % 16 for i in range(400)))
    tensors = [wave("planes.f32", "F32", [264, 1024], 16), wave("planes.bf16", "BF16", [40, 64], 8),
               wave("planes.f16", "F16", [40, 64], 8), ("planes.f64", "F64", [100], doubles),
               wave("planes.vector", "F32", [525000], 32),
               wave("segments.f32", "F32", [8, 33000], 64), tensor("random", "F32", [5, 7], 2),
               tensor("kept.f8", "F8_E4M3", [4, 32], 4), ("kept.i32", "I32", [400], integers),
               wave("packed.q8_0", "BF16", [488, 2048], 64), wave("packed.q4_0", "F32", [19, 64], 9),
               tensor("packed.ternary", "F32", [9, 200], 5), tensor("packed.vector", "F32", [96], 6),
               tensor("none", "F32", [4], 7), tensor("empty", "F32", [0, 3], 7),
               wave("in_out", "F32", [16, 64], 16)]
    policy = READ + scheme("*", "keep") + '[policies."*".form]\ncompress = "zstd:19"\n'
    policy += '[policies.none.form]\ncompress = "none"\n'
    policy += '[policies.in_out.form]\norientation = "in_out"\n' + scheme("in_out", "q8_0")
    policy += scheme("packed", "q8_0") + scheme("packed.q4_0", "q4_0")
    policy += scheme("packed.ternary", "ternary")
    pack(folder, run, tensors, policy, output="rows1.synps", metadata={"format": "pt"})
    run("repack", "rows1.synps", "-o", "out.synps", "--order", "rows8")


def policies(folder, run):
    """All that a policy says and an index holds: volatile weights, devices, orientations, places,
    precisions, schemes of values, decisions."""
    tensors = [tensor(f"layers.{i}.{name}.weight", "BF16", shape, 10 * i + n)
               for i in range(2) for n, (name, shape) in enumerate(
                   {"query": [8, 64], "up": [64, 8], "down": [4, 160], "norm": [64]}.items())]
    tensors.append(tensor("wte.weight", "F32", [6, 32], 50))
    policy = READ + """
[devices.board]
target = "cpu-neon"
profile = "small"

[profiles.small]
extends = "mobile_2gb"
memory = "1GiB"

[policies."*"]
dtype = "f32"
fallback = "bf16"

[policies."layers.*.{up,down}"]
dtype = "bf16"

[policies."layers.1".backend]
device = "board"

[policies."layers.*.up".form]
orientation = "in_out"
residency = "heap"

[policies."layers.*.query".form]
order = "as_stored"
residency = "mapped"

[policies.wte.form]
residency = "mapped"

[policies."layers.0.query"]
dtype = "f16"
"""
    policy += scheme("*", "bf16") + scheme("layers.*.up", "q8_0") + scheme("wte", "f16")
    policy += scheme("layers.*.query", "q4_0", "volatile = true")
    policy += scheme("layers.*.down", "ternary", "volatile = true\nlifetime = \"any\"")
    policy += scheme("layers.*.norm", "f32", "volatile = true")
    policy += scheme("layers.*.cache", "f16", 'scope = "internal"\nlifetime = "session"\n'
                     'update = "region"')
    policy += scheme("layers.1.cache", "q8_0", 'scope = "internal"\nlifetime = "session"\n'
                     'update = "region"')
    policy += scheme("**", "f32", 'scope = "any"\nlifetime = "any"')
    policy += scheme("input_ids", "f32", 'scope = "input"')
    policy += scheme("logits", "f32", 'scope = "output"\nlifetime = "session"\nupdate = "none"')
    pack(folder, run, tensors, policy)


def fp8(folder, run):
    """Scales of every form, folded and kept."""
    forms = {"tensor": ("weight_scale", "F32", []), "row": ("scale_weight", "BF16", [130, 1]),
             "block": ("weight_scale_inv", "F32", [2, 1])}
    codes = bytes(i * 37 % 126 + i % 2 * 128 for i in range(130 * 32))
    tensors = []
    for place in ("folded", "kept"):
        for i, (form, (suffix, dtype, shape)) in enumerate(forms.items()):
            name = f"{place}.{form}."
            tensors.append((name + "weight", "F8_E4M3" if i else "F8_E5M2", [130, 32], codes if i
                            else bytes(code & 0xBB for code in codes)))
            numbers = [0.5 + 0.25 * (k % 5) for k in range(checkpoints.elements(shape))]
            tensors.append((name + suffix, dtype, shape, encode(dtype, numbers)))
    tensors += [("alone.weight", "F8_E4M3", [2, 32], codes[:64]),
                ("attention.k_scale", "F32", [], encode("F32", [0.5]))]
    pack(folder, run, tensors, READ + scheme("*", "keep") + scheme("folded", "q4_0") +
         scheme("folded.row", "f16") + scheme("alone", "f16"))


def history(folder, run):
    """Weights that several encodings have rounded, and some that one did."""
    tensors = [tensor(name, "BF16", [4, 64], i) for i, name in enumerate(
        ("first.one", "first.two", "first.three", "plain", "wide"))]
    pack(folder, run, tensors, READ + scheme("*", "keep") + scheme("first", "q4_0"),
         output="a.synps")
    run("requantize", "a.synps", "-o", "b.synps", "--to", "f16", "--only", "first.two")
    run("requantize", "b.synps", "-o", "c.synps", "--to", "q8_0", "--only", "first.two")
    run("repack", "c.synps", "-o", "d.synps", "--to", "f32", "--only", "first.one")
    run("repack", "d.synps", "-o", "out.synps", "--to", "f32", "--only", "wide")


def gguf(folder, run):
    """Key-values of every type, blocks of every type that a codec decodes, and of some that none does."""
    tensors = [gguf_tensor(f"blocks.{type_.lower()}", type_, 2, max(64, length), i)
               for i, (type_, (_, length, _, _)) in enumerate(GGUF_TYPES.items())]
    tensors += [("norm.weight", [8], 0, encode("F32", checkpoints.values(8, 1))),
                ("half.weight", [4, 2], 1, encode("F16", checkpoints.values(8, 2))),
                ("ids", [3], 26, struct.pack("<3i", 1, -2, 3))]
    checkpoints.write_gguf(os.path.join(folder, "model.gguf"), tensors, checkpoints.key_values())
    write(folder, "synps.toml", KEEP + '[policies."gguf"]\noptional = true\n'
          '[policies."gguf".form]\ncompress = "zstd:19"\n')
    run("pack", "model.gguf", "-o", "out.synps")


def gguf_rows8(folder, run):
    """The other order of blocks that are only read."""
    tensors = [gguf_tensor(f"{type_.lower()}.weight", type_, 9, 2 * GGUF_TYPES[type_][1], i)
               for i, type_ in enumerate(("Q8_1", "Q2_K", "Q3_K", "Q8_K", "IQ4_NL", "IQ4_XS",
                                          "MXFP4"))]
    checkpoints.write_gguf(os.path.join(folder, "model.gguf"), tensors, checkpoints.key_values()[:2])
    write(folder, "synps.toml", KEEP)
    run("pack", "model.gguf", "-o", "rows1.synps")
    run("repack", "rows1.synps", "-o", "out.synps", "--order", "rows8")


def shards(folder, run):
    """Several files and their index, with key-values that lie in a shard of their own."""
    tensors = [gguf_tensor(f"blk.{i}.weight", "Q8_0", 8, 64, i) for i in range(6)]
    tensors.append(("norm.weight", [8], 0, encode("F32", checkpoints.values(8, 1))))
    keys = [key for key in checkpoints.key_values() if key[0] != "a.long"]
    checkpoints.write_gguf(os.path.join(folder, "model.gguf"), tensors, keys)
    write(folder, "synps.toml", READ + KEEP + scheme("blk.{0..1}", "q4_0") +
          scheme("blk.*.cache", "f16", 'scope = "internal"\nlifetime = "session"') +
          '[policies."blk.{4..5}".form]\ncompress = "none"\n')
    # For whatever no policy says it of.
    run("pack", "model.gguf", "-o", "out.synps", "--max-shard-size", "14000", "--compress", "zstd")


def package(folder, run, module):
    """A codec that is not built in: docs/codec_package."""
    tensors = [tensor("rows.matrix", "F32", [4, 40], 1), tensor("rows.vector", "F32", [50], 2),
               tensor("other", "F32", [4], 3)]
    policy = READ + scheme("*", "keep") + scheme("rows", "q8_row")
    pack(folder, run, tensors, policy, "--package", f"q8_row={module}")


def empty(folder, run):
    """No weight at all."""
    pack(folder, run, [], KEEP, "--allow-unmatched", metadata={"format": "pt"})


ALL = {f.__name__: f for f in (dense, kept, packed, rows8, zstd, policies, fp8, history, gguf,
                               gguf_rows8, shards, package, empty)}
