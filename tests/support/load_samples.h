#pragma once

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "artifact_builder.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"
#include "synps/form.h"
#include "synps/kernel.h"
#include "synps/profile.h"
#include "synps/row_order.h"
#include "test_values.h"

namespace synps::testing {

/// Made-up bytes that a codec could have stored for a weight; as f16, bf16 and f32 below 2.
inline std::vector<std::vector<std::byte>> made_up_components(const Codec& codec,
                                                              const Weight& weight,
                                                              std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<std::vector<std::byte>> components;
  for (const Component& component : codec.components(weight)) {
    components.emplace_back(component.bytes);
    for (std::size_t i = 0; i < component.bytes; ++i) {
      const auto byte = static_cast<std::uint8_t>(random() >> 24);
      components.back()[i] = std::byte{static_cast<std::uint8_t>(i % 2 == 1 ? byte & 0xBFu : byte)};
    }
  }
  return components;
}

/// A matrix of that codec: encoded, or, where nothing encodes it, made up.
inline WeightToStore sample_weight(const Codec& codec, Shape shape, std::uint32_t seed) {
  WeightToStore weight;
  weight.shape = std::move(shape);
  weight.codec = codec.info().id();
  if (codec.info().encodes)
    weight.values = test_values(weight.shape.elements(), seed);
  else
    weight.components = made_up_components(codec, {"", weight.shape, DType::f32}, seed);
  return weight;
}

/// One weight for every built-in codec that can store the shape, for each order that it can be in,
/// plain and compressed. Paths are like "q4_0:q4_0.rows8.zstd".
inline std::vector<WeightToStore> samples_of_all_codecs(const Shape& shape) {
  std::vector<WeightToStore> weights;
  std::uint32_t seed = 0;
  for (const Codec* codec : builtin_registry().all()) {
    ++seed;
    const Weight weight{"", shape, DType::f32};
    if (!codec->supports(weight).ok) continue;
    for (const Order order : {Order::rows1, Order::rows8}) {
      if (order == Order::rows8 && !can_be_rows8(*codec, weight)) continue;
      for (const Compression compression : {Compression::none, Compression::zstd}) {
        WeightToStore sample = sample_weight(*codec, shape, seed);
        sample.order = order;
        if (compression == Compression::zstd) sample.compress = {compression, 1};
        sample.path = codec->info().id() + "." + std::string(to_string(order)) + "." +
                      std::string(to_string(compression));
        weights.push_back(std::move(sample));
      }
    }
  }
  return weights;
}

/// Registries that make weights load in all forms, on every machine.
struct NamedKernels {
  std::string name;
  KernelRegistry kernels;
};
inline std::vector<NamedKernels> sample_registries() {
  const KernelRegistry& all = builtin_kernels();
  const auto only = [&](auto keep) { return all.only(keep); };
  return {{"native", all},
          {"portable", only([](const Kernel& k) { return k.key.target == Target::cpu_portable; })},
          {"dense", only(is_dense)},
          {"rows1", only([](const Kernel& k) { return k.key.order == Order::rows1; })},
          {"rows8", only([](const Kernel& k) { return k.key.order == Order::rows8; })},
          {"empty", {}}};
}

/// That of the built-in name, not strict, so that it refuses nothing.
inline Profile lenient(Profile profile) {
  profile.strict = false;
  return profile;
}

/// y = W x as docs/kernels.md defines it, for rows of f32 values.
inline std::vector<float> product_by_definition(const std::vector<float>& w, const float* x,
                                                std::size_t columns) {
  std::vector<float> y;
  for (std::size_t begin = 0; begin < w.size(); begin += columns) {
    float s[32] = {};
    for (std::size_t i = 0; i < columns; ++i) s[i % 32] = std::fma(w[begin + i], x[i], s[i % 32]);
    for (std::size_t half = 16; half > 0; half /= 2)
      for (std::size_t k = 0; k < half; ++k) s[k] += s[k + half];
    y.push_back(s[0]);
  }
  return y;
}

}  // namespace synps::testing
