#include "least_squares.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <vector>

#include "float_bits.h"
#include "hard_values.h"
#include "simd/sums.h"
#include "simd_targets.h"

// The choice that is found without a sort against the one that is found with it.

namespace synps::testing {
namespace {

/// How many rows, but for zeros, there were, and how many the fast function did itself.
struct Tally {
  std::size_t rows = 0;
  std::size_t fast = 0;
};

bool same_choice(std::span<const float> row, const TernaryFit& a, const TernaryFit& b) {
  if (std::bit_cast<std::uint32_t>(a.scale) != std::bit_cast<std::uint32_t>(b.scale)) return false;
  for (const float value : row)
    if (a.keeps(f32_magnitude_bits(value)) != b.keeps(f32_magnitude_bits(value))) return false;
  return true;
}

void check_row(std::span<const float> row, Tally& tally) {
  FitScratch scratch;
  const auto fast = fit_ternary_fast(row, scratch);
  if (std::all_of(row.begin(), row.end(), [](float value) { return value == 0; })) return;
  ++tally.rows;
  if (!fast) return;
  ++tally.fast;
  CHECK(same_choice(row, *fast, fit_ternary(row, scratch)));
}

/// Rows of `columns` from a distribution of magnitudes.
template <typename Draw>
Tally check_rows(std::size_t rows, std::size_t columns, Draw draw) {
  std::mt19937 random(static_cast<std::uint32_t>(columns));
  Tally tally;
  std::vector<float> row(columns);
  for (std::size_t r = 0; r < rows; ++r) {
    for (float& value : row) {
      value = draw(random);
      if (random() % 2 == 0) value = -value;
    }
    check_row(row, tally);
  }
  return tally;
}

float uniform(std::mt19937& random) {
  return static_cast<float>(random() >> 8) * 0x1p-24f;
}
float normal(std::mt19937& random) {
  return std::normal_distribution<float>()(random);
}

}  // namespace

TEST_CASE("least squares without a sort: rows of many distributions") {
  using Draw = float (*)(std::mt19937&);
  const Draw draws[] = {
      uniform,
      normal,
      [](std::mt19937& r) { return std::exp(3 * normal(r)); },   // far spread
      [](std::mt19937& r) { return 1 / (uniform(r) + 1e-6f); },  // heavy tail: few outliers
      [](std::mt19937& r) { return r() % 64 == 0 ? 30.0f : normal(r); },
      [](std::mt19937& r) { return r() % 2 == 0 ? 1e-4f * normal(r) : normal(r); },  // two humps
      [](std::mt19937& r) { return r() % 2 == 0 ? uniform(r) : 3 + uniform(r); },
      [](std::mt19937& r) { return r() % 3 == 0 ? 0.0f : 0.7f; },   // ternary already
      [](std::mt19937& r) { return static_cast<float>(r() % 4); },  // runs of equal magnitudes
      [](std::mt19937& r) { return std::round(8 * normal(r)) / 8; },
      [](std::mt19937& r) { return r() % 100 == 0 ? normal(r) : 0.0f; },
      [](std::mt19937&) { return 1.0f; },
  };
  for_each_simd_target([&] {
    for (std::size_t d = 0; d < std::size(draws); ++d) {
      CAPTURE(d);
      for (const std::size_t columns : {64, 65, 100, 768, 4096, 5000, 11008}) {
        CAPTURE(columns);
        const Tally tally = check_rows(12, columns, draws[d]);
        // Else the test would compare nothing. Far spread rows may be left to the sort.
        if (simd::available()) CHECK(tally.fast + (d == 2 || d == 3 ? 12 : 0) >= tally.rows);
      }
    }
  });
}

TEST_CASE("least squares without a sort: one value far out, at any distance") {
  for_each_simd_target([] {
    std::mt19937 random(1);
    std::vector<float> row(4096);
    Tally tally;
    for (float out = 1.0f; out < 1e6f; out *= 1.3f) {
      for (float& value : row) value = normal(random);
      row[random() % row.size()] = -out;
      check_row(row, tally);
    }
    if (simd::available()) CHECK(tally.fast == tally.rows);
  });
}

TEST_CASE("least squares without a sort: ties between keeping few and many") {
  // One magnitude of 1 and n - 1 of a: (1 + (n-1)a)²/n = 1 where a = 1/(√n + 1); for n = 9 and 1/4,
  // n = 49 and 1/8, n = 225 and 1/16 both sides are equal, and the smaller number is to be kept.
  for_each_simd_target([] {
    for (const std::size_t n : {9, 49, 225}) {
      const float a = 1 / (std::sqrt(static_cast<float>(n)) + 1);
      for (const float nudged : {a, std::nextafter(a, 0.0f), std::nextafter(a, 1.0f)}) {
        std::vector<float> row(300, 0.0f);
        row[17] = -1.0f;
        for (std::size_t i = 0; i + 1 < n; ++i) row[20 + i] = nudged;
        Tally tally;
        check_row(row, tally);
        if (simd::available()) CHECK(tally.fast == 1);
      }
    }
  });
}

TEST_CASE("least squares without a sort: any scale, and rows that it leaves alone") {
  for_each_simd_target([] {
    std::mt19937 random(2);
    std::vector<float> row(512);
    for (int exponent = -149; exponent <= 127; ++exponent) {
      for (float& value : row) value = std::ldexp(uniform(random), exponent);
      Tally tally;
      check_row(row, tally);
      if (simd::available() && exponent > -80 && exponent < 90) CHECK(tally.fast == 1);
    }
    FitScratch scratch;
    CHECK_FALSE(fit_ternary_fast(std::vector<float>(512, 0.0f), scratch));
    CHECK_FALSE(fit_ternary_fast(std::vector<float>(63, 1.0f), scratch));
    for (const float special : special_values()) {
      if (f32_is_finite(special)) continue;
      for (const std::size_t i : {0, 5, 510, 511}) {
        std::vector<float> values(512, 1.0f);
        values[i] = special;
        CHECK_FALSE(fit_ternary_fast(values, scratch));
      }
    }
  });
}

TEST_CASE("least squares without a sort: a long row") {
  for_each_simd_target([] {
    const Tally tally = check_rows(1, std::size_t{1} << 20, normal);
    if (simd::available()) CHECK(tally.fast == 1);
  });
}

}  // namespace synps::testing
