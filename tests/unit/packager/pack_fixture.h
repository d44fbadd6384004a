#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "gguf_builder.h"
#include "safetensors_builder.h"
#include "synps/artifact_reader.h"
#include "synps/builtin_codecs.h"
#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/pack.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "temp_dir.h"
#include "test_values.h"

namespace synps::testing {

/// Bytes of floats in a dtype that a built-in dense codec writes.
inline std::string dense_bytes_of(DType dtype, const std::vector<float>& values) {
  const Codec& codec = *builtin_registry().for_dtype(dtype);
  const Weight weight{"values", Shape{values.size()}, dtype};
  std::vector<std::byte> bytes(values.size() * dtype_bits(dtype) / 8);
  const std::span<std::byte> out[] = {bytes};
  ValueReport report;
  codec.encode(Piece{&weight, 0, 1, values.size()}, values, nullptr, out, report);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

/// Adds a float tensor with values that its dtype holds, and returns these values.
inline std::vector<float> add_floats(SafetensorsBuilder& builder, std::string_view name,
                                     DType dtype, const std::vector<std::uint64_t>& shape,
                                     std::uint32_t seed = 1) {
  const std::uint64_t count = Shape(shape).elements();
  const std::string bytes =
      dense_bytes_of(dtype, test_values(static_cast<std::size_t>(count), seed));
  builder.add(name, dtype, shape, bytes);
  std::vector<float> values(static_cast<std::size_t>(count));
  const Weight weight{"values", Shape{count}, dtype};
  const std::span<const std::byte> in[] = {std::as_bytes(std::span(bytes))};
  builtin_registry().for_dtype(dtype)->decode(Piece{&weight, 0, 1, count}, in, values);
  return values;
}

inline Policy policy_of(std::string text) {
  return Policy::parse(std::move(text), "synps.toml", builtin_registry());
}

/// One policy for everything: `format`, or f32 for shapes that it does not take. All encodings that
/// something decodes are declared.
inline Policy one_format(std::string_view format) {
  return policy_of(std::string("[myelin]\nformats = [\"f16\", \"bf16\", \"f64\"]\n") +
                   "[policies.\"*\"]\nfallback = \"f32\"\n" +
                   "[[policies.\"*\".schemes]]\nformat = \"" + std::string(format) + "\"\n");
}

/// Tensors of every kind that a policy treats differently, small.
inline SafetensorsBuilder mixed_tensors() {
  SafetensorsBuilder builder;
  builder.metadata("format", "pt").metadata("note", "kept \"verbatim\"\n");
  add_floats(builder, "embed.weight", DType::bf16, {100, 64}, 1);
  add_floats(builder, "layers.0.mlp.weight", DType::f16, {33, 256}, 2);
  add_floats(builder, "layers.1.mlp.weight", DType::f32, {16, 512}, 3);
  add_floats(builder, "layers.0.attn.weight", DType::f32, {8, 3, 32}, 4);
  add_floats(builder, "layers.0.pooler.weight", DType::bf16, {5, 130}, 5);
  add_floats(builder, "layers.0.norm.weight", DType::f32, {64}, 6);
  add_floats(builder, "scale", DType::f32, {}, 7);
  builder.add("empty", DType::f16, {0, 4}, std::string_view());
  builder.add("ids", DType::i64, {3}, bytes_of(std::vector<std::int64_t>{1, -2, 3}));
  builder.add("mask", DType::boolean, {3, 3}, std::string("\0\1\1\0\0\1\1\1\0", 9));
  builder.add("kept.f8", DType::f8_e4m3, {2, 3}, "\x01\x7f\x80\xff\x30\x31");
  builder.add("kept.f4", DType::f4, {3, 2}, "\x12\x34\x56");
  builder.add("wide", DType::f64, {2, 2}, bytes_of(std::vector<double>{1.5, -2, 1e-300, 3}));
  add_floats(builder, "odd \"name\"\t#blocks", DType::f32, {2, 32}, 8);
  add_floats(builder, "../\xC3\xBC..x", DType::f16, {2, 64}, 9);
  return builder;
}

/// A policy for mixed_tensors() that uses every way of storing a weight.
inline Policy mixed_policy() {
  return policy_of(R"([myelin]
formats = ["f64", "f8_e4m3", "f4"]
[policies."**"]
fallback = "f16"
[[policies."**".schemes]]
format = "q8_0"
[[policies."embed".schemes]]
format = "bf16"
[[policies."layers.*.mlp".schemes]]
format = "q4_0"
[policies."layers.1".form]
residency = "heap"
[[policies."layers.1.mlp".schemes]]
format = "ternary:absmean"
[[policies."layers.0.pooler".schemes]]
format = "ternary:ternary"
[[policies."layers.0.norm".schemes]]
format = "f32"
[[policies."kept".schemes]]
format = "keep"
[[policies."wide".schemes]]
format = "f32"
)");
}

/// A checkpoint file in a folder of its own, and where the artifact of it goes, or of a GGUF file
/// another one.
struct PackFixture {
  TempDir dir;
  std::string input;
  std::string output;

  explicit PackFixture(const SafetensorsBuilder& builder)
      : input(dir.file("model.safetensors")), output(dir.file("model.synps")) {
    builder.write(input);
  }
  explicit PackFixture(const GgufBuilder& builder)
      : input(dir.file("model.gguf")), output(dir.file("out.gguf")) {
    write_file(input, builder.build());
  }

  Checkpoint open() const { return Checkpoint::open(input); }
  /// Of what the output's name says.
  Plan plan(const Checkpoint& checkpoint, const Policy& policy) const {
    PlanOptions options;
    options.output = output_kind_of_path(output);
    return make_plan(checkpoint, policy, options);
  }
  PackReport pack(const Policy& policy, const PackOptions& options = {}) const {
    const Checkpoint checkpoint = open();
    return synps::pack(checkpoint, plan(checkpoint, policy), output, options);
  }
};

/// The problems of the Error that `action` throws; none when it throws nothing.
inline std::vector<Problem> problems_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return error.problems();
  }
  return {};
}

}  // namespace synps::testing
