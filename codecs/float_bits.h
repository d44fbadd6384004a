#pragma once

#include <bit>
#include <cstdint>

namespace synps {

// Conversions between IEEE 754 formats in integer arithmetic, so that no compiler, instruction set
// or floating-point mode changes a bit. Narrowing rounds to nearest, ties to even.

inline constexpr std::uint32_t kF32SignBit = 0x8000'0000u;
inline constexpr std::uint32_t kF32Infinity = 0x7F80'0000u;
inline constexpr std::uint16_t kF16Infinity = 0x7C00u;
inline constexpr std::uint16_t kF16Magnitude = 0x7FFFu;

/// The bits of |value|: they order finite values and infinity as the values themselves.
constexpr std::uint32_t f32_magnitude_bits(float value) noexcept {
  return std::bit_cast<std::uint32_t>(value) & ~kF32SignBit;
}

/// Neither NaN nor an infinity.
constexpr bool f32_is_finite(float value) noexcept {
  return f32_magnitude_bits(value) < kF32Infinity;
}

/// `value >> shift`, rounded to nearest, ties to even. 1 <= shift <= 31; no carry out of 32 bits.
constexpr std::uint32_t shift_right_to_even(std::uint32_t value, unsigned shift) noexcept {
  const std::uint32_t below_half = (1u << (shift - 1)) - 1;
  return (value + below_half + ((value >> shift) & 1u)) >> shift;
}

/// Infinity from 65520 on; a NaN becomes sign | 0x7E00.
constexpr std::uint16_t f16_from_f32(float value) noexcept {
  constexpr std::uint32_t kOverflow = 0x477F'F000u;        // 65520: halfway past the largest f16
  constexpr std::uint32_t kSmallestNormal = 0x3880'0000u;  // 2^-14
  constexpr std::uint32_t kRebias = (127u - 15u) << 23;
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = (bits >> 16) & 0x8000u;
  const std::uint32_t magnitude = bits & ~kF32SignBit;
  std::uint32_t result = 0;
  if (magnitude > kF32Infinity) {
    result = 0x7E00u;
  } else if (magnitude >= kOverflow) {
    result = kF16Infinity;
  } else if (magnitude >= kSmallestNormal) {
    result = shift_right_to_even(magnitude - kRebias, 13);
  } else if (magnitude >= (102u << 23)) {  // 2^-25: half the smallest subnormal
    const std::uint32_t significand = (magnitude & 0x7F'FFFFu) | 0x80'0000u;
    result = shift_right_to_even(significand, 126u - (magnitude >> 23));
  }
  return static_cast<std::uint16_t>(sign | result);
}

/// Exact; a NaN keeps its payload and gets the quiet bit.
constexpr float f32_from_f16(std::uint16_t half) noexcept {
  const std::uint32_t sign = (half & 0x8000u) << 16;
  const std::uint32_t exponent = (half >> 10) & 0x1Fu;
  const std::uint32_t fraction = half & 0x3FFu;
  std::uint32_t magnitude = 0;
  if (exponent == 0x1F) {
    magnitude = kF32Infinity | (fraction << 13) | (fraction != 0 ? 0x40'0000u : 0u);
  } else if (exponent != 0) {
    magnitude = ((exponent + 112u) << 23) | (fraction << 13);
  } else if (fraction != 0) {  // fraction × 2^-24, which f32 holds as a normal number
    const unsigned top = 31u - static_cast<unsigned>(std::countl_zero(fraction));
    magnitude = ((top + 103u) << 23) | ((fraction << (23u - top)) & 0x7F'FFFFu);
  }
  return std::bit_cast<float>(sign | magnitude);
}

/// A NaN becomes its high half | 0x40, which is quiet.
constexpr std::uint16_t bf16_from_f32(float value) noexcept {
  const std::uint32_t bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & ~kF32SignBit) > kF32Infinity) return static_cast<std::uint16_t>((bits >> 16) | 0x40u);
  return static_cast<std::uint16_t>(shift_right_to_even(bits, 16));
}

/// Exact, NaN bits included.
constexpr float f32_from_bf16(std::uint16_t half) noexcept {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

/// Infinity from 2^128 - 2^103 on; a NaN keeps the top of its payload and gets the quiet bit. What
/// a cast gives on IEEE 754 hardware, without the cast's undefined overflow.
constexpr float f32_from_f64(double value) noexcept {
  constexpr std::uint64_t kInfinity = 0x7FF0'0000'0000'0000u;
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(value);
  const std::uint32_t sign = static_cast<std::uint32_t>(bits >> 32) & kF32SignBit;
  const std::uint64_t magnitude = bits & ~(std::uint64_t{1} << 63);
  const std::uint64_t exponent = magnitude >> 52;
  std::uint64_t result = 0;
  if (magnitude > kInfinity) {
    result = 0x7FC0'0000u | ((magnitude >> 29) & 0x3F'FFFFu);
  } else if (exponent >= 1023 + 128) {
    result = kF32Infinity;
  } else if (exponent >= 1023 - 150) {  // from 2^-150, half the smallest subnormal
    const bool normal = exponent >= 1023 - 126;
    const std::uint64_t significand = (magnitude & 0xF'FFFF'FFFF'FFFFu) | (std::uint64_t{1} << 52);
    const unsigned shift = normal ? 29u : static_cast<unsigned>(926u - exponent);
    const std::uint64_t below_half = (std::uint64_t{1} << (shift - 1)) - 1;
    const std::uint64_t rounded =
        (significand + below_half + ((significand >> shift) & 1u)) >> shift;
    // The leading bit of a normal significand adds one to the exponent field; so does a carry.
    result = normal ? ((exponent - (1023 - 126)) << 23) + rounded : rounded;
  }
  return std::bit_cast<float>(sign | static_cast<std::uint32_t>(result));
}

}  // namespace synps
