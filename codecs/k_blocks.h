#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace synps {

// What the K layouts of GGUF share: blocks of 256 elements in sub-blocks of 16 or 32, each with a
// scale that is a small integer times the block's f16 scale.

inline constexpr std::size_t kBlock256 = 256;

/// `value` rounded to the nearest integer, halves to even, for |value| <= 2^22: adding 1.5 × 2^23
/// leaves it in the low bits of the sum. Beyond, and for NaN, what the bits then say, as the
/// reference has it: any number in [-2^22, 2^22), and 0 for NaN.
inline int nearest_int(float value) noexcept {
  const auto bits = std::bit_cast<std::uint32_t>(value + 0x1.8p23f);
  return static_cast<int>(bits & 0x7F'FFFFu) - 0x40'0000;
}

/// The scale and the minimum of a sub-block as the block stores them, six bits each.
struct SixBits {
  unsigned scale = 0;
  unsigned min = 0;
};

/// The eight pairs of q4_k and q5_k in 12 bytes. Bytes 0-3: scales 0-3, bytes 4-7: minima 0-3, six
/// bits each; bytes 8-11: the lower four bits of scales 4-7 and, high, of minima 4-7, whose upper
/// two bits are those of bytes 0-3 and 4-7.
inline constexpr std::size_t kSixBitsBytes = 12;

inline SixBits load_six_bits(const std::byte* in, std::size_t j) noexcept {
  const auto byte = [in](std::size_t i) { return std::to_integer<unsigned>(in[i]); };
  if (j < 4) return {byte(j) & 63, byte(j + 4) & 63};
  return {(byte(j + 4) & 15) | (byte(j - 4) >> 6 << 4), (byte(j + 4) >> 4) | (byte(j) >> 6 << 4)};
}

inline void store_six_bits(const std::array<SixBits, 8>& pairs, std::byte* out) noexcept {
  for (std::size_t j = 0; j < 4; ++j) {
    const SixBits& low = pairs[j];
    const SixBits& high = pairs[j + 4];
    out[j] = static_cast<std::byte>(low.scale | (high.scale >> 4 << 6));
    out[j + 4] = static_cast<std::byte>(low.min | (high.min >> 4 << 6));
    out[j + 8] = static_cast<std::byte>((high.scale & 15) | ((high.min & 15) << 4));
  }
}

inline constexpr std::size_t kQ3ScalesAt = 96;
inline constexpr std::size_t kQ3DAt = 108;

/// The scale of sub-block j of a block of q3_k: the lower four bits in the first eight of 12 bytes,
/// those of scales 0-7 low, the upper two in the last four. In [-32, 32).
inline int q3_scale(const std::byte* block, std::size_t j) noexcept {
  const auto byte = [=](std::size_t i) { return std::to_integer<int>(block[kQ3ScalesAt + i]); };
  const int low = byte(j % 8) >> (j / 8 * 4) & 15;
  const int high = byte(8 + j % 4) >> (j / 4 * 2) & 3;
  return (low | (high << 4)) - 32;
}

inline constexpr std::size_t kIq4XsCodesAt = 8;

/// The scale of sub-block j of a block of iq4_xs, in [-32, 32).
inline int iq4_xs_scale(const std::byte* block, std::size_t j) noexcept {
  const int low = load<std::uint8_t>(block + 4 + j / 2) >> (j % 2 * 4) & 15;
  const int high = load<std::uint16_t>(block + 2) >> (2 * j) & 3;
  return (low | (high << 4)) - 32;
}

}  // namespace synps
