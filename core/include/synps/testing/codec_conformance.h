#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <limits>
#include <memory>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "synps/codec.h"
#include "synps/error.h"
#include "synps/testing/codec_io.h"
#include "synps/testing/small_floats.h"

// What every codec has to do, whatever it stores: the tests that the built-in codecs pass, for
// codec packages from outside, too. Needs no test framework, and synps::core alone.
//
//   std::vector<std::string> faults = check_codec_conformance(*codec);   // none: all is well
//   return run_codec_conformance(load_codec_package("q8_row", "./q8_row.so"));

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

/// The same with NaN and infinities among them.
inline std::vector<float> special_values(std::size_t count, std::uint32_t seed) {
  using Limits = std::numeric_limits<float>;
  constexpr float kSpecials[] = {Limits::quiet_NaN(), Limits::infinity(), -Limits::infinity()};
  std::vector<float> values = finite_values(count, seed);
  for (std::size_t i = 0; i < count; i += 1 + i % 89) values[i] = kSpecials[i % 3];
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

inline bool same_finding(const ValueReport::Finding& a, const ValueReport::Finding& b) {
  if (a.count != b.count) return false;
  return a.count == 0 ||
         (a.first_index == b.first_index &&
          same_value(static_cast<float>(a.first_value), static_cast<float>(b.first_value)));
}

/// The checks of one codec, and what they found.
class CodecConformance {
 public:
  explicit CodecConformance(const Codec& codec) : codec_(codec), info_(codec.info()) {}

  /// Sentences, each with the weight or dtype that it is about. Empty: the codec keeps the
  /// contract.
  std::vector<std::string> run() {
    about("its facts", [this] { check_facts(); });
    about("supports", [this] { check_support(); });
    about("row_granule", [this] { check_granule(); });
    about("sizes near 2^64 bytes", [this] { check_size_limit(); });
    for (const Shape& shape : shapes())
      about("shape " + shape.to_string(), [&] { check_weight(make_weight(shape)); });
    if (!info_.encodes) return faults_;
    check_exact();
    about("threads", [this] { check_threads(); });
    return faults_;
  }

 private:
  static constexpr std::size_t kMostFaults = 50;

  bool expect(bool holds, const std::string& otherwise) {
    if (!holds && faults_.size() < kMostFaults) faults_.push_back(about_ + ": " + otherwise);
    return holds;
  }
  template <typename Body>
  void about(const std::string& what, Body body) {
    about_ = what;
    try {
      body();
    } catch (const std::exception& error) {
      expect(false, std::string("threw: ") + error.what());
    }
  }

  /// With some that fit blocks of any length.
  std::vector<Shape> shapes() const {
    std::vector<Shape> shapes = conformance_shapes();
    const std::uint64_t granule = codec_.row_granule();
    if (granule <= 1 || granule > 65536) return shapes;
    shapes.push_back({granule});
    shapes.push_back({3, 2 * granule});
    return shapes;
  }

  /// A row length of about a thousand that the codec supports, for checks that need one.
  std::uint64_t long_row() const {
    const std::uint64_t granule = std::max<std::uint64_t>(1, codec_.row_granule());
    return std::max<std::uint64_t>(1, 1024 / granule) * granule;
  }

  void check_facts() {
    expect(!info_.package.empty() && !info_.name.empty(), "a name is empty");
    expect(info_.revision >= 1, "the revision is 0");
    expect(info_.bits_per_weight > 0 && info_.bits_per_weight <= 64,
           "bits per weight out of range");
    expect(!info_.summary.empty(), "there is no summary");
    expect(!info_.error_bound.empty(), "there is no error bound");
    expect(info_.dense == info_.dense_dtype.has_value(), "dense, and no dtype, or the reverse");
    for (const DType dtype : info_.exact)
      expect(dtype_is_float(dtype), "an exact dtype is not floating point");
    expect(!info_.dense || codec_.row_granule() == 1, "a dense codec cuts rows anywhere");
  }

  void check_support() {
    for (const Shape& shape : shapes()) {
      const Support support = codec_.supports(make_weight(shape));
      const std::string which = " for " + shape.to_string();
      expect(support.ok == support.reason.empty(), "yes with a reason, or no without" + which);
      if (shape.elements() == 0 || info_.dense) expect(support.ok, "no" + which);
    }
    const Shape rows{2, long_row()};
    expect(codec_.supports(make_weight(rows)).ok, "no for " + rows.to_string());
  }

  /// A row's bytes are those of its parts.
  void check_granule() {
    const std::uint64_t granule = codec_.row_granule();
    if (granule == 0) return;
    const std::uint64_t row = long_row();
    const std::size_t components = codec_.components(make_weight({1, row})).size();
    for (std::size_t c = 0; c < components; ++c)
      for (std::uint64_t cut = 0; cut <= row; cut += granule)
        expect(
            codec_.row_bytes(c, cut) + codec_.row_bytes(c, row - cut) == codec_.row_bytes(c, row),
            "bytes of a row and of its parts of " + std::to_string(cut) + " and the rest differ");
  }

  /// A size past 64 bits is an error, not a small number. Rows are whole numbers of granules.
  void check_size_limit() {
    const std::uint64_t row = long_row();
    const std::uint64_t most = (std::uint64_t{1} << 63) / row * row;
    const Shape giants[] = {Shape{1, most}, Shape{most / row, row}, Shape{most}};
    const Shape small[] = {Shape{1, row}, Shape{2, row}, Shape{row}};
    for (std::size_t i = 0; i < std::size(giants); ++i) {
      const Shape& shape = giants[i];
      const Weight weight = make_weight(shape);
      const std::string which = " for " + shape.to_string();
      if (!codec_.supports(weight).ok) {  // a codec that needs whole rows limits their length
        expect(codec_.row_granule() == 0 || !codec_.supports(make_weight(small[i])).ok,
               "refused, though a smaller one of that rank is not," + which);
        continue;
      }
      const double row_bits = info_.bits_per_weight * static_cast<double>(shape.columns());
      const bool fits = row_bits / 8 * static_cast<double>(shape.rows()) < 0x1p64;
      try {
        for (const Component& component : codec_.components(weight))
          expect(fits && component.bytes == component.shape.bytes(component.dtype),
                 "a size that cannot be" + which);
      } catch (const Error& error) {
        expect(error.code() == ErrorCode::limit && !fits &&
                   error.problems().front().field == weight.path,
               "another error than of a limit" + which + ": " + error.what());
      }
    }
  }

  void check_weight(const Weight& weight) {
    if (!codec_.supports(weight).ok) return;
    check_components(weight);
    check_decoding(weight);
    if (!info_.encodes) return;
    const std::size_t count = weight.shape.elements();
    check_encoding(weight, finite_values(count, 4), " (finite values)");
    check_encoding(weight, special_values(count, 2), " (NaN and infinities among values)");
    check_encoding(weight, wild_values(count, 3), " (any bits)");
  }

  void check_components(const Weight& weight) {
    const std::vector<Component> stored = codec_.components(weight);
    if (!expect(!stored.empty(), "nothing is stored")) return;
    for (std::size_t c = 0; c < stored.size(); ++c) {
      const std::string which = " of component '" + stored[c].name + "'";
      expect(!stored[c].name.empty(), "a component has no name");
      expect(stored[c].bytes == stored[c].shape.bytes(stored[c].dtype),
             "the size" + which + " is not that of its shape and dtype");
      const bool empty = weight.shape.elements() == 0;  // no row of that length is stored
      const std::uint64_t row = empty ? 0 : codec_.row_bytes(c, weight.shape.columns());
      expect(row * weight.shape.rows() == (stored[c].per_weight ? 0 : stored[c].bytes),
             "the rows" + which + " do not make its size");
      for (std::size_t other = 0; other < c; ++other)
        expect(stored[other].name != stored[c].name, "the name" + which + " comes twice");
    }
    if (!info_.dense) return;
    expect(stored.size() == 1 && stored[0].name == "values" &&
               stored[0].dtype == info_.dense_dtype && stored[0].shape == weight.shape,
           "a dense codec stores one component, values, like the weight");
  }

  /// Whatever the cut, and whatever was in memory before.
  void check_encoding(const Weight& weight, const std::vector<float>& values,
                      const std::string& which) {
    const Encoded once = encode_all(codec_, weight, values);
    std::mt19937 random(static_cast<std::uint32_t>(values.size()));
    for (int i = 0; i < 8; ++i) {
      const std::byte before = i % 2 == 0 ? ~kGuard : kGuard;
      const Encoded again =
          encode_pieces(codec_, weight, values, random_pieces(codec_, weight, random), before);
      expect(again.components == once.components,
             "the bytes depend on how the weight is cut, or some are not written" + which);
      expect(same_finding(again.report.overflow, once.report.overflow) &&
                 same_finding(again.report.non_finite, once.report.non_finite) &&
                 same_finding(again.report.underflow, once.report.underflow),
             "the findings depend on how the weight is cut" + which);
    }
    check_findings(weight, values, once, which);
  }

  /// NaN and infinities are reported, every one, or come back.
  void check_findings(const Weight& weight, const std::vector<float>& values, const Encoded& once,
                      const std::string& which) {
    const auto is_special = [](float v) { return !std::isfinite(v); };
    const auto specials =
        static_cast<std::uint64_t>(std::count_if(values.begin(), values.end(), is_special));
    bool kept = info_.dense;
    if (!kept && specials > 0 && once.report.non_finite.count == 0) {
      const std::vector<float> back = decode_all(codec_, weight, once.components);
      kept = std::equal(values.begin(), values.end(), back.begin(), [&](float value, float stored) {
        return !is_special(value) || same_value(value, stored);
      });
    }
    expect(once.report.non_finite.count == (kept ? 0 : specials),
           "NaN and infinities are neither all reported nor kept" + which);
    const bool small =
        std::all_of(values.begin(), values.end(), [](float v) { return std::fabs(v) <= 100.0f; });
    if (small) expect(once.report.overflow.count == 0, "values up to 100 overflow");
  }

  /// Any bytes decode, and to the same values whatever the cut.
  void check_decoding(const Weight& weight) {
    std::vector<Bytes> components;
    std::uint32_t seed = 5;
    for (const Component& stored : codec_.components(weight))
      components.push_back(random_bytes(stored.bytes, ++seed));
    const std::vector<float> once = decode_all(codec_, weight, components);
    std::mt19937 random(6);
    for (int i = 0; i < 8; ++i) {
      const float before = i % 2 == 0 ? 1.0f : 0.0f;
      expect(same_values(decode_pieces(codec_, weight, components,
                                       random_pieces(codec_, weight, random), before),
                         once),
             "decoded values depend on how the weight is cut, or some are not written");
    }
  }

  /// `exact` names the dtypes whose every value comes back, and for a dense codec all of them.
  void check_exact() {
    for (const DType dtype : all_dtypes())
      about(std::string("values of ") + std::string(dtype_name(dtype)),
            [&] { check_exact(dtype); });
  }
  void check_exact(DType dtype) {
    std::vector<float> values = values_of(dtype);
    if (values.empty()) return;
    const bool claimed = info_.stores_exactly(dtype);
    const std::uint64_t row = long_row();
    const std::uint64_t rows = (values.size() + row - 1) / row;
    values.resize(rows * row);
    const Weight weight = make_weight({rows, row}, dtype);
    if (!codec_.supports(weight).ok) {
      expect(!claimed, "claimed exact, and not supported");
      return;
    }
    const bool exact = same_values(round_trip(codec_, weight, values), values);
    expect(exact || !claimed, "claimed exact, and not all come back");
    // Of another codec some rows may come back and others not, such as those with few values.
    if (info_.dense) expect(claimed || !exact, "all come back, and it is not claimed exact");
  }

  void check_threads() {
    const Weight weight = make_weight({4, long_row()});
    const std::vector<float> values = finite_values(weight.shape.elements(), 7);
    std::vector<Encoded> results(4);
    std::vector<std::string> thrown(results.size());
    {
      std::vector<std::jthread> threads;
      threads.reserve(results.size());
      for (std::size_t i = 0; i < results.size(); ++i)
        threads.emplace_back([&, i] {
          try {
            results[i] = encode_all(codec_, weight, values);
          } catch (const std::exception& error) {
            thrown[i] = error.what();
          }
        });
    }
    for (std::size_t i = 0; i < results.size(); ++i) {
      expect(thrown[i].empty(), "threw: " + thrown[i]);
      expect(results[i].components == results[0].components, "threads get different bytes");
    }
  }

  const Codec& codec_;
  const CodecInfo& info_;
  std::string about_;
  std::vector<std::string> faults_;
};

inline std::vector<std::string> check_codec_conformance(const Codec& codec) {
  return CodecConformance(codec).run();
}

/// Checks codecs, says on standard output how each of them did, and returns 0 when all keep the
/// contract, else 1: what a test program returns from main().
inline int run_codec_conformance(const std::vector<std::shared_ptr<const Codec>>& codecs) {
  bool all_keep_it = !codecs.empty();
  for (const std::shared_ptr<const Codec>& codec : codecs) {
    const std::vector<std::string> faults = check_codec_conformance(*codec);
    const std::string id = codec->info().id();
    std::printf("%s: %s\n", id.c_str(), faults.empty() ? "keeps the contract" : "fails");
    for (const std::string& fault : faults) std::printf("  %s\n", fault.c_str());
    all_keep_it = all_keep_it && faults.empty();
  }
  return all_keep_it ? 0 : 1;
}

}  // namespace synps::testing
