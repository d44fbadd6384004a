#include "exact_sum.h"

#include <cmath>

namespace synps {

void add_exact_sum(MagnitudeTotal& total, double sum) noexcept {
  const auto bits = std::bit_cast<std::uint64_t>(sum);
  if (bits == 0) return;  // magnitudes are at least 2^-149: the sum is not subnormal
  const std::uint64_t significand = (bits & 0xF'FFFF'FFFF'FFFFu) | (std::uint64_t{1} << 52);
  // In units of 2^-149 the value is significand × 2^shift.
  const int shift = static_cast<int>(bits >> 52) - 1023 - 52 + 149;
  if (shift >= 0) return total.add(significand, static_cast<unsigned>(shift));
  total.add(significand >> -shift, 0);  // drops zeros
}

float rounded_mean(const MagnitudeTotal& total, std::uint64_t count) noexcept {
  constexpr unsigned kSignificand = 24;
  std::uint64_t remainder = 0;
  const MagnitudeTotal quotient = total.divided_by(count, remainder);
  const unsigned length = quotient.bit_length();
  const unsigned shift = length > kSignificand ? length - kSignificand : 0;
  std::uint64_t significand = quotient.bits_from(shift);

  bool half = false;  // the first bit below the significand
  bool rest = false;  // anything below that
  if (shift > 0) {
    half = quotient.bit(shift - 1);
    rest = quotient.any_below(shift - 1) || remainder != 0;
  } else {
    const std::uint64_t missing = count - remainder;  // no doubling that could wrap
    half = remainder >= missing;
    rest = remainder != missing && remainder != 0;
  }
  if (half && (rest || (significand & 1) != 0)) ++significand;
  // At most 2^24, and the product is an f32: nothing rounds here.
  return std::ldexp(static_cast<float>(significand), static_cast<int>(shift) - 149);
}

MagnitudeTotal MagnitudeSum::total() const noexcept {
  MagnitudeTotal total = folded_;
  for (unsigned exponent = 0; exponent < significands_.size(); ++exponent)
    total.add(significands_[exponent], exponent == 0 ? 0 : exponent - 1);
  return total;
}

void MagnitudeSum::fold() noexcept {
  folded_ = total();
  significands_.fill(0);
  pending_ = 0;
}

}  // namespace synps
