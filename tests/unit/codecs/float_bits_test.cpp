#include "float_bits.h"

#include <doctest/doctest.h>

#include <cfenv>
#include <cmath>
#include <limits>
#include <random>

#include "rounding.h"
#include "synps/testing/small_floats.h"

namespace synps {
using testing::FloatFormat;

namespace {

constexpr FloatFormat kF16{5, 10, 15, FloatFormat::Specials::ieee};
constexpr FloatFormat kBf16{8, 7, 127, FloatFormat::Specials::ieee};

std::uint32_t bits_of(float value) {
  return std::bit_cast<std::uint32_t>(value);
}
float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// A value rounded to a format in double arithmetic: scaled so that the format's last place is 1,
/// rounded by the machine, scaled back.
double round_in_double(double value, int fraction_bits, int smallest_exponent, double overflow) {
  if (value == 0 || std::isinf(value)) return value;
  if (std::fabs(value) >= overflow) return std::copysign(HUGE_VAL, value);
  const int exponent = std::max(std::ilogb(value), smallest_exponent);
  const double steps = std::nearbyint(std::ldexp(value, fraction_bits - exponent));
  return std::ldexp(steps, exponent - fraction_bits);
}

/// f32 bits that stress rounding: random ones, and random ones next to a tie.
std::uint32_t stressing_bits(std::mt19937& random, unsigned dropped_bits) {
  auto bits = static_cast<std::uint32_t>(random());
  const std::uint32_t half = 1u << (dropped_bits - 1);
  switch (random() % 4) {
    case 0:
      bits = (bits & ~(2 * half - 1)) | half;
      break;
    case 1:
      bits = ((bits & ~(2 * half - 1)) | half) + 1;
      break;
    case 2:
      bits = ((bits & ~(2 * half - 1)) | half) - 1;
      break;
    default:
      break;
  }
  return bits;
}

}  // namespace

TEST_CASE("f16 and bf16: all 65536 patterns have the value that their fields say") {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const double f16 = kF16.value(i);
    const double bf16 = kBf16.value(i);
    const bool same = testing::same_value(f32_from_f16(half), static_cast<float>(f16)) &&
                      testing::same_value(f32_from_bf16(half), static_cast<float>(bf16));
    if (!same) FAIL_CHECK("pattern " << i);
  }
}

TEST_CASE("f16 and bf16: all 65536 patterns come back, a NaN quieted") {
  for (std::uint32_t i = 0; i < 65536; ++i) {
    const auto half = static_cast<std::uint16_t>(i);
    const bool f16_nan = (i & 0x7FFF) > 0x7C00;
    const auto f16 = static_cast<std::uint16_t>(f16_nan ? (i & 0x8000) | 0x7E00 : i);
    if (f16_from_f32(f32_from_f16(half)) != f16) FAIL_CHECK("f16 " << i);
    const bool bf16_nan = (i & 0x7FFF) > 0x7F80;
    const auto bf16 = static_cast<std::uint16_t>(bf16_nan ? i | 0x40 : i);
    if (bf16_from_f32(f32_from_bf16(half)) != bf16) FAIL_CHECK("bf16 " << i);
  }
}

TEST_CASE("f16: rounding agrees with double arithmetic") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  std::mt19937 random(16);
  for (int i = 0; i < 2'000'000; ++i) {
    std::uint32_t bits = stressing_bits(random, 13);
    if (i % 2 == 0) bits = (bits & 0x87FF'FFFFu) + 0x3400'0000u;  // around the range of f16
    const float value = float_of(bits);
    if (std::isnan(value)) continue;
    const double wanted = round_in_double(value, 10, -14, 65520);
    const float got = f32_from_f16(f16_from_f32(value));
    if (bits_of(got) != bits_of(static_cast<float>(wanted)))
      FAIL_CHECK("f32 bits " << bits << " became " << got << ", want " << wanted);
  }
}

TEST_CASE("bf16: rounding agrees with double arithmetic") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  std::mt19937 random(17);
  for (int i = 0; i < 2'000'000; ++i) {
    const std::uint32_t bits = stressing_bits(random, 16);
    const float value = float_of(bits);
    if (std::isnan(value)) continue;
    const double wanted = round_in_double(value, 7, -126, 0x1.FFp127);
    const float got = f32_from_bf16(bf16_from_f32(value));
    if (bits_of(got) != bits_of(static_cast<float>(wanted)))
      FAIL_CHECK("f32 bits " << bits << " became " << got << ", want " << wanted);
  }
}

TEST_CASE("f16: edges") {
  CHECK(f16_from_f32(65504.0f) == 0x7BFF);
  CHECK(f16_from_f32(65519.996f) == 0x7BFF);
  CHECK(f16_from_f32(65520.0f) == 0x7C00);
  CHECK(f16_from_f32(-65520.0f) == 0xFC00);
  CHECK(f16_from_f32(0x1p-24f) == 1);
  CHECK(f16_from_f32(0x1p-25f) == 0);  // a tie, to even
  CHECK(f16_from_f32(0x1.000002p-25f) == 1);
  CHECK(f16_from_f32(0x1.8p-24f) == 2);
  CHECK(f16_from_f32(0x1.FFFFFEp-15f) == 0x0400);  // rounds up to the smallest normal
  CHECK(f16_from_f32(-0.0f) == 0x8000);
  CHECK(f16_from_f32(-0x1p-149f) == 0x8000);
  CHECK(f16_from_f32(float_of(0x7F800001)) == 0x7E00);
  CHECK(f16_from_f32(float_of(0xFFFFFFFF)) == 0xFE00);
  CHECK(bits_of(f32_from_f16(0x7C01)) == 0x7FC02000);
  CHECK(bits_of(f32_from_f16(0xFE34)) == 0xFFC68000);
}

TEST_CASE("bf16: edges") {
  CHECK(bf16_from_f32(0x1.FEp127f) == 0x7F7F);
  CHECK(bf16_from_f32(0x1.FEFFFEp127f) == 0x7F7F);
  CHECK(bf16_from_f32(0x1.FFp127f) == 0x7F80);
  CHECK(bf16_from_f32(0x1p-133f) == 1);
  CHECK(bf16_from_f32(0x1p-134f) == 0);
  CHECK(bf16_from_f32(float_of(0x8001)) == 1);
  CHECK(bf16_from_f32(1.00390625f) == 0x3F80);  // a tie, to even
  CHECK(bf16_from_f32(1.01171875f) == 0x3F82);
  CHECK(bf16_from_f32(float_of(0x7F800001)) == 0x7FC0);
  CHECK(bf16_from_f32(float_of(0xFFABCDEF)) == 0xFFEB);
  CHECK(bits_of(f32_from_bf16(0x7F81)) == 0x7F810000);
}

TEST_CASE("f64 to f32: what a cast gives") {
  REQUIRE(std::fegetround() == FE_TONEAREST);
  std::mt19937_64 random(64);
  for (int i = 0; i < 1'000'000; ++i) {
    std::uint64_t bits = random();
    if (i % 4 != 0)  // the exponents of f32, subnormals included
      bits = (bits & 0x800F'FFFF'FFFF'FFFFu) | ((868 + random() % 284) << 52);
    if (i % 8 == 1) bits &= ~std::uint64_t{0x0FFF'FFFF};  // ties
    const double value = std::bit_cast<double>(bits);
    if (std::isnan(value) || std::fabs(value) >= 0x1.FFFFFFp127) continue;
    if (bits_of(f32_from_f64(value)) != bits_of(static_cast<float>(value)))
      FAIL_CHECK("f64 bits " << bits);
  }
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(f32_from_f64(0x1.FFFFFEFFFFFFFp127) == std::numeric_limits<float>::max());
  CHECK(f32_from_f64(0x1.FFFFFFp127) == infinity);
  CHECK(f32_from_f64(-1e300) == -infinity);
  CHECK(f32_from_f64(std::numeric_limits<double>::infinity()) == infinity);
  CHECK(f32_from_f64(0x1p-150) == 0);
  CHECK(f32_from_f64(0x1.0000000000001p-150) == 0x1p-149f);
  CHECK(bits_of(f32_from_f64(-0.0)) == 0x80000000);
  CHECK(bits_of(f32_from_f64(std::bit_cast<double>(0x7FF0'0000'0000'0001u))) == 0x7FC00000);
  CHECK(bits_of(f32_from_f64(std::bit_cast<double>(0xFFF8'0000'2000'0000u))) == 0xFFC00001);
}

TEST_CASE("round_half_away: what std::round gives") {
  for (const float magnitude : {0.0f, 0.49999997f, 0.5f, 0.50000006f, 1.4999999f, 1.5f, 2.5f,
                                126.5f, 126.49999f, 127.0f, 8388606.5f, 0x1p-149f}) {
    CHECK(round_half_away(magnitude) == static_cast<int>(std::round(magnitude)));
    CHECK(round_half_away(-magnitude) == static_cast<int>(std::round(-magnitude)));
  }
  std::mt19937 random(18);
  for (int i = 0; i < 1'000'000; ++i) {
    const float value = static_cast<float>(static_cast<std::int32_t>(random())) * 0x1p-24f;
    if (round_half_away(value) != static_cast<int>(std::round(value))) FAIL_CHECK(value);
  }
}

}  // namespace synps
