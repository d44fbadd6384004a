#include "exact_sum.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "float_bits.h"
#include "simd/sums.h"
#include "simd_targets.h"

namespace synps {
namespace {

constexpr float kLargest = std::numeric_limits<float>::max();

MagnitudeTotal total_of(const std::vector<float>& values) {
  MagnitudeTotal total;
  for (const float value : values) add_magnitude(total, f32_magnitude_bits(value));
  return total;
}

float mean_of(const std::vector<float>& values) {
  return rounded_mean(total_of(values), values.size());
}

}  // namespace

TEST_CASE("wide integers: carries run through all limbs") {
  WideUint<3> value;
  value.add(~std::uint64_t{0}, 0);
  value.add(~std::uint64_t{0}, 64);
  value.add(1, 0);
  CHECK(value.limbs == std::array<std::uint64_t, 3>{0, 0, 1});
  value.add(0xFF, 60);
  CHECK(value.limbs == std::array<std::uint64_t, 3>{std::uint64_t{0xF} << 60, 0xF, 1});
  CHECK(value.bit_length() == 129);
  CHECK(value.bits_from(60) == 0xFF);
  CHECK(value.any_below(61));
  CHECK_FALSE(value.any_below(60));
  CHECK(value.bit(67));
  CHECK_FALSE(value.bit(68));
}

TEST_CASE("wide integers: products and quotients undo each other") {
  std::mt19937_64 random(1);
  for (int round = 0; round < 2000; ++round) {
    WideUint<5> a;
    for (std::uint64_t& limb : a.limbs)
      limb = random() % 3 == 0 ? ~std::uint64_t{0} : random() >> (random() % 64);
    WideUint<1> b;
    b.limbs[0] = (random() >> (random() % 64)) | 1;
    const std::uint64_t rest = random() % b.limbs[0];
    WideUint<6> all = product(a, b);
    all.add(rest, 0);
    std::uint64_t remainder = 0;
    const WideUint<6> quotient = all.divided_by(b.limbs[0], remainder);
    CHECK(remainder == rest);
    CHECK(std::equal(a.limbs.begin(), a.limbs.end(), quotient.limbs.begin()));
    CHECK(quotient.limbs[5] == 0);
    const WideUint<6> swapped = product(b, a);
    CHECK((rest == 0 ? swapped == all : swapped < all));
  }
}

TEST_CASE("sums of magnitudes: a float is its own sum and mean") {
  std::mt19937 random(2);
  for (int i = 0; i < 100'000; ++i) {
    const float value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    if (!std::isfinite(value)) continue;
    if (mean_of({value}) != std::fabs(value)) FAIL_CHECK(value);
    if (mean_of({value, value, -value}) != std::fabs(value)) FAIL_CHECK(value);
  }
  for (const float value : {0.0f, 0x1p-149f, 0x1p-126f, 0x1.FFFFFCp-127f, kLargest})
    CHECK(mean_of({value, -value}) == value);
}

TEST_CASE("means are rounded once, to nearest even") {
  std::mt19937 random(3);
  for (int i = 0; i < 200'000; ++i) {
    // Up to 7 values with 20-bit significands near one another: their sum is exact in double. A
    // quotient of so few bits by so small a count is never so near a tie of f32 that rounding to
    // double first would move it.
    const auto count = 1 + random() % 7;
    std::vector<float> values(count);
    double sum = 0;
    for (float& value : values) {
      value = std::ldexp(static_cast<float>(random() & 0xFFFFF), static_cast<int>(random() % 8));
      sum += value;
    }
    const auto wanted = static_cast<float>(sum / static_cast<double>(count));
    if (mean_of(values) != wanted) FAIL_CHECK(sum << " / " << count);
  }
  CHECK(mean_of({1.0f, 0x1.000002p0f}) == 1.0f);                    // a tie, to even
  CHECK(mean_of({0x1.000002p0f, 0x1.000004p0f}) == 0x1.000004p0f);  // a tie, to even
  CHECK(mean_of({1.0f, 0x1.000002p0f, 0x1.000002p0f}) == 0x1.000002p0f);
  CHECK(mean_of({0x1p-149f, 0.0f}) == 0.0f);
  CHECK(mean_of({0x1p-149f, 0x1p-148f}) == 0x1p-148f);
  CHECK(mean_of({0x1p-149f, 0x1p-149f, 0.0f}) == 0x1p-149f);
  CHECK(mean_of({0x1.FFFFFEp-126f, 0x1.FFFFFEp-126f, 0x1p-125f}) == 0x1.FFFFFEp-126f);
}

TEST_CASE("a far smaller value decides a tie") {
  const float one = 1.0f;
  const float next = 0x1.000002p0f;
  MagnitudeTotal total = total_of({one, next});
  CHECK(rounded_mean(total, 2) == one);
  total.add(1, 0);  // 2^-149
  CHECK(rounded_mean(total, 2) == next);
}

TEST_CASE("the fast sum is the plain sum, in any order") {
  std::mt19937 random(4);
  std::vector<float> values(20'000);
  for (float& value : values) {
    do value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
    while (!std::isfinite(value));
  }
  values[0] = kLargest;
  values[1] = 0x1p-149f;
  const MagnitudeTotal plain = total_of(values);
  for (int i = 0; i < 3; ++i) {
    MagnitudeSum sum;
    for (const float value : values) sum.add(f32_magnitude_bits(value));
    CHECK(sum.total() == plain);
    std::shuffle(values.begin(), values.end(), random);
  }
  CHECK(MagnitudeSum{}.total() == MagnitudeTotal{});
}

TEST_CASE("sums of runs: exact in f64 where their span says so") {
  testing::for_each_simd_target([] {
    if (!simd::available()) return;
    std::mt19937 random(6);
    for (const std::size_t count : {1, 7, 8, 100, 1024, 4095, 4096}) {
      for (const int lowest : {0, 1, 2, 100, 200, 238}) {
        std::vector<float> values(count);
        for (float& value : values) {
          const auto exponent =
              static_cast<std::uint32_t>(lowest + static_cast<int>(random() % 17));
          const auto random_bits = static_cast<std::uint32_t>(random());
          value = std::bit_cast<float>((random_bits & 0x807F'FFFFu) | exponent << 23);
          if (random() % 8 == 0) value = 0;
        }
        const simd::Totals totals = simd::totals(values.data(), count);
        std::uint32_t largest = 0;
        std::uint32_t smallest = ~0u;
        for (const float value : values) {
          const std::uint32_t bits = f32_magnitude_bits(value);
          largest = std::max(largest, bits);
          if (bits != 0) smallest = std::min(smallest, bits);
        }
        CHECK(totals.largest_bits == largest);
        CHECK(totals.smallest_bits == smallest);
        CHECK(simd::largest_magnitude_bits(values.data(), count) == largest);
        if (largest == 0) continue;
        CHECK(simd::span_is_exact(smallest, largest));
        MagnitudeTotal total;
        add_exact_sum(total, totals.sum);
        CHECK(total == total_of(values));
      }
    }
    CHECK_FALSE(simd::span_is_exact(0x0080'0000u, 0x0900'0000u));
  });
}

}  // namespace synps
