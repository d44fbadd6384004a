#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "bytes.h"
#include "float_bits.h"
#include "k_blocks.h"
#include "scale_min_block.h"
#include "synps/builtin_codecs.h"
#include "synps/error.h"
#include "synps/testing/codec_conformance.h"

// The block layouts of GGUF with minima, with sub-blocks, and those that are only read: their
// edges. Equality with the reference on ordinary values is in golden_test.cpp.

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

const std::vector<std::string> kEncoding = {"q4_1", "q5_0", "q5_1", "q4_k", "q5_k", "q6_k"};
const std::vector<std::string> kReadOnly = {"q8_1",   "q2_k",   "q3_k", "q8_k",
                                            "iq4_nl", "iq4_xs", "mxfp4"};

const Codec& codec(const std::string& name) {
  return *builtin_registry().resolve(name);
}

Encoded encode_row(const std::string& name, const std::vector<float>& values) {
  return encode_all(codec(name), make_weight({values.size()}), values);
}

std::vector<float> decode_row(const std::string& name, const Bytes& blocks, std::size_t count) {
  return decode_all(codec(name), make_weight({count}), {blocks});
}

float f16_at(const Bytes& blocks, std::size_t offset) {
  return f32_from_f16(load<std::uint16_t>(blocks.data() + offset));
}

/// Row of 256 values, normal with deviation 1 and mean `mean`, times `magnitude`.
std::vector<float> normal_row(std::uint32_t seed, float mean, float magnitude) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal(mean, 1.0f);
  std::vector<float> values(256);
  for (float& value : values) value = normal(random) * magnitude;
  return values;
}

/// max, min and max - min of 32 values.
struct Range {
  double min = 0;
  double max = 0;
  explicit Range(const float* values) : min(values[0]), max(values[0]) {
    for (std::size_t i = 0; i < 32; ++i) {
      min = std::min(min, double{values[i]});
      max = std::max(max, double{values[i]});
    }
  }
};

}  // namespace

TEST_CASE("q4_1, q5_1 and q5_0: the error stays within the stated bound") {
  std::mt19937 random(2);
  for (int round = 0; round < 400; ++round) {
    const float magnitude = std::ldexp(1.0f, static_cast<int>(random() % 36) - 28);
    const float mean = static_cast<float>(round % 5) * 3.0f - 6.0f;
    const std::vector<float> values =
        normal_row(static_cast<std::uint32_t>(round), mean, magnitude);
    for (const std::string name : {"q4_1", "q5_1", "q5_0"}) {
      CAPTURE(name);
      const std::vector<float> decoded =
          decode_row(name, encode_row(name, values).components[0], 256);
      const double steps = name == "q4_1" ? 15 : name == "q5_1" ? 31 : 16;
      const double share = name == "q4_1" ? 0.508 : name == "q5_1" ? 0.516 : 1.008;
      for (std::size_t i = 0; i < 256; ++i) {
        const Range range(&values[i / 32 * 32]);
        const double largest = std::max(std::fabs(range.min), std::fabs(range.max));
        const bool has_min = name != "q5_0";
        const double d = (has_min ? range.max - range.min : largest) / steps;
        const double min = has_min ? std::fabs(range.min) : 0;
        const bool subnormal = d < 0x1p-14 || (has_min && min < 0x1p-14);
        const double bound = share * d + min / 2048 + (subnormal ? (steps + 1) * 0x1p-25 : 0);
        if (std::fabs(double{decoded[i]} - double{values[i]}) > bound)
          FAIL_CHECK(values[i] << " became " << decoded[i] << ", d " << d);
      }
    }
  }
}

TEST_CASE("q4_k and q5_k: half a step within the codes of a sub-block, beyond them the distance") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const float mean = static_cast<float>(seed % 5) - 2.0f;
    const std::vector<float> values = normal_row(seed, mean, 0.05f);
    for (const std::string name : {"q4_k", "q5_k"}) {
      CAPTURE(name);
      const Bytes blocks = encode_row(name, values).components[0];
      const std::vector<float> decoded = decode_row(name, blocks, 256);
      const ScaleMins stored(blocks.data());
      for (std::size_t i = 0; i < 256; ++i) {
        const double step = stored.scale[i / 32];
        const double low = -double{stored.min[i / 32]};
        const double high = low + step * (name == "q4_k" ? 15 : 31);
        const double x = values[i];
        const double beyond = std::max({0.0, low - x, x - high});
        if (std::fabs(double{decoded[i]} - x) > std::max(beyond, step / 2) * 1.00001)
          FAIL_CHECK(values[i] << " became " << decoded[i] << ", step " << step);
      }
    }
  }
}

TEST_CASE("q6_k: half a step within the codes of a sub-block, beyond them the distance") {
  for (std::uint32_t seed = 0; seed < 200; ++seed) {
    const std::vector<float> values = normal_row(seed, 0.0f, 0.05f);
    const Bytes blocks = encode_row("q6_k", values).components[0];
    const std::vector<float> decoded = decode_row("q6_k", blocks, 256);
    for (std::size_t i = 0; i < 256; ++i) {
      const double step =
          std::fabs(f16_at(blocks, 208) * load<std::int8_t>(blocks.data() + 192 + i / 16));
      const double beyond = std::max(0.0, std::fabs(double{values[i]}) - 31 * step);
      if (std::fabs(double{decoded[i]} - double{values[i]}) > std::max(beyond, step / 2) * 1.00001)
        FAIL_CHECK(values[i] << " became " << decoded[i] << ", step " << step);
    }
  }
}

TEST_CASE("GGUF blocks: zeros of either sign decode to zeros and lose nothing") {
  for (const std::string& name : kEncoding) {
    CAPTURE(name);
    std::vector<float> values(512, 0.0f);
    for (std::size_t i = 256; i < 512; i += 2) values[i] = -0.0f;
    const Encoded encoded = encode_row(name, values);
    CHECK(encoded.report.underflow.count == 0);
    for (const float value : decode_row(name, encoded.components[0], 512)) CHECK(value == 0);
  }
}

TEST_CASE("q4_1 and q5_1: a minimum of zero has the sign of the first zero") {
  for (const std::string name : {"q4_1", "q5_1"}) {
    std::vector<float> values(256);
    for (std::size_t i = 0; i < 256; ++i) values[i] = static_cast<float>(i % 8) * 0.25f;
    values[8] = -0.0f;
    values[32] = -0.0f;
    const Bytes blocks = encode_row(name, values).components[0];
    CHECK(load<std::uint16_t>(blocks.data() + 2) == 0);
    const std::size_t block = name == "q4_1" ? 20 : 24;
    CHECK(load<std::uint16_t>(blocks.data() + block + 2) == 0x8000);
  }
}

TEST_CASE("GGUF blocks: NaN and infinities are counted and stored as zero") {
  for (const std::string& name : kEncoding) {
    CAPTURE(name);
    std::vector<float> values = finite_values(512, 9);
    std::vector<float> zeroed = values;
    values[3] = kNan;
    values[256] = -kInfinity;
    values[300] = kInfinity;
    values[511] = -kNan;
    for (const std::size_t i : {3, 256, 300, 511}) zeroed[i] = 0;
    const Encoded encoded = encode_row(name, values);
    CHECK(encoded.components == encode_row(name, zeroed).components);
    CHECK(encoded.report.non_finite.count == 4);
    CHECK(encoded.report.non_finite.first_index == 3);
    CHECK(encoded.report.overflow.count == 0);
    const std::vector<float> all_nan(256, kNan);
    CHECK(encode_row(name, all_nan).components ==
          encode_row(name, std::vector<float>(256, 0.0f)).components);
  }
}

TEST_CASE("GGUF blocks: what no f16 scale reaches is an overflow, told by the largest value") {
  struct Case {
    std::string name;
    float fits;  ///< alone in its block, with either sign
    float too_much;
  };
  // 65520 × the steps that a scale or a minimum is divided into.
  const std::vector<Case> cases = {{"q4_1", 65519.0f, 1.0e6f},     {"q5_1", 65519.0f, 2.1e6f},
                                   {"q5_0", 1.0483e6f, 1.0484e6f}, {"q4_k", 4.1e6f, 6.3e7f},
                                   {"q5_k", 4.1e6f, 1.3e8f},       {"q6_k", 2.5e8f, 2.9e8f}};
  for (const Case& each : cases) {
    CAPTURE(each.name);
    for (const float sign : {1.0f, -1.0f}) {
      std::vector<float> values(1024, 0.0f);
      values[5] = sign * each.fits;
      values[256 + 7] = sign * each.too_much;
      values[512 + 9] = sign * 1e20f;  // whose sums overflow in f32, too
      values[768 + 255] = sign * kLargest;
      values[768 + 254] = -sign * kLargest / 2;
      const Encoded encoded = encode_row(each.name, values);
      CHECK(encoded.report.overflow.count == 3);
      CHECK(encoded.report.overflow.first_index == 256 + 7);
      CHECK(encoded.report.overflow.first_value == sign * each.too_much);
      CHECK(encoded.report.underflow.count == 0);
    }
  }
}

TEST_CASE("q4_1, q5_1: a minimum above f16 is an overflow, whatever the range") {
  for (const std::string name : {"q4_1", "q5_1"}) {
    for (const float far : {65520.0f, -65520.0f, 1e30f, -1e30f}) {
      CAPTURE(far);
      const Encoded encoded = encode_row(name, std::vector<float>(32, far));
      CHECK(encoded.report.overflow.count == 1);
      CHECK(encoded.report.overflow.first_value == far);
    }
    CHECK(encode_row(name, std::vector<float>(32, 65519.0f)).report.overflow.count == 0);
  }
}

TEST_CASE("GGUF blocks: a block whose f16 scales are zero is lost, and counted") {
  for (const std::string& name : kEncoding) {
    CAPTURE(name);
    for (const float tiny : {1e-9f, 1e-20f, 1e-38f, 0x1p-140f, 0x1p-149f}) {
      CAPTURE(tiny);
      std::vector<float> values(512, 0.0f);
      values[0] = 1.0f;  // the first block is an ordinary one
      for (std::size_t i = 256; i < 512; i += 3) values[i] = i % 2 == 0 ? tiny : -tiny;
      const Encoded encoded = encode_row(name, values);
      CHECK(encoded.report.underflow.count == 86);
      CHECK(encoded.report.underflow.first_index == 256);
      CHECK(encoded.report.overflow.count == 0);
      const std::vector<float> decoded = decode_row(name, encoded.components[0], 512);
      for (std::size_t i = 256; i < 512; ++i) CHECK(decoded[i] == 0);
    }
  }
}

TEST_CASE("GGUF blocks: scales that are subnormal in f16 still hold something") {
  for (const std::string& name : kEncoding) {
    CAPTURE(name);
    // The largest sub-block scale is about 20 of the smallest f16 steps.
    const float steps = name == "q4_1" ? 15 : name == "q5_0" ? 16 : name == "q5_1" ? 31 : 1000;
    std::vector<float> values(256, 0.0f);
    for (std::size_t i = 0; i < 256; ++i)
      values[i] = static_cast<float>(i % 7) * steps * 3 * 0x1p-24f;
    const Encoded encoded = encode_row(name, values);
    CHECK(encoded.report.underflow.count == 0);
    const std::vector<float> decoded = decode_row(name, encoded.components[0], 256);
    for (std::size_t i = 0; i < 256; ++i)
      CHECK(std::fabs(decoded[i] - values[i]) <= 3 * steps * 0x1p-24f);
  }
}

TEST_CASE("K layouts: sub-blocks that are nothing next to the others decode to zero") {
  for (const std::string name : {"q4_k", "q5_k", "q6_k"}) {
    CAPTURE(name);
    std::vector<float> values = normal_row(4, 0.0f, 1.0f);
    for (std::size_t i = 32; i < 64; ++i) values[i] *= 1e-6f;
    const Encoded encoded = encode_row(name, values);
    const std::vector<float> decoded = decode_row(name, encoded.components[0], 256);
    for (std::size_t i = 32; i < 64; ++i) CHECK(decoded[i] == 0);
    CHECK(encoded.report.underflow.count == 0);  // as a code 0 is under a large scale
  }
}

TEST_CASE("nearest_int takes halves to even, and any value at all") {
  const std::pair<float, int> cases[] = {{0.5f, 0},
                                         {1.5f, 2},
                                         {2.5f, 2},
                                         {-0.5f, 0},
                                         {-1.5f, -2},
                                         {-2.5f, -2},
                                         {0.49999997f, 0},
                                         {4194303.0f, 4194303},
                                         {-4194303.0f, -4194303},
                                         {kNan, 0},
                                         {kInfinity, -4194304}};
  for (const auto& [value, wanted] : cases) {
    CAPTURE(value);
    CHECK(nearest_int(value) == wanted);
  }
}

TEST_CASE("six-bit scales and minima come back from their twelve bytes") {
  std::mt19937 random(5);
  for (int round = 0; round < 100; ++round) {
    std::array<SixBits, 8> pairs;
    for (SixBits& pair : pairs)
      pair = {static_cast<unsigned>(random() % 64), static_cast<unsigned>(random() % 64)};
    std::byte bytes[kSixBitsBytes];
    store_six_bits(pairs, bytes);
    for (std::size_t j = 0; j < pairs.size(); ++j) {
      CHECK(load_six_bits(bytes, j).scale == pairs[j].scale);
      CHECK(load_six_bits(bytes, j).min == pairs[j].min);
    }
  }
}

TEST_CASE("mxfp4: every power of two and every code") {
  const double codes[] = {0, 0.5, 1, 1.5, 2, 3, 4, 6};
  for (int e = 0; e < 256; ++e) {
    CAPTURE(e);
    Bytes block(17);
    block[0] = static_cast<std::byte>(e);
    for (std::size_t j = 0; j < 16; ++j) block[1 + j] = static_cast<std::byte>(j | (15 - j) << 4);
    const std::vector<float> decoded = decode_row("mxfp4", block, 32);
    for (std::size_t j = 0; j < 16; ++j) {
      const double magnitude = std::ldexp(codes[j % 8], e - 127);
      const double value = j < 8 ? magnitude : -magnitude;
      const float wanted = magnitude > double{kLargest}
                               ? std::copysign(kInfinity, static_cast<float>(j < 8 ? 1 : -1))
                               : static_cast<float>(value == 0 ? 0 : value);
      CHECK(same_value(decoded[j], wanted));
      CHECK(same_value(decoded[31 - j], wanted));
    }
  }
}

TEST_CASE("codecs that are only read say so when they are to encode") {
  for (const std::string& name : kReadOnly) {
    CAPTURE(name);
    CHECK_FALSE(codec(name).info().encodes);
    CHECK(codec(name).supports(make_weight({2, 512})).ok);
    try {
      encode_row(name, std::vector<float>(256, 1.0f));
      FAIL_CHECK("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::usage);
      CHECK(error.problems().front().what == name + ":" + name + " is only read, never written");
    }
  }
}

}  // namespace synps::testing
