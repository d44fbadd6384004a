#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <string>
#include <vector>

#include "synps/builtin_codecs.h"
#include "synps/conversion.h"

namespace synps {
namespace {

const Codec& codec(std::string_view name) {
  const Codec* found = builtin_registry().resolve(name);
  REQUIRE(found != nullptr);
  return *found;
}

ConversionKind kind(std::string_view source, std::string_view target) {
  return conversion_kind(&codec(source), codec(target));
}

/// A codec under the same name in another revision.
class Revised final : public Codec {
 public:
  explicit Revised(const Codec& old) : info_(old.info()), old_(old) { ++info_.revision; }
  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override { return old_.supports(weight); }
  std::vector<Component> components(const Weight& weight) const override {
    return old_.components(weight);
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    return old_.row_bytes(component, columns);
  }
  std::uint64_t row_granule() const noexcept override { return old_.row_granule(); }
  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    old_.encode(piece, values, analysis, out, report);
  }
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    old_.decode(piece, in, out);
  }

 private:
  CodecInfo info_;
  const Codec& old_;
};

std::vector<float> decoded(const Codec& source, const Weight& weight,
                           std::span<const std::byte> bytes) {
  std::vector<float> values(weight.shape.elements());
  const std::span<const std::byte> in[] = {bytes};
  source.decode({&weight, 0, weight.shape.rows(), weight.shape.columns()}, in, values);
  return values;
}

/// Whether encode and decode by `target` give every value of `values` back; a NaN is any NaN.
bool survive(const Codec& target, const Weight& weight, const std::vector<float>& values) {
  std::vector<std::byte> bytes(target.components(weight).front().bytes);
  const std::span<std::byte> out[] = {bytes};
  ValueReport report;
  target.encode({&weight, 0, weight.shape.rows(), weight.shape.columns()}, values, nullptr, out,
                report);
  const std::vector<float> back = decoded(target, weight, bytes);
  return std::equal(values.begin(), values.end(), back.begin(), [](float a, float b) {
    return (std::isnan(a) && std::isnan(b)) || std::memcmp(&a, &b, sizeof a) == 0;
  });
}

}  // namespace

TEST_CASE("the values of a packed codec are f32, those of a dense one are its dtype's") {
  for (const Codec* each : builtin_registry().all()) {
    CAPTURE(each->info().id());
    const DType dtype = value_dtype(*each);
    if (each->info().dense)
      CHECK(builtin_registry().for_dtype(dtype) == each);
    else
      CHECK(dtype == DType::f32);
  }
}

TEST_CASE("equal encodings are the same, also those that are only read") {
  for (const Codec* each : builtin_registry().all()) {
    CAPTURE(each->info().id());
    CHECK(conversion_kind(each, *each) == ConversionKind::same);
    const Revised newer(*each);
    CHECK(conversion_kind(each, newer) != ConversionKind::same);
    CHECK(conversion_kind(&newer, *each) != ConversionKind::same);
  }
}

TEST_CASE("what is only read, and what nothing decodes, is refused") {
  for (const Codec* source : builtin_registry().all())
    for (const Codec* target : builtin_registry().all()) {
      CAPTURE(source->info().id());
      CAPTURE(target->info().id());
      CHECK(conversion_kind(nullptr, *target) == ConversionKind::refused);
      if (source != target)
        CHECK((conversion_kind(source, *target) == ConversionKind::refused) ==
              !target->info().encodes);
    }
}

TEST_CASE("only a dtype that holds every value is lossless") {
  using Kind = ConversionKind;
  struct Case {
    std::string_view source;
    std::string_view target;
    Kind kind;
  };
  const std::vector<Case> cases = {{"f16", "f32", Kind::lossless},
                                   {"bf16", "f32", Kind::lossless},
                                   {"f32", "f16", Kind::lossy},
                                   {"f32", "bf16", Kind::lossy},
                                   {"f16", "bf16", Kind::lossy},
                                   {"bf16", "f16", Kind::lossy},
                                   {"f64", "f32", Kind::lossy},
                                   {"f64", "f16", Kind::lossy},
                                   {"f64", "bf16", Kind::lossy},
                                   {"f8_e4m3", "f32", Kind::lossless},
                                   {"f8_e4m3", "bf16", Kind::lossless},
                                   {"f8_e4m3", "f16", Kind::lossless},
                                   {"f8_e5m2", "f16", Kind::lossless},
                                   {"f8_e5m2fnuz", "bf16", Kind::lossless},
                                   {"f8_e4m3fnuz", "f32", Kind::lossless},
                                   {"q4_0", "f32", Kind::lossless},
                                   {"q2_k", "f32", Kind::lossless},
                                   {"q4_0", "f16", Kind::lossy},
                                   {"q4_0", "q8_0", Kind::lossy},
                                   {"f32", "q8_0", Kind::lossy},
                                   {"f16", "ternary", Kind::lossy},
                                   {"ternary:tq1_0", "ternary:tq2_0", Kind::lossy},
                                   {"f32", "q2_k", Kind::refused},
                                   {"f16", "f8_e4m3", Kind::refused},
                                   {"f32", "f64", Kind::refused}};
  for (const Case& each : cases) {
    CAPTURE(each.source);
    CAPTURE(each.target);
    CHECK(to_string(kind(each.source, each.target)) == to_string(each.kind));
  }
}

TEST_CASE("lossless between dense codecs of 8 and 16 bits is so for every one of their values") {
  for (const Codec* source : builtin_registry().all()) {
    const CodecInfo& info = source->info();
    if (!info.dense || dtype_bits(*info.dense_dtype) > 16) continue;
    const std::uint64_t width = dtype_bits(*info.dense_dtype) / 8;
    const std::uint64_t count = std::uint64_t{1} << (8 * width);
    const Weight weight{"w", Shape{count}, *info.dense_dtype};
    std::vector<std::byte> bytes(count * width);
    for (std::uint64_t i = 0; i < count; ++i)
      for (std::uint64_t b = 0; b < width; ++b)
        bytes[i * width + b] = static_cast<std::byte>(i >> (8 * b));
    const std::vector<float> values = decoded(*source, weight, bytes);
    for (const Codec* target : builtin_registry().all()) {
      if (!target->info().dense || !target->info().encodes || target == source) continue;
      CAPTURE(info.id());
      CAPTURE(target->info().id());
      CHECK((conversion_kind(source, *target) == ConversionKind::lossless) ==
            survive(*target, weight, values));
    }
  }
}

TEST_CASE("a refusal says what and why in the words of pack") {
  const Weight odd{"w", Shape{4, 33}, DType::f32};
  const Problem shape = cannot_store(codec("q8_0").info(), codec("q8_0").supports(odd));
  CHECK(to_string(shape) ==
        "the codec cannot store a weight (q8_0): found row length 33 is not a multiple of 32, the "
        "block of q8_0");
  CHECK(shape.code == ErrorCode::policy);
  CHECK(to_string(cannot_encode(codec("q2_k").info())) ==
        "codec is for reading only: found 'q2_k', want a codec that encodes");
  const Problem rounds = would_round(codec("f16").info(), codec("ternary:tq2_0").info());
  CHECK(to_string(rounds) ==
        "repack never changes a value: found f16 to ternary:tq2_0; requantize does it");
}

}  // namespace synps
