#pragma once

#include <cstdint>
#include <initializer_list>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include <fmt/format.h>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/policy.h"

namespace synps::testing {

/// A codec of which only facts are asked: it stores rows that are a multiple of `block`.
class FactsCodec : public Codec {
 public:
  FactsCodec(CodecInfo info, std::uint64_t block) : info_(std::move(info)), block_(block) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override {
    if (block_ == 1) return Support::yes();
    if (weight.shape.rank() == 0) return Support::no("a scalar has no rows");
    if (weight.shape.columns() % block_ == 0) return Support::yes();
    return Support::no(
        fmt::format("the row length {} is not a multiple of {}", weight.shape.columns(), block_));
  }
  std::vector<Component> components(const Weight&) const override { return {}; }
  std::uint64_t row_bytes(std::size_t, std::uint64_t) const override { return 0; }
  std::uint64_t row_granule() const noexcept override { return block_; }
  void encode(const Piece&, std::span<const float>, const Analysis*,
              std::span<const std::span<std::byte>>, ValueReport&) const override {}
  void decode(const Piece&, std::span<const std::span<const std::byte>>,
              std::span<float>) const override {}

 private:
  CodecInfo info_;
  std::uint64_t block_;
};

inline void add_dense(CodecRegistry& registry, DType dtype, bool encodes = true) {
  CodecInfo info;
  info.package = info.name = std::string(encoding_name(dtype));
  info.dense = true;
  info.encodes = encodes;
  info.dense_dtype = dtype;
  registry.add(std::make_shared<FactsCodec>(info, 1));
}

inline void add_blocks(CodecRegistry& registry, std::string package, std::string name,
                       std::uint64_t block) {
  CodecInfo info;
  info.package = std::move(package);
  info.name = std::move(name);
  registry.add(std::make_shared<FactsCodec>(info, block));
}

/// Dense f32, f16, bf16, and f64 for reading only; blocks of 32 and 256; one short name that two
/// packages export.
inline const CodecRegistry& facts_registry() {
  static const CodecRegistry registry = [] {
    CodecRegistry made;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) add_dense(made, dtype);
    add_dense(made, DType::f64, false);
    add_blocks(made, "q8_0", "q8_0", 32);
    add_blocks(made, "q4_0", "q4_0", 32);
    add_blocks(made, "q4_k", "q4_k", 256);
    add_blocks(made, "ternary", "ternary", 1);
    add_blocks(made, "ternary", "tq2_0", 256);
    add_blocks(made, "alpha", "mix", 1);
    add_blocks(made, "beta", "mix", 1);
    return made;
  }();
  return registry;
}

inline Policy parse(std::string text) {
  return Policy::parse(std::move(text), "synps.toml", facts_registry());
}

/// The problems that `action` throws; none when it does not throw.
template <typename Action>
std::vector<Problem> problems_of(Action action) {
  try {
    action();
  } catch (const Error& error) {
    return error.problems();
  }
  return {};
}

inline std::vector<Problem> parse_problems(const std::string& text) {
  return problems_of([&] { parse(text); });
}

inline WeightFacts facts(std::string path, DType dtype = DType::bf16, Shape shape = {64, 256}) {
  return {{std::move(path), std::move(shape), dtype}, std::string(encoding_name(dtype))};
}

inline std::vector<WeightFacts> facts_of(std::initializer_list<const char*> paths) {
  std::vector<WeightFacts> weights;
  for (const char* path : paths) weights.push_back(facts(path));
  return weights;
}

inline std::vector<Problem> resolve_problems(const std::string& text,
                                             const std::vector<WeightFacts>& weights,
                                             const ResolveOptions& options = {}) {
  const Policy policy = parse(text);
  return problems_of([&] { policy.resolve(weights, options); });
}

inline const KeyDecision* decision_of(const WeightResolution& resolution, std::string_view key) {
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.key == key) return &decision;
  return nullptr;
}

inline bool contains(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

/// "LINE:COLUMN".
inline std::string place(const Problem& problem) {
  return fmt::format("{}:{}", problem.line, problem.column);
}

}  // namespace synps::testing
