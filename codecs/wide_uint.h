#pragma once

#include <array>
#include <bit>
#include <compare>
#include <cstddef>
#include <cstdint>

namespace synps {

// An alias declaration cannot carry the __extension__ that -Wpedantic asks for.
__extension__ typedef unsigned __int128 Uint128;  // NOLINT(modernize-use-using)

/// An unsigned integer of kLimbs × 64 bits, for exact sums and comparisons. Results must fit: that
/// is for the caller to prove.
template <std::size_t kLimbs>
struct WideUint {
  std::array<std::uint64_t, kLimbs> limbs{};  ///< least significant first

  /// Adds value × 2^shift.
  constexpr void add(std::uint64_t value, unsigned shift) noexcept {
    const std::size_t limb = shift / 64;
    const Uint128 shifted = static_cast<Uint128>(value) << (shift % 64);
    Uint128 sum = static_cast<Uint128>(limbs[limb]) + static_cast<std::uint64_t>(shifted);
    limbs[limb] = static_cast<std::uint64_t>(sum);
    std::uint64_t carry = static_cast<std::uint64_t>(sum >> 64);
    std::uint64_t high = static_cast<std::uint64_t>(shifted >> 64);
    for (std::size_t i = limb + 1; i < kLimbs && (high | carry) != 0; ++i) {
      sum = static_cast<Uint128>(limbs[i]) + high + carry;
      limbs[i] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
      high = 0;
    }
  }

  /// The quotient; `remainder` receives the rest.
  constexpr WideUint divided_by(std::uint64_t divisor, std::uint64_t& remainder) const noexcept {
    WideUint quotient;
    Uint128 rest = 0;
    for (std::size_t i = kLimbs; i-- > 0;) {
      rest = (rest << 64) | limbs[i];
      quotient.limbs[i] = static_cast<std::uint64_t>(rest / divisor);
      rest %= divisor;
    }
    remainder = static_cast<std::uint64_t>(rest);
    return quotient;
  }

  /// Bits up to the highest that is set; 0 for zero.
  constexpr unsigned bit_length() const noexcept {
    for (std::size_t i = kLimbs; i-- > 0;)
      if (limbs[i] != 0) return static_cast<unsigned>(64 * i) + 64u - clz(limbs[i]);
    return 0;
  }

  constexpr bool bit(unsigned i) const noexcept { return ((limbs[i / 64] >> (i % 64)) & 1) != 0; }

  /// Whether any of the lowest `count` bits is set.
  constexpr bool any_below(unsigned count) const noexcept {
    for (unsigned i = 0; i < count / 64; ++i)
      if (limbs[i] != 0) return true;
    return count % 64 != 0 && (limbs[count / 64] << (64 - count % 64)) != 0;
  }

  /// Bits [shift, shift + 64).
  constexpr std::uint64_t bits_from(unsigned shift) const noexcept {
    const std::size_t limb = shift / 64;
    std::uint64_t low = limbs[limb] >> (shift % 64);
    if (shift % 64 != 0 && limb + 1 < kLimbs) low |= limbs[limb + 1] << (64 - shift % 64);
    return low;
  }

  constexpr std::strong_ordering operator<=>(const WideUint& other) const noexcept {
    for (std::size_t i = kLimbs; i-- > 0;)
      if (limbs[i] != other.limbs[i]) return limbs[i] <=> other.limbs[i];
    return std::strong_ordering::equal;
  }
  constexpr bool operator==(const WideUint&) const noexcept = default;

 private:
  static constexpr unsigned clz(std::uint64_t value) noexcept {
    return static_cast<unsigned>(std::countl_zero(value));
  }
};

/// The whole product.
template <std::size_t kA, std::size_t kB>
constexpr WideUint<kA + kB> product(const WideUint<kA>& a, const WideUint<kB>& b) noexcept {
  WideUint<kA + kB> result;
  for (std::size_t i = 0; i < kA; ++i) {
    std::uint64_t carry = 0;
    for (std::size_t j = 0; j < kB; ++j) {
      const Uint128 sum =
          static_cast<Uint128>(a.limbs[i]) * b.limbs[j] + result.limbs[i + j] + carry;
      result.limbs[i + j] = static_cast<std::uint64_t>(sum);
      carry = static_cast<std::uint64_t>(sum >> 64);
    }
    result.limbs[i + kB] = carry;
  }
  return result;
}

}  // namespace synps
