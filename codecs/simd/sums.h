#pragma once

#include <cstddef>
#include <cstdint>

namespace synps::simd {

// What the ternary codecs ask of a run of magnitudes. Without SIMD `available()` is false and the
// others must not be called.

/// Whether this machine has SIMD that the kernels are made for.
bool available();

/// The most elements that one call of the functions below takes: their sums in f32 then are within
/// a factor of 1 ± kSumError, and there is room for exact ones in f64.
inline constexpr std::size_t kSumRun = 4096;

/// A lane adds at most kSumRun / 4 magnitudes in f32, each time off by a factor of 1 ± 2^-24, and
/// the lanes are added in f64. (1 + 2^-24)^1024 is below 1 + 2^-13.9.
inline constexpr double kSumError = 0x1p-13;

/// Bits of the largest magnitude, beyond infinity's with a NaN. Any count.
std::uint32_t largest_magnitude_bits(const float* in, std::size_t count);

struct Totals {
  std::uint32_t largest_bits = 0;   ///< of the magnitudes; beyond infinity's with a NaN
  std::uint32_t smallest_bits = 0;  ///< of those that are not zero; ~0 if there are none
  double sum = 0;                   ///< of the magnitudes, in f64, in some order
};

/// The sum is exact when span_is_exact() says so.
Totals totals(const float* in, std::size_t count);

/// Whether every partial sum of `kSumRun` multiples of the last place of the smallest magnitude, up
/// to the largest, is an f64: 24 bits of a significand, 12 of the count, 1 for rounding up; so the
/// exponents may differ by 16.
constexpr bool span_is_exact(std::uint32_t smallest_bits, std::uint32_t largest_bits) noexcept {
  return (largest_bits >> 23) - (smallest_bits >> 23) <= 16;
}

/// How many magnitudes are at least `low`, at least `high`, and their sums (1 ± kSumError).
struct Tails {
  std::size_t count_low = 0;
  std::size_t count_high = 0;
  double sum_low = 0;
  double sum_high = 0;
};

/// 0 < low <= high. Finite values, the largest below 2^100.
Tails tails(const float* in, std::size_t count, float low, float high);

/// The largest magnitude below `bound`; 0 if there is none.
float largest_below(const float* in, std::size_t count, float bound);

struct Split {
  std::size_t between = 0;  ///< magnitudes from `low` to below `high`, written out
  std::size_t count_high = 0;
  double sum_high = 0;  ///< of those at least `high`, in f64: exact if their span is
};

/// Writes the magnitudes in [low, high) to `out`, in order, and adds up those above. `out` may be
/// `in` or lie before it; it has kSplitSlack elements more than it will hold.
Split split(const float* in, std::size_t count, float low, float high, float* out);

inline constexpr std::size_t kSplitSlack = 16;

}  // namespace synps::simd
