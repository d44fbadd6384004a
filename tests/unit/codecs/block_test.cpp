#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <string>

#include "bytes.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"

// The GGUF block layouts: what holds for all four, then each one's own edges. Equality with the
// reference on ordinary values is in golden_test.cpp.

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

struct Layout {
  std::string name;
  std::size_t elements;
  std::size_t bytes;
  std::size_t scale_at;
  double divisor;  ///< d = max|x| / divisor
  double error;    ///< in units of d
};
const std::vector<Layout> kLayouts = {{"q8_0", 32, 34, 0, 127, 0.563},
                                      {"q4_0", 32, 18, 0, 8, 1.004},
                                      {"ternary:tq1_0", 256, 54, 52, 1, 0.501},
                                      {"ternary:tq2_0", 256, 66, 64, 1, 0.501}};

const Codec& codec(const std::string& name) {
  return *builtin_registry().resolve(name);
}

Encoded encode_row(const std::string& name, const std::vector<float>& values) {
  return encode_all(codec(name), make_weight({values.size()}), values);
}

std::vector<float> decode_row(const std::string& name, const Encoded& encoded, std::size_t count) {
  return decode_all(codec(name), make_weight({count}), encoded.components);
}

std::uint16_t scale_of(const Layout& layout, const Encoded& encoded, std::size_t block = 0) {
  return load<std::uint16_t>(encoded.components[0].data() + block * layout.bytes + layout.scale_at);
}

/// The first block with all codes zero, and this f16 scale.
Bytes zero_block(const Layout& layout, std::uint16_t scale) {
  Encoded zeros = encode_row(layout.name, std::vector<float>(layout.elements, 0.0f));
  store(zeros.components[0].data() + layout.scale_at, scale);
  return zeros.components[0];
}

}  // namespace

TEST_CASE("block codecs: the error stays within the stated bound") {
  std::mt19937 random(1);
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    for (int round = 0; round < 400; ++round) {
      std::vector<float> values =
          finite_values(layout.elements, static_cast<std::uint32_t>(random()));
      const float magnitude = std::ldexp(1.0f, static_cast<int>(random() % 36) - 30);
      float largest = 0;
      for (float& value : values) {
        value *= magnitude;
        largest = std::max(largest, std::fabs(value));
      }
      const Encoded encoded = encode_row(layout.name, values);
      const std::vector<float> decoded = decode_row(layout.name, encoded, values.size());
      const double d = largest / layout.divisor;
      const double bound = layout.error * d + (d < 0x1p-14 ? layout.divisor * 0x1p-25 : 0);
      for (std::size_t i = 0; i < values.size(); ++i)
        if (std::fabs(double{decoded[i]} - double{values[i]}) > bound)
          FAIL_CHECK(values[i] << " became " << decoded[i] << ", d " << d);
    }
  }
}

TEST_CASE("block codecs: a block of zeros of either sign") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    std::vector<float> values(layout.elements, 0.0f);
    const Encoded positive = encode_row(layout.name, values);
    for (std::size_t i = 0; i < values.size(); i += 2) values[i] = -0.0f;
    const Encoded mixed = encode_row(layout.name, values);
    CHECK(positive.components == mixed.components);
    CHECK(scale_of(layout, positive) == (layout.name == "q4_0" ? 0x8000 : 0));
    CHECK(mixed.report.underflow.count == 0);
    for (const float value : decode_row(layout.name, mixed, values.size())) CHECK(value == 0);
  }
}

TEST_CASE("block codecs: NaN and infinities are counted and stored as zero") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    std::vector<float> values = finite_values(2 * layout.elements, 9);
    std::vector<float> zeroed = values;
    const std::size_t second = layout.elements;
    values[3] = kNan;
    values[second] = -kInfinity;
    values[second + 5] = kInfinity;
    values[second + 6] = -kNan;
    for (const std::size_t i : {std::size_t{3}, second, second + 5, second + 6}) zeroed[i] = 0;
    const Encoded encoded = encode_row(layout.name, values);
    CHECK(encoded.components == encode_row(layout.name, zeroed).components);
    CHECK(encoded.report.non_finite.count == 4);
    CHECK(encoded.report.non_finite.first_index == 3);
    CHECK(std::isnan(encoded.report.non_finite.first_value));
    CHECK(encoded.report.overflow.count == 0);
    const std::vector<float> all_nan(layout.elements, kNan);
    CHECK(encode_row(layout.name, all_nan).components[0] ==
          encode_row(layout.name, std::vector<float>(layout.elements, 0.0f)).components[0]);
  }
}

TEST_CASE("block codecs: a scale above f16 is one overflow a block, by its largest value") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    const auto limit = static_cast<float>(65520 * layout.divisor);
    std::vector<float> values(3 * layout.elements, 1.0f);
    values[1] = std::nextafter(limit, 0.0f);
    values[layout.elements + 2] = limit;
    values[2 * layout.elements + 7] = 3.0e38f;
    values[2 * layout.elements + 9] = -kLargest;
    const Encoded encoded = encode_row(layout.name, values);
    CHECK((scale_of(layout, encoded, 0) & 0x7FFF) == 0x7BFF);
    CHECK((scale_of(layout, encoded, 1) & 0x7FFF) == 0x7C00);
    CHECK((scale_of(layout, encoded, 2) & 0x7FFF) == 0x7C00);
    CHECK(encoded.report.overflow.count == 2);
    CHECK(encoded.report.overflow.first_index == layout.elements + 2);
    CHECK(encoded.report.overflow.first_value == limit);
    const std::vector<float> last(values.begin() + static_cast<std::ptrdiff_t>(2 * layout.elements),
                                  values.end());
    CHECK(encode_row(layout.name, last).report.overflow.first_value == -kLargest);
  }
}

TEST_CASE("block codecs: a scale that f16 rounds to zero loses the block") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    const auto half = static_cast<float>(0x1p-25 * layout.divisor);  // d is a tie, to zero
    std::vector<float> values(2 * layout.elements, 0.0f);
    values[1] = half;
    values[2] = -half / 2;
    values[layout.elements] = half * 1.0001f;
    const Encoded encoded = encode_row(layout.name, values);
    CHECK((scale_of(layout, encoded, 0) & 0x7FFF) == 0);
    CHECK((scale_of(layout, encoded, 1) & 0x7FFF) == 1);
    CHECK(encoded.report.underflow.count == 2);
    CHECK(encoded.report.underflow.first_index == 1);
    CHECK(encoded.report.underflow.first_value == half);
    const std::vector<float> decoded = decode_row(layout.name, encoded, values.size());
    CHECK(decoded[1] == 0);
    CHECK(decoded[layout.elements] != 0);
  }
}

TEST_CASE("block codecs: a block so small that 1/d is infinite has zero codes") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    // The largest d whose reciprocal overflows is 2^-128.
    for (const double d : {0x1p-128, 0x1p-140, 0x1p-149}) {
      const auto largest = static_cast<float>(d * layout.divisor);
      std::vector<float> values(layout.elements, largest);
      values[1] = -largest;
      const Encoded encoded = encode_row(layout.name, values);
      // The scale of q4_0 has the sign opposite to the first largest value.
      CHECK(encoded.components[0] == zero_block(layout, layout.name == "q4_0" ? 0x8000 : 0));
      CHECK(encoded.report.underflow.count == layout.elements);
    }
    // One step above, the codes are those of any other block.
    const auto above = static_cast<float>(0x1.000008p-128 * layout.divisor);
    const Encoded encoded = encode_row(layout.name, std::vector<float>(layout.elements, above));
    CHECK(encoded.components[0] != zero_block(layout, layout.name == "q4_0" ? 0x8000 : 0));
    CHECK(encoded.report.underflow.count == layout.elements);
  }
}

TEST_CASE("block codecs: f32 subnormals") {
  for (const Layout& layout : kLayouts) {
    CAPTURE(layout.name);
    std::vector<float> values(layout.elements);
    for (std::size_t i = 0; i < values.size(); ++i)
      values[i] = std::ldexp(static_cast<float>(i), -149);
    const Encoded encoded = encode_row(layout.name, values);
    CHECK(encoded.report.underflow.count == layout.elements - 1);
    CHECK(encoded.report.underflow.first_index == 1);
    for (const float value : decode_row(layout.name, encoded, values.size())) CHECK(value == 0);
  }
}

TEST_CASE("q8_0: ties go away from zero, whatever the scale") {
  std::vector<float> values(32, 0.0f);
  values[0] = 127;
  for (int i = 1; i < 32; ++i)
    values[static_cast<std::size_t>(i)] = static_cast<float>(i - 16) + 0.5f;
  const Encoded encoded = encode_row("q8_0", values);
  for (int i = 1; i < 32; ++i) {
    const int wanted = i < 16 ? i - 16 : i - 15;
    CHECK(load<std::int8_t>(encoded.components[0].data() + 2 + i) == wanted);
  }
}

TEST_CASE("q8_0: one outlier leaves the rest zero, equal magnitudes are all largest") {
  std::vector<float> values(32, 0.003f);
  values[31] = -1.0f;
  const Encoded outlier = encode_row("q8_0", values);
  CHECK(load<std::int8_t>(outlier.components[0].data() + 2) == 0);
  CHECK(load<std::int8_t>(outlier.components[0].data() + 2 + 31) == -127);
  for (std::size_t i = 0; i < 32; ++i) values[i] = i % 2 == 0 ? 0.7f : -0.7f;
  const Encoded equal = encode_row("q8_0", values);
  for (std::size_t i = 0; i < 32; ++i)
    CHECK(load<std::int8_t>(equal.components[0].data() + 2 + i) == (i % 2 == 0 ? 127 : -127));
}

TEST_CASE("q4_0: the first of the largest magnitudes decides the sign of the scale") {
  std::vector<float> values(32, 0.0f);
  values[4] = 8;
  values[5] = -8;
  Encoded encoded = encode_row("q4_0", values);
  CHECK(load<std::uint16_t>(encoded.components[0].data()) == 0xBC00);  // -1
  std::vector<float> decoded = decode_row("q4_0", encoded, 32);
  CHECK(decoded[4] == 8);
  CHECK(decoded[5] == -7);  // there is no code for it
  std::swap(values[4], values[5]);
  encoded = encode_row("q4_0", values);
  CHECK(load<std::uint16_t>(encoded.components[0].data()) == 0x3C00);
  decoded = decode_row("q4_0", encoded, 32);
  CHECK(decoded[4] == -8);
  CHECK(decoded[5] == 7);
}

TEST_CASE("q4_0: a half step goes to the next higher code") {
  std::vector<float> values(32, 0.0f);
  values[0] = -8;  // d = 1
  values[1] = 0.5f;
  values[2] = -0.5f;
  values[3] = 6.5f;
  values[4] = -7.5f;
  values[16] = 7.5f;
  const std::vector<float> decoded = decode_row("q4_0", encode_row("q4_0", values), 32);
  CHECK(decoded[0] == -8);
  CHECK(decoded[1] == 1);
  CHECK(decoded[2] == 0);
  CHECK(decoded[3] == 7);
  CHECK(decoded[4] == -7);
  CHECK(decoded[16] == 7);
}

TEST_CASE("q4_0: element j is the low half of byte j, element j + 16 the high half") {
  std::vector<float> values(32, 0.0f);
  values[0] = -8;
  values[3] = 3;
  values[19] = -2;
  const Encoded encoded = encode_row("q4_0", values);
  CHECK(load<std::uint8_t>(encoded.components[0].data() + 2) == 0x80);
  CHECK(load<std::uint8_t>(encoded.components[0].data() + 2 + 3) == 0x6B);
}

TEST_CASE("tq1_0 and tq2_0: half the largest value is kept, the float below it is not") {
  for (const std::string name : {"ternary:tq1_0", "ternary:tq2_0"}) {
    std::vector<float> values(256, 0.0f);
    values[255] = 1;
    values[0] = 0.5f;
    values[1] = -0.5f;
    values[2] = std::nextafter(0.5f, 0.0f);
    values[3] = -0.25f;
    const std::vector<float> decoded = decode_row(name, encode_row(name, values), 256);
    CHECK(decoded[255] == 1);
    CHECK(decoded[0] == 1);
    CHECK(decoded[1] == -1);
    CHECK(decoded[2] == 0);
    CHECK(decoded[3] == 0);
  }
}

TEST_CASE("tq1_0 and tq2_0: every place of a block comes back") {
  for (const std::string name : {"ternary:tq1_0", "ternary:tq2_0"}) {
    for (std::size_t place = 0; place < 256; ++place) {
      std::vector<float> values(256, 0.0f);
      values[place] = -0.375f;  // which f16 holds
      if (decode_row(name, encode_row(name, values), 256) != values) FAIL_CHECK(name << place);
    }
  }
}

TEST_CASE("tq1_0: every byte of five trits decodes to the trits that it was packed from") {
  std::mt19937 random(3);
  for (int round = 0; round < 50; ++round) {
    std::vector<float> values(256);
    for (float& value : values) value = static_cast<float>(static_cast<int>(random() % 3) - 1);
    values[0] = 1;
    CHECK(decode_row("ternary:tq1_0", encode_row("ternary:tq1_0", values), 256) == values);
  }
}

}  // namespace synps::testing
