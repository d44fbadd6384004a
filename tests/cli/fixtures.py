"""Tiny checkpoints and policies, made with the standard library only."""

import json
import os
import struct

BITS = {"F32": 32, "F16": 16, "BF16": 16, "I64": 64, "BOOL": 8, "F8_E4M3": 8, "I32": 32}


def values(count, seed):
    """`count` numbers in [-1, 1), always the same for a seed."""
    state = seed * 2654435761 % 2**32
    out = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        out.append(state / 2**31 - 1)
    return out


def encode(dtype, numbers):
    if dtype == "BF16":  # the high half of the f32: truncated, which any test data may be
        return b"".join(struct.pack("<f", x)[2:] for x in numbers)
    kind = {"F32": "f", "F16": "e", "I64": "q", "BOOL": "?", "F8_E4M3": "B", "I32": "i"}[dtype]
    return struct.pack(f"<{len(numbers)}{kind}", *numbers)


def elements(shape):
    count = 1
    for extent in shape:
        count *= extent
    return count


def header(tensors, metadata):
    """The length field and header of tensors given as (name, dtype, shape), and the data's size."""
    entries, offset = {}, 0
    if metadata:
        entries["__metadata__"] = metadata
    for name, dtype, shape in tensors:
        size = elements(shape) * BITS[dtype] // 8
        entries[name] = {"dtype": dtype, "shape": shape, "data_offsets": [offset, offset + size]}
        offset += size
    text = json.dumps(entries).encode()
    return struct.pack("<Q", len(text)) + text, offset


def write_safetensors(path, tensors, metadata=None):
    """Writes tensors given as (name, dtype, shape, numbers)."""
    head, _ = header([t[:3] for t in tensors], metadata)
    with open(path, "wb") as out:
        out.write(head)
        for _, dtype, _, numbers in tensors:
            out.write(encode(dtype, numbers))


def write_sparse(path, name, dtype, shape):
    """A checkpoint of one tensor of zeros that takes no room on the disk."""
    head, size = header([(name, dtype, shape)], None)
    with open(path, "wb") as out:
        out.write(head)
        out.truncate(len(head) + size)


def gguf_text(text):
    return struct.pack("<Q", len(text.encode())) + text.encode()


def gguf_blocks(type_, count, seed):
    """Blocks with a scale of 1/64 and any codes."""
    scale, codes = struct.pack("<e", 1 / 64), {"Q8_0": 32, "Q4_0": 16, "IQ2_XXS": 64}[type_]
    numbers = values(count * codes, seed)
    bytes_ = bytes(int((x + 1) * 128) % 256 for x in numbers)
    return b"".join(scale + bytes_[i * codes : (i + 1) * codes] for i in range(count))


def write_gguf_tensors(path, keys, tensors):
    head = b"GGUF" + struct.pack("<IQQ", 3, len(tensors), len(keys))
    for key, type_, value in keys:
        head += gguf_text(key) + struct.pack("<I", type_) + value
    data = b""
    for name, ne, type_, bytes_ in tensors:
        head += gguf_text(name) + struct.pack(f"<I{len(ne)}QIQ", len(ne), *ne, type_, len(data))
        data += bytes_ + bytes(-len(bytes_) % 32)
    with open(path, "wb") as out:
        out.write(head + bytes(-len(head) % 32) + data)


def write_llama_gguf(path):
    """What convert_hf_to_gguf.py --outtype f16 makes of two layers: 1-D tensors are f32."""
    keys = [
        ("general.architecture", 8, gguf_text("llama")),
        ("general.file_type", 4, struct.pack("<I", 1)),
    ]
    shapes = {"token_embd.weight": [256, 8], "output_norm.weight": [256], "output.weight": [256, 8],
              "rope_freqs.weight": [32]}
    for layer in range(2):
        for name, ne in {
            "attn_norm.weight": [256], "attn_q.weight": [256, 8], "attn_q.bias": [8],
            "attn_k.weight": [256, 4], "attn_v.weight": [256, 4], "attn_output.weight": [256, 8],
            "ffn_norm.weight": [256], "ffn_gate.weight": [256, 4], "ffn_up.weight": [256, 4],
            "ffn_down.weight": [96, 8],
        }.items():
            shapes[f"blk.{layer}.{name}"] = ne
    tensors = []
    for seed, (name, ne) in enumerate(shapes.items(), 10):
        flat = len(ne) == 1
        numbers = values(ne[0] * (1 if flat else ne[1]), seed)
        tensors.append((name, ne, 0 if flat else 1, encode("F32" if flat else "F16", numbers)))
    write_gguf_tensors(path, keys, tensors)


def write_gguf(path):
    """A GGUF checkpoint with packed blocks, one of them of a type that nothing decodes."""
    keys = [
        ("general.architecture", 8, gguf_text("llama")),
        ("general.file_type", 4, struct.pack("<I", 7)),
        ("llama.attention.layer_norm_rms_epsilon", 6, struct.pack("<f", 1e-5)),
        ("tokenizer.chat_template", 8, gguf_text("{% for m in messages %}" * 8)),
        (
            "tokenizer.ggml.tokens",
            9,
            struct.pack("<IQ", 8, 100) + b"".join(gguf_text(f"<{i}>") for i in range(100)),
        ),
        ("split.count", 2, struct.pack("<H", 0)),
    ]
    norm = encode("F32", values(64, 1))
    tensors = [
        ("output_norm.weight", [64], 0, norm),
        ("token_embd.weight", [64, 40], 8, gguf_blocks("Q8_0", 80, 2)),
        ("blk.0.attn_q.weight", [64, 64], 2, gguf_blocks("Q4_0", 128, 3)),
        ("blk.1.attn_q.weight", [64, 64], 2, gguf_blocks("Q4_0", 128, 4)),
        ("blk.0.ffn_up.weight", [64, 48], 1, encode("F16", values(64 * 48, 5))),
        ("blk.1.ffn_up.weight", [256, 12], 16, gguf_blocks("IQ2_XXS", 12, 6)),
    ]
    write_gguf_tensors(path, keys, tensors)


LAYERS = 3
# Rows of 48 do not fit 32-element blocks: the fallback has to step in.
SHAPES = {
    "self_attn.q_proj.weight": [64, 64],
    "self_attn.k_proj.weight": [64, 64],
    "mlp.up_proj.weight": [48, 64],
    "mlp.down_proj.weight": [64, 48],
}


def tiny_tensors():
    """A model with every kind of weight that the commands treat differently."""
    tensors = [("model.embed_tokens.weight", "BF16", [40, 64])]
    for layer in range(LAYERS):
        for name, shape in SHAPES.items():
            tensors.append((f"model.layers.{layer}.{name}", "BF16", shape))
        tensors.append((f"model.layers.{layer}.input_layernorm.weight", "F32", [64]))
    tensors.append(("model.position_ids", "I64", [1, 16]))
    tensors.append(("model.empty", "F32", [0, 64]))
    tensors.append(("model.scale", "F32", []))
    out = []
    for seed, (name, dtype, shape) in enumerate(tensors, 1):
        count = elements(shape)
        numbers = list(range(count)) if dtype == "I64" else values(count, seed)
        out.append((name, dtype, shape, numbers))
    return out


MIXED = """\
[myelin]
formats = ["bf16"]

[policies."*"]
fallback = "f16"

[[policies."*".schemes]]
format = "f32"

[[policies."model.embed_tokens.weight".schemes]]
format = "f16"

[[policies."model.layers.*.self_attn.*.weight".schemes]]
format = "q8_0"

[[policies."model.layers.*.mlp.*.weight".schemes]]
format = "q4_0"
"""

F16 = """\
[myelin]
formats = ["bf16"]

[[policies."*".schemes]]
format = "f16"
"""

Q8_STRICT = """\
[myelin]
formats = ["bf16"]

[[policies."*".schemes]]
format = "q8_0"
"""

AMBIGUOUS = """\
[myelin]
formats = ["bf16"]

[[policies."*".schemes]]
format = "f32"

[[policies."model.*.*.self_attn".schemes]]
format = "f16"

[[policies."model.layers.*.*.q_proj".schemes]]
format = "q8_0"
"""

UNMATCHED = F16 + """
[[policies."model.layers.*.mpl".schemes]]
format = "q8_0"
"""

NARROW = """\
[[policies."model".schemes]]
format = "f32"
"""

LAYERED = """\
extends = "mixed.toml"

[[policies."model.layers.*.mlp.*.weight".schemes]]
format = "q8_0"

[[policies."model.layers.*.mlp".schemes]]
format = "f16"

[[policies."model.layers.0.mlp.*.weight".schemes]]
format = "bf16"

[[policies."model.layers.*.self_attn".schemes]]
scope = "internal"
lifetime = "session"
update = "region"
format = "f16"

[[policies."model.layers.{1..2}.self_attn".schemes]]
scope = "internal"
lifetime = "session"
update = "region"
format = "q8_0"

[groups.qk]
paths = "model.layers.*.self_attn.{q,k}_proj"
"""

GGUF = """\
[myelin]
formats = ["f16", "q8_0"]

[[policies."*".schemes]]
format = "keep"

[[policies."token_embd.weight".schemes]]
format = "f16"

[[policies."blk.*.attn_q.weight".schemes]]
format = "q4_0"

[[policies."blk.0.ffn_up.weight".schemes]]
format = "q8_0"
"""

GGUF_Q8 = """\
[[policies."*".schemes]]
format = "q8_0"
"""

# For GGUF output: a form that the file has no place for, and formats that it has no type for.
GGUF_OUT = """\
[myelin]
formats = ["q8_0", "q4_0"]

[policies."*"]
dtype = "bf16"

[[policies."*".schemes]]
format = "keep"

[[policies."blk.*.attn_q.weight".schemes]]
format = "q5_1"

[policies."output_norm".form]
residency = "heap"

[[policies."token_embd.weight".schemes]]
format = "q6_k"

[policies."token_embd"]
fallback = "bf16"
"""

GGUF_FLAT = """\
[myelin]
formats = ["f16"]

[policies."*"]
fallback = "f16"

[[policies."*".schemes]]
format = "q8_0"

[[policies."rope_freqs.weight".schemes]]
format = "keep"
"""

GGUF_TERNARY = """\
[myelin]
formats = ["f16", "q4_0"]

[[policies."*".schemes]]
format = "keep"

[[policies."blk.*.attn_q.weight".schemes]]
format = "ternary"

[policies."blk.0.ffn_up.weight"]
fallback = "ternary:planes"

[[policies."blk.0.ffn_up.weight".schemes]]
format = "ternary:tq2_0"

[policies."output_norm".form]
compress = "zstd"
"""

FP8 = """\
[myelin]
formats = ["f8_e4m3"]

[policies."*"]
fallback = "keep"

[[policies."*".schemes]]
format = "q8_0"

[[policies."model.layers.1.mlp.up_proj.weight".schemes]]
format = "keep"
"""

FEED = """\
extends = "mixed.toml"

[policies."model.layers.*.mlp".form]
order = "kernel_feed"
"""

UNFED = FEED + """
[[policies."model.layers.*.mlp.up_proj.weight".schemes]]
format = "q5_1"
"""

GGUF_FEED = """\
extends = "gguf_out.toml"

[policies."blk".form]
order = "kernel_feed"
"""

KEEP = """\
[[policies."*".schemes]]
format = "keep"
"""

POLICIES = {
    "fp8.toml": FP8,
    "keep_all.toml": KEEP,
    "keep_scales.toml": KEEP + """
[policies."**.scale_weight"]
dtype = "f32"
""",
    "keep_named.toml": KEEP + """
[[policies."model.layers.0.mlp.gate_proj.weight_scale".schemes]]
format = "keep"
""",
    "fp8_scale.toml": FP8 + """
[[policies."**.scale_weight".schemes]]
format = "f16"
""",
    "gguf.toml": GGUF,
    "gguf_out.toml": GGUF_OUT,
    "gguf_flat.toml": GGUF_FLAT,
    "gguf_ternary.toml": GGUF_TERNARY,
    "gguf_q8.toml": GGUF_Q8,
    "gguf_feed.toml": GGUF_FEED,
    "feed.toml": FEED,
    "unfed.toml": UNFED,
    "layered.toml": LAYERED,
    "narrow.toml": NARROW,
    "mixed.toml": MIXED,
    "f16.toml": F16,
    "q8_strict.toml": Q8_STRICT,
    "ambiguous.toml": AMBIGUOUS,
    "unmatched.toml": UNMATCHED,
    "broken.toml": "[policies.\"*\"]\ndtyp = \"f32\"\n",
}


def fp8_tensors():
    """8-bit floats (as codes) with scales of every form, one without, and a scale of activations."""
    tensors = []
    codes = lambda count: [i * 37 % 126 + i % 2 * 128 for i in range(count)]
    for i in range(2):
        attention, mlp = f"model.layers.{i}.self_attn.", f"model.layers.{i}.mlp."
        tensors += [
            (attention + "q_proj.weight", "F8_E4M3", [192, 160], codes(192 * 160)),
            (attention + "q_proj.weight_scale_inv", "F32", [2, 2], [0.5, 0.25, 0.125, 2]),
            (attention + "k_proj.weight", "F8_E4M3", [32, 160], codes(32 * 160)),
            (attention + "k_scale", "F32", [], [0.5]),
            (mlp + "up_proj.weight", "F8_E4M3", [64, 160], codes(64 * 160)),
            (mlp + "up_proj.weight_scale", "BF16", [64, 1], [0.5] * 64),
            (mlp + "down_proj.weight", "F8_E4M3", [160, 64], codes(160 * 64)),
            (mlp + "down_proj.scale_weight", "F32", [], [0.25]),
        ]
    return tensors + [("model.norm.weight", "F32", [160], values(160, 9))]


def gptq_tensors():
    tensors = []
    for i in range(2):
        for name in ("down_proj", "up_proj"):
            module = f"model.layers.{i}.mlp.{name}."
            tensors += [
                (module + "qweight", "I32", [8, 64], [i] * 8 * 64),
                (module + "qzeros", "I32", [2, 8], [7] * 16),
                (module + "scales", "F16", [2, 64], [0.5] * 128),
                (module + "g_idx", "I32", [64], [j // 32 for j in range(64)]),
            ]
    return tensors + [("model.norm.weight", "F32", [64], values(64, 9))]


def write_folder(path, tensors, metadata):
    """A Hugging Face folder: two shards and their index."""
    os.mkdir(path)
    half = len(tensors) // 2
    names = {}
    for i, part in enumerate([tensors[:half], tensors[half:]], 1):
        shard = f"model-{i:05}-of-00002.safetensors"
        write_safetensors(os.path.join(path, shard), part, metadata)
        names.update({tensor[0]: shard for tensor in part})
    with open(os.path.join(path, "model.safetensors.index.json"), "w") as out:
        json.dump({"metadata": {}, "weight_map": names}, out)


def fill(folder):
    """Everything that the cases use, in `folder`."""
    join = lambda name: os.path.join(folder, name)
    write_safetensors(join("tiny.safetensors"), tiny_tensors(), {"format": "pt"})
    write_folder(join("sharded"), tiny_tensors(), {"format": "pt"})
    write_safetensors(
        join("huge_values.safetensors"), [("w", "F32", [2, 32], [1e9] * 3 + [0.5] * 61)]
    )
    write_safetensors(
        join("small_values.safetensors"), [("w", "F32", [2, 32], [1e-9] * 3 + [0.5] * 61)]
    )
    write_gguf(join("tiny.gguf"))
    write_llama_gguf(join("llama.gguf"))
    os.mkdir(join("parts"))
    with open(join("config.json"), "w", encoding="utf-8") as file:
        file.write('{"architectures": ["LlamaForCausalLM"]}\n')
    write_safetensors(join("fp8.safetensors"), fp8_tensors())
    misfit = ("model.layers.0.mlp.gate_proj.weight_scale", "F32", [160], [1] * 160)
    gate = ("model.layers.0.mlp.gate_proj.weight", "F8_E4M3", [64, 160], [1] * 64 * 160)
    write_safetensors(join("misfit.safetensors"), fp8_tensors() + [gate, misfit])
    orphan = ("model.layers.0.mlp.gate_proj.weight_scale", "F32", [], [1])
    write_safetensors(join("orphan.safetensors"), fp8_tensors() + [orphan])
    second = ("model.layers.0.mlp.up_proj.scale_weight", "F32", [], [1])
    write_safetensors(join("second.safetensors"), fp8_tensors() + [second])
    write_safetensors(join("gptq.safetensors"), gptq_tensors())
    for name, text in POLICIES.items():
        with open(join(name), "w") as out:
            out.write(text)
    with open(join("junk"), "wb") as out:
        out.write(b"junk")
