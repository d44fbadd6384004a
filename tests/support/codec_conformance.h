#pragma once

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <thread>
#include <vector>

#include "codec_io.h"
#include "small_floats.h"
#include "synps/codec.h"
#include "synps/error.h"

// What every codec has to do, whatever it stores. check_codec_conformance() runs all of it.

namespace synps::testing {

inline const std::vector<Shape>& conformance_shapes() {
  static const std::vector<Shape> kShapes = {
      {},      {1},      {31},        {32},     {256},    {1000},   {1, 1},          {4, 1},
      {3, 64}, {5, 100}, {2, 3, 128}, {2, 768}, {3, 512}, {7, 257}, {2, 1, 2, 1024}, {0},
      {0, 5},  {5, 0},   {3, 0, 256}};
  return kShapes;
}

/// Finite values of many magnitudes, zeros of both signs among them.
inline std::vector<float> finite_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    const auto significand = static_cast<float>(static_cast<std::int32_t>(bits)) * 0x1p-31f;
    const auto kind = random() % 16;
    value = kind == 0 ? std::copysign(0.0f, significand) : significand;
    if (kind == 1) value *= 0x1p-30f;
    if (kind == 2) value *= 100.0f;
  }
  return values;
}

/// Any bit pattern at all.
inline std::vector<float> wild_values(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
  return values;
}

inline Bytes random_bytes(std::size_t count, std::uint32_t seed) {
  std::mt19937 random(seed);
  Bytes bytes(count);
  for (std::byte& byte : bytes) byte = static_cast<std::byte>(random() & 255);
  return bytes;
}

inline bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(), same_value);
}

inline void check_same_finding(const ValueReport::Finding& a, const ValueReport::Finding& b) {
  CHECK(a.count == b.count);
  if (a.count == 0) return;
  CHECK(a.first_index == b.first_index);
  CHECK(same_value(static_cast<float>(a.first_value), static_cast<float>(b.first_value)));
}

inline void check_facts(const Codec& codec) {
  const CodecInfo& info = codec.info();
  CHECK_FALSE(info.package.empty());
  CHECK_FALSE(info.name.empty());
  CHECK(info.revision >= 1);
  CHECK(info.bits_per_weight > 0);
  CHECK(info.bits_per_weight <= 64);
  CHECK_FALSE(info.summary.empty());
  CHECK_FALSE(info.error_bound.empty());
  CHECK(info.dense == info.dense_dtype.has_value());
  for (const DType dtype : info.exact) CHECK(dtype_is_float(dtype));
  CHECK(codec.row_granule() == (info.dense ? 1 : codec.row_granule()));
}

inline void check_support(const Codec& codec) {
  for (const Shape& shape : conformance_shapes()) {
    CAPTURE(shape.to_string());
    const Support support = codec.supports(make_weight(shape));
    CHECK(support.ok == support.reason.empty());
    if (shape.elements() == 0 || codec.info().dense) CHECK(support.ok);
  }
  CHECK(codec.supports(make_weight({2, 1024})).ok);
}

inline void check_components(const Codec& codec, const Weight& weight) {
  const std::vector<Component> stored = codec.components(weight);
  REQUIRE_FALSE(stored.empty());
  for (std::size_t c = 0; c < stored.size(); ++c) {
    CAPTURE(stored[c].name);
    CHECK_FALSE(stored[c].name.empty());
    CHECK(stored[c].bytes == stored[c].shape.bytes(stored[c].dtype));
    const std::uint64_t row = codec.row_bytes(c, weight.shape.columns());
    CHECK(row * weight.shape.rows() == (stored[c].per_weight ? 0 : stored[c].bytes));
    for (std::size_t other = 0; other < c; ++other) CHECK(stored[other].name != stored[c].name);
  }
  if (!codec.info().dense) return;
  REQUIRE(stored.size() == 1);
  CHECK(stored[0].name == "values");
  CHECK(stored[0].dtype == codec.info().dense_dtype);
  CHECK(stored[0].shape == weight.shape);
}

/// A row's bytes are those of its parts.
inline void check_granule(const Codec& codec) {
  const std::uint64_t granule = codec.row_granule();
  if (granule == 0) return;
  const std::size_t components = codec.components(make_weight({1, 1024})).size();
  for (std::size_t c = 0; c < components; ++c)
    for (std::uint64_t cut = 0; cut <= 1024; cut += granule)
      CHECK(codec.row_bytes(c, cut) + codec.row_bytes(c, 1024 - cut) == codec.row_bytes(c, 1024));
}

/// A size past 64 bits is an error, not a small number.
inline void check_size_limit(const Codec& codec) {
  const std::uint64_t most = std::uint64_t{1} << 63;
  for (const Shape& shape : {Shape{1, most}, Shape{most / 1024, 1024}, Shape{most}}) {
    CAPTURE(shape.to_string());
    const Weight weight = make_weight(shape);
    if (!codec.supports(weight).ok) {  // a codec that needs whole rows limits their length
      CHECK(codec.row_granule() == 0);
      continue;
    }
    const double row_bits = codec.info().bits_per_weight * static_cast<double>(shape.columns());
    const bool fits = row_bits / 8 * static_cast<double>(shape.rows()) < 0x1p64;
    try {
      for (const Component& component : codec.components(weight)) {
        CHECK(component.bytes == component.shape.bytes(component.dtype));
        CHECK(fits);
      }
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      CHECK(error.problems().front().field == weight.path);
      CHECK_FALSE(fits);
    }
  }
}

inline void check_encoding(const Codec& codec, const Weight& weight, bool wild) {
  const std::size_t count = weight.shape.elements();
  const std::vector<float> values = wild ? wild_values(count, 3) : finite_values(count, 4);
  const Encoded once = encode_all(codec, weight, values);
  std::mt19937 random(static_cast<std::uint32_t>(count));
  for (int i = 0; i < 8; ++i) {
    const Encoded again =
        encode_pieces(codec, weight, values, random_pieces(codec, weight, random));
    CHECK(again.components == once.components);
    check_same_finding(again.report.overflow, once.report.overflow);
    check_same_finding(again.report.non_finite, once.report.non_finite);
    check_same_finding(again.report.underflow, once.report.underflow);
  }
  const std::uint64_t non_finite = static_cast<std::uint64_t>(
      std::count_if(values.begin(), values.end(), [](float v) { return !std::isfinite(v); }));
  CHECK(once.report.non_finite.count == (codec.info().dense ? 0 : non_finite));
  if (!wild) CHECK(once.report.overflow.count == 0);
}

inline void check_decoding(const Codec& codec, const Weight& weight) {
  std::vector<Bytes> components;
  std::uint32_t seed = 5;
  for (const Component& stored : codec.components(weight))
    components.push_back(random_bytes(stored.bytes, ++seed));
  const std::vector<float> once = decode_all(codec, weight, components);
  std::mt19937 random(6);
  for (int i = 0; i < 8; ++i)
    CHECK(same_values(
        decode_pieces(codec, weight, components, random_pieces(codec, weight, random)), once));
}

/// `exact` names the dtypes whose every value comes back, and for a dense codec all of them.
inline void check_exact(const Codec& codec) {
  for (const DType dtype : all_dtypes()) {
    const std::vector<float> values = values_of(dtype);
    if (values.empty()) continue;
    CAPTURE(dtype_name(dtype));
    const Weight weight = make_weight({values.size()}, dtype);
    if (!codec.supports(weight).ok) {
      CHECK_FALSE(codec.info().stores_exactly(dtype));
      continue;
    }
    const bool exact = same_values(round_trip(codec, weight, values), values);
    CHECK(exact == codec.info().stores_exactly(dtype));
  }
}

inline void check_threads(const Codec& codec) {
  const Weight weight = make_weight({4, 1024});
  const std::vector<float> values = finite_values(4096, 7);
  std::vector<Encoded> results(4);
  {
    std::vector<std::jthread> threads;
    threads.reserve(results.size());
    for (Encoded& result : results)
      threads.emplace_back([&] { result = encode_all(codec, weight, values); });
  }
  for (const Encoded& result : results) CHECK(result.components == results[0].components);
}

inline void check_codec_conformance(const Codec& codec) {
  check_facts(codec);
  check_support(codec);
  check_granule(codec);
  check_size_limit(codec);
  for (const Shape& shape : conformance_shapes()) {
    const Weight weight = make_weight(shape);
    if (!codec.supports(weight).ok) continue;
    CAPTURE(shape.to_string());
    check_components(codec, weight);
    check_decoding(codec, weight);
    if (!codec.info().encodes) continue;
    check_encoding(codec, weight, false);
    check_encoding(codec, weight, true);
  }
  if (!codec.info().encodes) return;
  check_exact(codec);
  check_threads(codec);
}

}  // namespace synps::testing
