#pragma once

#include <array>
#include <cstdint>

#include "wide_uint.h"

namespace synps {

/// A sum of f32 magnitudes, exact, in units of 2^-149 (the smallest subnormal). One magnitude is
/// below 2^128, or 2^277 units; 2^64 of them stay below 2^341.
using MagnitudeTotal = WideUint<6>;

/// Adds |value|, given as the bits of a finite f32 without its sign.
constexpr void add_magnitude(MagnitudeTotal& total, std::uint32_t magnitude_bits) noexcept {
  const std::uint32_t exponent = magnitude_bits >> 23;
  const std::uint32_t fraction = magnitude_bits & 0x7F'FFFFu;
  if (exponent == 0) return total.add(fraction, 0);
  total.add(fraction | 0x80'0000u, exponent - 1);
}

/// Adds a sum of f32 magnitudes that is exact in f64.
void add_exact_sum(MagnitudeTotal& total, double sum) noexcept;

/// total / count, rounded once to the nearest f32, ties to even. count > 0, and the quotient is at
/// most the largest finite f32.
float rounded_mean(const MagnitudeTotal& total, std::uint64_t count) noexcept;

/// The same sum for very many values: one addition each, whatever order they come in.
class MagnitudeSum {
 public:
  void add(std::uint32_t magnitude_bits) noexcept {
    const std::uint32_t exponent = magnitude_bits >> 23;
    const std::uint32_t fraction = magnitude_bits & 0x7F'FFFFu;
    significands_[exponent] += exponent == 0 ? fraction : fraction | 0x80'0000u;
    if (++pending_ == kFoldEvery) fold();
  }
  void add_exact_sum(double sum) noexcept { synps::add_exact_sum(folded_, sum); }
  MagnitudeTotal total() const noexcept;

 private:
  /// A significand is below 2^24: 2^40 of them fit 64 bits.
  static constexpr std::uint64_t kFoldEvery = std::uint64_t{1} << 39;

  void fold() noexcept;

  std::array<std::uint64_t, 255> significands_{};  ///< summed by exponent field
  std::uint64_t pending_ = 0;
  MagnitudeTotal folded_;
};

}  // namespace synps
