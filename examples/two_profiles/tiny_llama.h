#pragma once

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "synps/artifact.h"

namespace example {

/// The forward pass of a llama, as far as examples/tiny-llama needs it: one token after the other,
/// all products with weights by WeightView::matvec(). It knows nothing of codecs, orders or
/// residency.
class TinyLlama {
 public:
  explicit TinyLlama(const synps::Artifact& model, synps::Executor* executor = nullptr)
      : model_(model), executor_(executor), hidden_(weight("model.norm.weight").shape().columns()) {
    while (model_.contains(layer_path(layers_) + "input_layernorm.weight")) ++layers_;
    keys_.resize(layers_);
    values_.resize(layers_);
  }

  /// Takes the next token, and gives the logits of what follows it.
  std::vector<float> next(std::size_t token) {
    std::vector<float> x(hidden_);
    weight("model.embed_tokens.weight").decode({token, 1}, x);
    for (std::size_t layer = 0; layer < layers_; ++layer) {
      const std::string path = layer_path(layer);
      add(x, attention(layer, norm(x, path + "input_layernorm.weight")));
      add(x, mlp(path + "mlp.", norm(x, path + "post_attention_layernorm.weight")));
    }
    ++position_;
    return product("lm_head.weight", norm(x, "model.norm.weight"));
  }

 private:
  // Of config.json: head_dim, rms_norm_eps and rope_theta.
  static constexpr std::size_t kHead = 32;
  static constexpr float kEpsilon = 1e-5f;
  static constexpr float kTheta = 10000.0f;

  synps::WeightView weight(const std::string& path) const { return model_[path]; }
  static std::string layer_path(std::size_t layer) {
    return "model.layers." + std::to_string(layer) + ".";
  }

  std::vector<float> product(const std::string& path, const std::vector<float>& x) const {
    const synps::WeightView w = weight(path);
    std::vector<float> y(w.shape().rows());
    w.matvec(x, y, executor_);
    return y;
  }

  static void add(std::vector<float>& x, const std::vector<float>& y) {
    for (std::size_t i = 0; i < x.size(); ++i) x[i] += y[i];
  }

  std::vector<float> norm(const std::vector<float>& x, const std::string& path) const {
    std::vector<float> y = weight(path).decode();
    float sum = 0;
    for (const float value : x) sum += value * value;
    const float scale = 1.0f / std::sqrt(sum / static_cast<float>(x.size()) + kEpsilon);
    for (std::size_t i = 0; i < x.size(); ++i) y[i] *= x[i] * scale;
    return y;
  }

  /// Turns the pairs (i, i + kHead / 2) of every head by the position.
  void rotate(std::vector<float>& x) const {
    for (std::size_t head = 0; head < x.size(); head += kHead)
      for (std::size_t i = 0; i < kHead / 2; ++i) {
        const float rate = std::pow(kTheta, -2.0f * static_cast<float>(i) / kHead);
        const float angle = static_cast<float>(position_) * rate;
        float& a = x[head + i];
        float& b = x[head + i + kHead / 2];
        const float turned = a * std::cos(angle) - b * std::sin(angle);
        b = a * std::sin(angle) + b * std::cos(angle);
        a = turned;
      }
  }

  static void softmax(std::vector<float>& x) {
    float largest = x[0];
    for (const float value : x) largest = std::fmax(largest, value);
    float sum = 0;
    for (float& value : x) sum += value = std::exp(value - largest);
    for (float& value : x) value /= sum;
  }

  std::vector<float> attention(std::size_t layer, const std::vector<float>& x) {
    const std::string path = layer_path(layer) + "self_attn.";
    std::vector<float> query = product(path + "q_proj.weight", x);
    std::vector<float> key = product(path + "k_proj.weight", x);
    rotate(query);
    rotate(key);
    keys_[layer].push_back(key);
    values_[layer].push_back(product(path + "v_proj.weight", x));
    std::vector<float> mixed(query.size());
    const std::size_t heads_a_key = query.size() / key.size();
    for (std::size_t head = 0; head < query.size(); head += kHead)
      attend(layer, std::span(query).subspan(head, kHead), head / kHead / heads_a_key * kHead,
             std::span(mixed).subspan(head, kHead));
    return product(path + "o_proj.weight", mixed);
  }

  /// One head: what it takes of the values, by how its query fits their keys.
  void attend(std::size_t layer, std::span<const float> query, std::size_t begin,
              std::span<float> mixed) const {
    std::vector<float> shares;
    for (const std::vector<float>& key : keys_[layer]) {
      float dot = 0;
      for (std::size_t i = 0; i < kHead; ++i) dot += query[i] * key[begin + i];
      shares.push_back(dot / std::sqrt(static_cast<float>(kHead)));
    }
    softmax(shares);
    for (std::size_t t = 0; t < shares.size(); ++t)
      for (std::size_t i = 0; i < kHead; ++i) mixed[i] += shares[t] * values_[layer][t][begin + i];
  }

  std::vector<float> mlp(const std::string& path, const std::vector<float>& x) const {
    std::vector<float> gate = product(path + "gate_proj.weight", x);
    const std::vector<float> up = product(path + "up_proj.weight", x);
    for (std::size_t i = 0; i < gate.size(); ++i)
      gate[i] = gate[i] / (1.0f + std::exp(-gate[i])) * up[i];
    return product(path + "down_proj.weight", gate);
  }

  synps::Artifact model_;
  synps::Executor* executor_;
  std::size_t hidden_;
  std::size_t layers_ = 0;
  std::size_t position_ = 0;
  std::vector<std::vector<std::vector<float>>> keys_;    ///< by layer and position
  std::vector<std::vector<std::vector<float>>> values_;  ///< the same
};

}  // namespace example
