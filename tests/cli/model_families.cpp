#include "model_families.h"

namespace synps::cli {
namespace {

Family llama() {
  Family f("llama", DType::bf16);
  const std::string layer = "model.layers.#.";
  f.add("model.embed_tokens.weight", {32000, 512}, "embedding");
  f.add(layer + "self_attn.q_proj.weight", {512, 512}, "attention");
  f.add(layer + "self_attn.k_proj.weight", {128, 512}, "attention");
  f.add(layer + "self_attn.v_proj.weight", {128, 512}, "attention");
  f.add(layer + "self_attn.o_proj.weight", {512, 512}, "attention");
  f.add(layer + "self_attn.q_norm.weight", {64}, "norm");
  f.add(layer + "mlp.gate_proj.weight", {1408, 512}, "feed_forward");
  f.add(layer + "mlp.up_proj.weight", {1408, 512}, "feed_forward");
  f.add(layer + "mlp.down_proj.weight", {512, 1408}, "feed_forward");
  f.add(layer + "input_layernorm.weight", {512}, "norm");
  f.add(layer + "post_attention_layernorm.weight", {512}, "norm");
  f.add("model.norm.weight", {512}, "norm");
  f.add("lm_head.weight", {32000, 512}, "head");
  f.dtype(DType::f32).add(layer + "self_attn.rotary_emb.inv_freq", {32}, "vector");
  return f;
}

/// The checkpoint as first released, without the names of a library around it.
Family original_llama() {
  Family f("original llama", DType::f16);
  f.add("tok_embeddings.weight", {32000, 512}, "embedding");
  f.add("layers.#.attention.wq.weight", {512, 512}, "attention");
  f.add("layers.#.attention.wo.weight", {512, 512}, "attention");
  f.add("layers.#.feed_forward.w1.weight", {1408, 512}, "feed_forward");
  f.add("layers.#.feed_forward.w2.weight", {512, 1408}, "feed_forward");
  f.add("layers.#.attention_norm.weight", {512}, "norm");
  f.add("layers.#.ffn_norm.weight", {512}, "norm");
  f.add("norm.weight", {512}, "norm");
  f.add("output.weight", {32000, 512}, "head");
  f.add("rope.freqs", {64}, "vector");
  return f;
}

Family gpt2() {
  Family f("gpt2", DType::f32);
  f.add("wte.weight", {50257, 768}, "embedding").add("wpe.weight", {1024, 768}, "embedding");
  f.add("h.#.ln_1.weight", {768}, "norm").add("h.#.ln_1.bias", {768}, "norm");
  f.add("h.#.ln_2.weight", {768}, "norm");
  f.add("h.#.attn.c_attn.weight", {768, 2304}, "attention");
  f.add("h.#.attn.c_attn.bias", {2304}, "bias");
  f.add("h.#.attn.c_proj.weight", {768, 768}, "attention");
  f.add("h.#.mlp.c_fc.weight", {768, 3072}, "feed_forward");
  f.add("h.#.mlp.c_proj.weight", {3072, 768}, "feed_forward");
  f.add("ln_f.weight", {768}, "norm");
  f.add("h.#.attn.bias", {1, 1, 1024, 1024}, "mask").add("h.#.attn.masked_bias", {}, "mask");
  f.dtype(DType::boolean).add("h.#.attn.causal", {1, 1, 1024, 1024}, "not_float");
  return f;
}

Family bert() {
  Family f("bert", DType::f32);
  const std::string layer = "bert.encoder.layer.#.";
  f.add("bert.embeddings.word_embeddings.weight", {30522, 384}, "embedding");
  f.add("bert.embeddings.position_embeddings.weight", {512, 384}, "embedding");
  f.add("bert.embeddings.token_type_embeddings.weight", {2, 384}, "embedding");
  f.add("bert.embeddings.LayerNorm.weight", {384}, "norm");
  f.add("bert.embeddings.LayerNorm.gamma", {384}, "norm");
  f.add(layer + "attention.self.query.weight", {384, 384}, "attention");
  f.add(layer + "attention.self.query.bias", {384}, "bias");
  f.add(layer + "attention.output.dense.weight", {384, 384}, "attention");
  f.add(layer + "attention.output.LayerNorm.bias", {384}, "norm");
  f.add(layer + "intermediate.dense.weight", {1536, 384}, "feed_forward");
  f.add(layer + "output.dense.weight", {384, 1536}, "feed_forward");
  f.add("bert.pooler.dense.weight", {384, 384}, "matrix");
  f.add("cls.predictions.decoder.weight", {30522, 384}, "head");
  f.add("cls.predictions.bias", {30522}, "bias");
  f.add("classifier.weight", {3, 384}, "head");
  f.dtype(DType::i64).add("bert.embeddings.position_ids", {1, 512}, "not_float");
  return f;
}

Family t5() {
  Family f("t5", DType::f32);
  f.add("shared.weight", {32128, 512}, "embedding");
  f.add("encoder.block.#.layer.0.SelfAttention.q.weight", {384, 512}, "attention");
  f.add("encoder.block.#.layer.0.SelfAttention.o.weight", {512, 384}, "attention");
  f.add("encoder.block.#.layer.0.layer_norm.weight", {512}, "norm");
  f.add("encoder.block.0.layer.0.SelfAttention.relative_attention_bias.weight", {32, 6}, "bias");
  f.add("encoder.block.#.layer.1.DenseReluDense.wi_0.weight", {1024, 512}, "feed_forward");
  f.add("encoder.block.#.layer.1.DenseReluDense.wo.weight", {512, 1024}, "feed_forward");
  f.add("decoder.block.#.layer.1.EncDecAttention.k.weight", {384, 512}, "attention");
  f.add("encoder.final_layer_norm.weight", {512}, "norm");
  f.add("lm_head.weight", {32128, 512}, "head");
  return f;
}

Family neox() {
  Family f("gpt-neox", DType::f16);
  const std::string layer = "gpt_neox.layers.#.";
  f.add("gpt_neox.embed_in.weight", {50432, 512}, "embedding");
  f.add(layer + "attention.query_key_value.weight", {1536, 512}, "attention");
  f.add(layer + "attention.query_key_value.bias", {1536}, "bias");
  f.add(layer + "attention.dense.weight", {512, 512}, "attention");
  f.add(layer + "mlp.dense_h_to_4h.weight", {2048, 512}, "feed_forward");
  f.add(layer + "mlp.dense_4h_to_h.weight", {512, 2048}, "feed_forward");
  f.add(layer + "input_layernorm.bias", {512}, "norm");
  f.add("gpt_neox.final_layer_norm.weight", {512}, "norm");
  f.add("embed_out.weight", {50432, 512}, "head");
  return f;
}

Family falcon() {
  Family f("falcon", DType::bf16);
  f.add("transformer.word_embeddings.weight", {65024, 512}, "embedding");
  f.add("transformer.h.#.self_attention.query_key_value.weight", {640, 512}, "attention");
  f.add("transformer.h.#.self_attention.dense.weight", {512, 512}, "attention");
  f.add("transformer.h.#.mlp.dense_h_to_4h.weight", {2048, 512}, "feed_forward");
  f.add("transformer.h.#.ln_attn.weight", {512}, "norm");
  f.add("transformer.ln_f.bias", {512}, "norm");
  return f;
}

Family mixtral() {
  Family f("mixtral", DType::bf16);
  const std::string layer = "model.layers.#.";
  f.add("model.embed_tokens.weight", {32000, 512}, "embedding");
  f.add(layer + "self_attn.q_proj.weight", {512, 512}, "attention");
  f.add(layer + "block_sparse_moe.gate.weight", {8, 512}, "router");
  f.add(layer + "block_sparse_moe.experts.#.w1.weight", {1792, 512}, "expert");
  f.add(layer + "block_sparse_moe.experts.#.w2.weight", {512, 1792}, "expert");
  f.add(layer + "input_layernorm.weight", {512}, "norm");
  f.add("lm_head.weight", {32000, 512}, "head");
  return f;
}

Family qwen_moe() {
  Family f("qwen moe", DType::bf16);
  const std::string layer = "model.layers.#.";
  f.experts(16);
  f.add("model.embed_tokens.weight", {151936, 256}, "embedding");
  f.add(layer + "self_attn.q_proj.bias", {256}, "bias");
  f.add(layer + "self_attn.q_proj.weight", {256, 256}, "attention");
  f.add(layer + "mlp.gate.weight", {16, 256}, "router");
  f.add(layer + "mlp.experts.#.gate_proj.weight", {128, 256}, "expert");
  f.add(layer + "mlp.experts.#.down_proj.weight", {256, 128}, "expert");
  f.add(layer + "mlp.shared_expert.up_proj.weight", {512, 256}, "expert");
  f.add(layer + "mlp.shared_expert_gate.weight", {1, 256}, "vector");
  f.add("lm_head.weight", {151936, 256}, "head");
  return f;
}

/// Blocks of FP8 with a scale a block; the first layer is dense.
Family deepseek() {
  Family f("deepseek", DType::bf16);
  const std::string layer = "model.layers.#.";
  f.add("model.embed_tokens.weight", {129280, 256}, "embedding");
  f.add("model.layers.0.mlp.up_proj.weight", {512, 256}, "feed_forward");
  f.add(layer + "self_attn.kv_b_proj.weight", {256, 64}, "attention");
  f.add(layer + "self_attn.kv_a_layernorm.weight", {64}, "norm");
  f.layers(1, 3);
  f.add(layer + "mlp.gate.weight", {8, 256}, "router");
  f.add(layer + "mlp.gate.e_score_correction_bias", {8}, "bias");
  f.dtype(DType::f8_e4m3).add(layer + "mlp.experts.#.up_proj.weight", {128, 256}, "expert");
  f.dtype(DType::f32).add(layer + "mlp.experts.#.up_proj.weight_scale_inv", {1, 2}, "scale");
  f.dtype(DType::bf16).add("lm_head.weight", {129280, 256}, "head");
  return f;
}

Family gpt_oss() {
  Family f("stacked experts", DType::bf16);
  const std::string layer = "model.layers.#.";
  f.add("model.embed_tokens.weight", {201088, 288}, "embedding");
  f.add(layer + "self_attn.sinks", {64}, "vector");
  f.add(layer + "self_attn.q_proj.weight", {512, 288}, "attention");
  f.add(layer + "mlp.router.weight", {32, 288}, "router");
  f.add(layer + "mlp.experts.gate_up_proj", {32, 288, 576}, "expert");
  f.add(layer + "mlp.experts.gate_up_proj_bias", {32, 576}, "bias");
  f.add("model.norm.weight", {288}, "norm");
  return f;
}

Family phi() {
  Family f("phi", DType::f16);
  f.add("model.embed_tokens.weight", {51200, 512}, "embedding");
  f.add("model.layers.#.self_attn.dense.weight", {512, 512}, "attention");
  f.add("model.layers.#.self_attn.qkv_proj.weight", {1536, 512}, "attention");
  f.add("model.layers.#.mlp.fc1.weight", {2048, 512}, "feed_forward");
  f.add("model.layers.#.mlp.fc1.bias", {2048}, "bias");
  f.add("model.final_layernorm.weight", {512}, "norm");
  f.add("lm_head.weight", {51200, 512}, "head").add("lm_head.bias", {51200}, "bias");
  return f;
}

Family whisper() {
  Family f("whisper", DType::f32);
  const std::string layer = "model.decoder.layers.#.";
  f.add("model.encoder.conv1.weight", {384, 80, 3}, "convolution");
  f.add("model.encoder.conv1.bias", {384}, "bias");
  f.add("model.encoder.embed_positions.weight", {1500, 384}, "embedding");
  f.add("model.decoder.embed_tokens.weight", {51865, 384}, "embedding");
  f.add(layer + "encoder_attn.k_proj.weight", {384, 384}, "attention");
  f.add(layer + "encoder_attn_layer_norm.weight", {384}, "norm");
  f.add(layer + "fc1.weight", {1536, 384}, "feed_forward");
  f.add("model.decoder.layer_norm.bias", {384}, "norm");
  f.add("proj_out.weight", {51865, 384}, "head");
  return f;
}

Family vit() {
  Family f("vision transformer", DType::f32);
  const std::string layer = "vit.encoder.layer.#.";
  f.add("vit.embeddings.cls_token", {1, 1, 192}, "vector");
  f.add("vit.embeddings.position_embeddings", {1, 197, 192}, "embedding");
  f.add("vit.embeddings.patch_embeddings.projection.weight", {192, 3, 16, 16}, "convolution");
  f.add(layer + "attention.attention.key.weight", {192, 192}, "attention");
  f.add(layer + "layernorm_before.weight", {192}, "norm");
  f.add(layer + "intermediate.dense.weight", {768, 192}, "feed_forward");
  f.add("classifier.weight", {1000, 192}, "head");
  return f;
}

Family clip() {
  Family f("clip", DType::f16);
  const std::string layer = "vision_model.encoder.layers.#.";
  f.add("text_model.embeddings.token_embedding.weight", {49408, 512}, "embedding");
  f.add("vision_model.embeddings.class_embedding", {768}, "vector");
  f.add("vision_model.embeddings.patch_embedding.weight", {768, 3, 32, 32}, "convolution");
  f.add(layer + "self_attn.out_proj.weight", {768, 768}, "attention");
  f.add(layer + "mlp.fc2.weight", {768, 3072}, "feed_forward");
  f.add(layer + "layer_norm1.weight", {768}, "norm");
  f.add("vision_model.pre_layrnorm.weight", {768}, "norm");
  f.add("visual_projection.weight", {512, 768}, "matrix");
  f.add("logit_scale", {}, "scale");
  return f;
}

Family gguf() {
  Family f("gguf names", DType::f16);
  f.add("token_embd.weight", {32000, 512}, "embedding");
  f.add("blk.#.attn_q.weight", {512, 512}, "attention");
  f.add("blk.#.attn_output.weight", {512, 512}, "attention");
  f.add("blk.#.attn_norm.weight", {512}, "norm");
  f.add("blk.#.ffn_gate_inp.weight", {8, 512}, "router");
  f.add("blk.#.ffn_down_exps.weight", {8, 512, 1024}, "expert");
  f.add("blk.#.ffn_up.weight", {1024, 512}, "feed_forward");
  f.add("output_norm.weight", {512}, "norm");
  f.add("output.weight", {32000, 512}, "head");
  return f;
}

Family mamba() {
  Family f("mamba", DType::f32);
  const std::string layer = "backbone.layers.#.mixer.";
  f.add("backbone.embedding.weight", {50280, 384}, "embedding");
  f.add(layer + "in_proj.weight", {1536, 384}, "matrix");
  f.add(layer + "conv1d.weight", {768, 1, 4}, "convolution");
  f.add(layer + "conv1d.bias", {768}, "bias");
  f.add(layer + "A_log", {768, 16}, "vector").add(layer + "D", {768}, "vector");
  f.add(layer + "dt_proj.bias", {768}, "bias");
  f.add("backbone.norm_f.weight", {384}, "norm");
  return f;
}

Family unet() {
  Family f("diffusion unet", DType::f16);
  const std::string block = "down_blocks.0.attentions.#.transformer_blocks.0.";
  f.add("conv_in.weight", {320, 4, 3, 3}, "convolution");
  f.add("time_embedding.linear_1.weight", {1280, 320}, "matrix");
  f.add("down_blocks.0.resnets.#.conv1.weight", {320, 320, 3, 3}, "convolution");
  f.add("down_blocks.0.resnets.#.time_emb_proj.weight", {320, 1280}, "matrix");
  f.add("down_blocks.0.resnets.#.norm1.weight", {320}, "norm");
  f.add(block + "attn1.to_q.weight", {320, 320}, "attention");
  f.add(block + "ff.net.0.proj.weight", {2560, 320}, "feed_forward");
  f.add(block + "norm1.bias", {320}, "norm");
  return f;
}

Family resnet() {
  Family f("resnet", DType::f32);
  f.add("conv1.weight", {64, 3, 7, 7}, "convolution");
  f.add("bn1.weight", {64}, "norm").add("bn1.running_var", {64}, "norm");
  f.add("layer1.#.conv2.weight", {64, 64, 3, 3}, "convolution");
  f.add("layer1.#.bn2.bias", {64}, "norm");
  f.add("layer2.0.downsample.1.running_mean", {128}, "norm");
  f.add("fc.weight", {1000, 512}, "feed_forward").add("fc.bias", {1000}, "bias");
  f.dtype(DType::i64).add("bn1.num_batches_tracked", {}, "not_float");
  return f;
}

/// Names that tell nothing: shapes are all there is.
Family anonymous() {
  Family f("anonymous", DType::f32);
  f.layers(0, 5);
  f.add("a.b.0", {50000, 512}, "embedding");
  f.add("x.#.0", {512, 512}, "matrix").add("x.#.1", {2048, 512}, "matrix");
  f.add("x.#.2", {512}, "vector").add("x.#.3", {16, 512, 3, 3}, "convolution");
  f.add("y", {}, "vector");
  return f;
}

}  // namespace

std::vector<Family> model_families() {
  return {llama(),   original_llama(), gpt2(),     bert(),    t5(),     neox(),     falcon(),
          mixtral(), qwen_moe(),       deepseek(), gpt_oss(), phi(),    vit(),      whisper(),
          clip(),    gguf(),           mamba(),    unet(),    resnet(), anonymous()};
}

}  // namespace synps::cli
