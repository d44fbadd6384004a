"""Tiny checkpoints and policies, made with the standard library only."""

import json
import os
import struct

BITS = {"F32": 32, "F16": 16, "BF16": 16, "I64": 64, "BOOL": 8}


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
    kind = {"F32": "f", "F16": "e", "I64": "q", "BOOL": "?"}[dtype]
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

POLICIES = {
    "layered.toml": LAYERED,
    "narrow.toml": NARROW,
    "mixed.toml": MIXED,
    "f16.toml": F16,
    "q8_strict.toml": Q8_STRICT,
    "ambiguous.toml": AMBIGUOUS,
    "unmatched.toml": UNMATCHED,
    "broken.toml": "[policies.\"*\"]\ndtyp = \"f32\"\n",
}


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
    for name, text in POLICIES.items():
        with open(join(name), "w") as out:
            out.write(text)
    with open(join("junk"), "wb") as out:
        out.write(b"junk")
