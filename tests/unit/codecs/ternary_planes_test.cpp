#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bytes.h"
#include "float_bits.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Codec& planes() {
  return *builtin_registry().resolve("ternary:planes");
}

Encoded encode_row(const std::vector<float>& values) {
  return encode_all(planes(), make_weight({values.size()}), values);
}
std::uint16_t scale_of(const Encoded& encoded) {
  return load<std::uint16_t>(encoded.components[1].data());
}

/// Digit of element `i` of a row of one group in plane `p`.
int digit(const Encoded& encoded, std::size_t p, std::size_t i) {
  const auto byte = std::to_integer<unsigned>(encoded.components[0][p * 32 + i % 32]);
  return static_cast<int>((byte >> (2 * (i / 32))) & 3) - 1;
}

}  // namespace

TEST_CASE("planes: digits are those of the value in balanced base 3") {
  // 1, 1/3, -1/3 + 1/9, 0 of scale 1: digits of 3^0, 3^-1, …
  const Encoded encoded = encode_row({1, 0.5f, -0.5f, 0, std::nextafter(0.5f, 1.0f)});
  CHECK(scale_of(encoded) == 0x3C00);
  CHECK(digit(encoded, 0, 0) == 1);
  for (std::size_t p = 1; p < 8; ++p) CHECK(digit(encoded, p, 0) == 0);
  CHECK(digit(encoded, 0, 1) == 0);  // one half is not above one half
  for (std::size_t p = 1; p < 8; ++p) {
    CHECK(digit(encoded, p, 1) == 1);
    CHECK(digit(encoded, p, 2) == -1);
  }
  CHECK(digit(encoded, 0, 4) == 1);
  CHECK(digit(encoded, 1, 4) == -1);
  for (std::size_t p = 0; p < 8; ++p) {
    CHECK(digit(encoded, p, 3) == 0);
    CHECK(digit(encoded, p, 100) == 0);  // padding
  }
}

TEST_CASE("planes: values are scale × (V / 2187), both operations in f32") {
  const Weight weight = make_weight({1});
  std::mt19937 random(1);
  for (int round = 0; round < 2000; ++round) {
    Bytes codes(256, std::byte{0x55});
    int value = 0;
    for (std::size_t p = 0; p < 8; ++p) {
      const auto trit = random() % 4;
      codes[p * 32] = static_cast<std::byte>(0x54 | trit);
      value = 3 * value + static_cast<int>(trit) - 1;
    }
    const float scale = round % 2 == 0 ? 0.7001953125f : -12.0f;
    Bytes stored(2);
    store<std::uint16_t>(stored.data(), round % 2 == 0 ? 0x399A : 0xCA00);
    const float quotient = static_cast<float>(value) / 2187.0f;
    CHECK(same_value(decode_all(planes(), weight, {codes, stored})[0], scale * quotient));
  }
}

TEST_CASE("planes: the scale is the largest magnitude in f16, read back") {
  CHECK(scale_of(encode_row({0.1f, -0.3f})) == 0x34CD);  // 0.3000488
  CHECK(scale_of(encode_row({0, 0})) == 0);
  CHECK(scale_of(encode_row({-0.0f})) == 0);
  // f16 rounds 1.0004 down to 1: the ratio is above 1 and the digits go on from there.
  const std::vector<float> values = {1.0004f};
  const float decoded = round_trip(planes(), make_weight({1}), values)[0];
  CHECK(std::fabs(decoded - 1.0004f) < 2.3e-4f);
  CHECK(decoded > 1);
}

TEST_CASE("planes: the error stays within the stated bound") {
  std::mt19937 random(2);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> values =
        finite_values(1 + random() % 300, static_cast<std::uint32_t>(random()));
    const float magnitude = std::ldexp(1.0f, static_cast<int>(random() % 28) - 22);
    for (float& value : values) value *= magnitude;
    const Weight weight = make_weight({values.size()});
    const Encoded encoded = encode_row(values);
    const std::uint16_t bits = scale_of(encoded);
    if (bits == 0) continue;
    const double bound = 2.3e-4 * f32_from_f16(bits);
    const std::vector<float> decoded = decode_all(planes(), weight, encoded.components);
    for (std::size_t i = 0; i < values.size(); ++i)
      if (std::fabs(double{decoded[i]} - double{values[i]}) > bound)
        FAIL_CHECK(values[i] << " became " << decoded[i] << ", bound " << bound);
  }
}

TEST_CASE("planes: a scale at the bottom of f16") {
  // 1.5 × 2^-24 is a tie, to even: 2^-23.
  CHECK(scale_of(encode_row({0x1.8p-24f})) == 2);
  // The worst ratio: f16 rounds 1.4999 steps down to one.
  const std::vector<float> values = {0x1.7FFp-24f, -0x1p-26f};
  const Encoded encoded = encode_row(values);
  CHECK(scale_of(encoded) == 1);
  CHECK(encoded.report.underflow.count == 0);
  const std::vector<float> decoded = decode_all(planes(), make_weight({2}), encoded.components);
  for (std::size_t i = 0; i < 2; ++i)
    CHECK(std::fabs(double{decoded[i]} - double{values[i]}) <= 2.3e-4 * 0x1p-24);
}

TEST_CASE("planes: a scale that is zero in f16 loses the row, and says so") {
  const Encoded encoded = encode_row({0, 0x1p-25f, -0x1p-149f});
  CHECK(scale_of(encoded) == 0);
  CHECK(encoded.components[0] == Bytes(256, std::byte{0x55}));
  CHECK(encoded.report.underflow.count == 2);
  CHECK(encoded.report.underflow.first_index == 1);
}

TEST_CASE("planes: a scale above f16 is one overflow a row") {
  const std::vector<float> values = {1, -65519, 2, 3, 65520, -65520, 1, 2, -1e30f};
  const Encoded encoded = encode_all(planes(), make_weight({3, 3}), values);
  CHECK(encoded.report.overflow.count == 2);
  CHECK(encoded.report.overflow.first_index == 4);
  CHECK(encoded.report.overflow.first_value == 65520);
  CHECK(load<std::uint16_t>(encoded.components[1].data()) == 0x7BFF);
  CHECK(load<std::uint16_t>(encoded.components[1].data() + 2) == 0x7C00);
  const Bytes last(encoded.components[0].begin() + 512, encoded.components[0].end());
  CHECK(last == Bytes(256, std::byte{0x55}));
}

TEST_CASE("planes: NaN and infinities are counted and stored as zero") {
  const Encoded encoded = encode_row({0.5f, kNan, kInfinity, -kInfinity, 0.25f});
  CHECK(encoded.components == encode_row({0.5f, 0, 0, 0, 0.25f}).components);
  CHECK(encoded.report.non_finite.count == 3);
  CHECK(encoded.report.non_finite.first_index == 1);
  CHECK(encoded.report.overflow.count == 0);
}

TEST_CASE("planes: ternary rows whose scale f16 holds are exact") {
  const std::vector<float> values = {0.375f, 0, -0.375f, -0.375f, 0, 0.375f};
  CHECK(round_trip(planes(), make_weight({6}), values) == values);
}

TEST_CASE("planes: a row's planes follow one another, each padded to whole groups") {
  std::vector<float> values(129, 0.0f);
  values[128] = 1;
  const Encoded encoded = encode_row(values);
  Bytes wanted(512, std::byte{0x55});
  wanted[32] = std::byte{0x56};  // plane 0, group 1, byte 0
  CHECK(encoded.components[0] == wanted);
}

}  // namespace synps::testing
