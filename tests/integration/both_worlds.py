"""One policy file for two checkpoints of one small model, in safetensors with the names of
Hugging Face and in GGUF with those of llama.cpp: the artifacts' weights decode to the same values.

The standard library alone; who calls check() says how the GGUF file is written.
"""

import json
import os
import random
import struct

from support import file_tensors, synps, synps_json, write_text

LAYERS, HIDDEN, INNER, VOCABULARY = 3, 256, 512, 320

# Name in safetensors, in GGUF, and the weight's shape; # is the layer.
NAMES = [
    ("model.embed_tokens.weight", "token_embd.weight", [VOCABULARY, HIDDEN]),
    ("model.layers.#.input_layernorm.weight", "blk.#.attn_norm.weight", [HIDDEN]),
    ("model.layers.#.self_attn.v_proj.weight", "blk.#.attn_v.weight", [HIDDEN, HIDDEN]),
    ("model.layers.#.self_attn.o_proj.weight", "blk.#.attn_output.weight", [HIDDEN, HIDDEN]),
    ("model.layers.#.mlp.gate_proj.weight", "blk.#.ffn_gate.weight", [INNER, HIDDEN]),
    ("model.layers.#.mlp.up_proj.weight", "blk.#.ffn_up.weight", [INNER, HIDDEN]),
    ("model.layers.#.mlp.down_proj.weight", "blk.#.ffn_down.weight", [HIDDEN, INNER]),
    ("lm_head.weight", "output.weight", [VOCABULARY, HIDDEN]),
]

# Both names, and what the policy says of them.
FORMATS = [
    ("model.embed_tokens", "token_embd", "q8_0"),
    ("model.layers.*.input_layernorm", "blk.*.attn_norm", "keep"),
    ("model.layers.*.self_attn.v_proj.weight", "blk.*.attn_v.weight", "f16"),
    ("model.layers.*.self_attn.o_proj.weight", "blk.*.attn_output.weight", "ternary"),
    ("model.layers.*.mlp.gate_proj.weight", "blk.*.ffn_gate.weight", "q4_0"),
    ("model.layers.*.mlp.up_proj.weight", "blk.*.ffn_up.weight", "ternary:tq2_0"),
    ("model.layers.*.mlp.down_proj.weight", "blk.*.ffn_down.weight", "q8_0"),
    ("model.layers.2.mlp.down_proj.weight", "blk.2.ffn_down.weight", "ternary:absmean"),
    ("lm_head", "output", "q6_k"),
]


def policy_text():
    text = '[myelin]\nformats = ["f16"]\n\n[[policies."*".schemes]]\nformat = "f32"\n'
    for *patterns, format_ in FORMATS:
        for pattern in patterns:
            text += f'\n[policies."{pattern}"]\noptional = true\n'
            text += f'[[policies."{pattern}".schemes]]\nformat = "{format_}"\n'
    return text


def weights():
    """(name in safetensors, name in GGUF, shape, values that f16 holds)"""
    generator = random.Random(5)
    for name, gguf_name, shape in NAMES:
        for layer in range(LAYERS if "#" in name else 1):
            count = 1
            for extent in shape:
                count *= extent
            values = [generator.gauss(0, 0.05) for _ in range(count)]
            halves = struct.unpack(f"<{count}e", struct.pack(f"<{count}e", *values))
            yield name.replace("#", str(layer)), gguf_name.replace("#", str(layer)), shape, halves


def write_safetensors(path):
    header, data = {}, b""
    for name, _, shape, values in weights():
        block = struct.pack(f"<{len(values)}e", *values)
        header[name] = {
            "dtype": "F16",
            "shape": shape,
            "data_offsets": [len(data), len(data) + len(block)],
        }
        data += block
    text = json.dumps(header).encode()
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def as_floats(dtype, data):
    code, size = {"F16": ("e", 2), "F32": ("f", 4)}[dtype]
    return struct.unpack(f"<{len(data) // size}{code}", data)


def decoded(folder, checkpoint, policy):
    """Packs, verifies, and returns name -> (shape, values as the artifact decodes them)."""
    artifact = os.path.join(folder, "packed.synps")
    plain = os.path.join(folder, "plain.safetensors")
    synps("check", checkpoint, "-p", policy)
    synps("pack", checkpoint, "-p", policy, "-o", artifact, "--force")
    report = synps_json("verify", artifact, "--against", checkpoint)
    assert report["ok"], report["problems"]
    codecs = {weight["path"]: weight["codec"] for weight in synps_json("inspect", artifact)["weights"]}
    synps("unpack", artifact, "-o", plain, "--force")
    values = {
        name: (shape, as_floats(dtype, data))
        for name, (dtype, shape, data) in file_tensors(plain).items()
        if not name.startswith("gguf.")
    }
    return codecs, values


def check(folder, write_gguf):
    """`write_gguf(path, tensors)` writes (name, shape, values); those of one dimension as F32, as
    converters do, the others as F16."""
    policy = write_text(os.path.join(folder, "both.toml"), policy_text())
    safetensors = os.path.join(folder, "model.safetensors")
    gguf = os.path.join(folder, "model.gguf")
    write_safetensors(safetensors)
    write_gguf(gguf, [(name, shape, values) for _, name, shape, values in weights()])
    codecs, ours = decoded(folder, safetensors, policy)
    gguf_codecs, theirs = decoded(folder, gguf, policy)
    names = [(name, gguf_name) for name, gguf_name, *_ in weights()]
    assert set(ours) == {name for name, _ in names}, sorted(ours)
    assert set(theirs) == {name for _, name in names}, sorted(theirs)
    for name, gguf_name in names:
        assert ours[name] == theirs[gguf_name], name
        if "norm" not in name:  # kept in each in its own dtype
            assert codecs[name] == gguf_codecs[gguf_name], name
    used = set(codecs.values())
    assert {"q8_0:q8_0", "q4_0:q4_0", "ternary:ternary", "ternary:tq2_0", "ternary:absmean",
            "q6_k:q6_k", "f16:f16"} <= used, used
    return len(names)
