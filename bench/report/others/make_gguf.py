"""Makes a GGUF model of the Llama architecture of a checkpoint that bench/make_checkpoint.cpp made.

make_gguf.py INPUT OUTPUT

The matrices keep their dtype; norms become f32, as is usual there. The vocabulary is empty: quantizing
needs none."""

import re
import sys

import gguf
import numpy as np
from safetensors_file import SafetensorsFile

NAMES = {
    "model.embed_tokens": "token_embd",
    "lm_head": "output",
    "model.norm": "output_norm",
    "input_layernorm": "attn_norm",
    "post_attention_layernorm": "ffn_norm",
    "self_attn.q_proj": "attn_q",
    "self_attn.k_proj": "attn_k",
    "self_attn.v_proj": "attn_v",
    "self_attn.o_proj": "attn_output",
    "mlp.gate_proj": "ffn_gate",
    "mlp.up_proj": "ffn_up",
    "mlp.down_proj": "ffn_down",
}
TYPES = {
    "F32": gguf.GGMLQuantizationType.F32,
    "F16": gguf.GGMLQuantizationType.F16,
    "BF16": gguf.GGMLQuantizationType.BF16,
}
HEAD = 64  # elements


def gguf_name(name):
    name = name[: -len(".weight")]
    layer = re.fullmatch(r"model\.layers\.(\d+)\.(.+)", name)
    if layer:
        return f"blk.{layer[1]}.{NAMES[layer[2]]}.weight"
    return f"{NAMES[name]}.weight"


def add_facts(writer, tensors):
    vocabulary, hidden = tensors.entries["model.embed_tokens.weight"]["shape"]
    layers = sum(name.endswith("q_proj.weight") for name in tensors.entries)
    inner = hidden
    if layers:
        inner = tensors.entries["model.layers.0.mlp.up_proj.weight"]["shape"][0]
    writer.add_block_count(layers)
    writer.add_context_length(2048)
    writer.add_embedding_length(hidden)
    writer.add_feed_forward_length(inner)
    writer.add_head_count(hidden // HEAD)
    writer.add_head_count_kv(hidden // HEAD)
    writer.add_layer_norm_rms_eps(1e-5)
    writer.add_rope_dimension_count(HEAD)
    writer.add_vocab_size(vocabulary)
    writer.add_tokenizer_model("none")


def main():
    source, output = sys.argv[1:]
    tensors = SafetensorsFile(source)
    writer = gguf.GGUFWriter(output, "llama")
    add_facts(writer, tensors)
    for name, entry in tensors.entries.items():
        if len(entry["shape"]) < 2:
            writer.add_tensor(gguf_name(name), tensors.values(name))
        else:
            stored = tensors.stored(name)
            if entry["dtype"] == "BF16":  # as bytes, which gguf wants for what numpy has not
                stored = stored.view(np.uint8)
            writer.add_tensor(gguf_name(name), stored, raw_dtype=TYPES[entry["dtype"]])
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


main()
