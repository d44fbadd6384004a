#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "bytes.h"
#include "float_bits.h"

namespace synps {

// Two-bit ternary codes in groups, as a half of a tq2_0 block lays them out: a group of 128
// elements takes 32 bytes, byte m holding elements m, m + 32, m + 64 and m + 96, the first one in
// the lowest bits. What is stored is the trit t = code + 1. A row is padded with zero codes to
// whole groups.

inline constexpr std::size_t kGroupElements = 128;
inline constexpr std::size_t kGroupBytes = 32;
inline constexpr std::uint8_t kZeroTrit = 1;

using GroupTrits = std::array<std::uint8_t, kGroupElements>;

constexpr std::uint64_t group_count(std::uint64_t columns) noexcept {
  return columns / kGroupElements + (columns % kGroupElements != 0 ? 1 : 0);
}

/// Bytes of a row of codes. Never wraps: a quarter of a byte an element.
constexpr std::uint64_t packed_codes_bytes(std::uint64_t columns) noexcept {
  return group_count(columns) * kGroupBytes;
}

inline void pack_group(const std::uint8_t* trits, std::byte* out) noexcept {
  for (std::size_t m = 0; m < kGroupBytes; ++m) {
    unsigned byte = 0;
    for (unsigned n = 0; n < 4; ++n) byte |= static_cast<unsigned>(trits[m + 32 * n]) << (2 * n);
    out[m] = static_cast<std::byte>(byte);
  }
}

/// Trits of 0 to 3; an encoder never writes 3, which decodes as code 2.
inline void unpack_group(const std::byte* in, std::uint8_t* trits) noexcept {
  for (std::size_t m = 0; m < kGroupBytes; ++m)
    for (unsigned n = 0; n < 4; ++n)
      trits[m + 32 * n] =
          static_cast<std::uint8_t>((std::to_integer<unsigned>(in[m]) >> (2 * n)) & 3u);
}

/// Packs a row of `columns` elements, from column `begin` (a multiple of a group's) on, whose trits
/// are `trit_of(column)`. `out` is where the row's bytes begin.
template <typename TritOf>
void pack_row(std::size_t begin, std::size_t columns, TritOf trit_of, std::byte* out) {
  out += begin / kGroupElements * kGroupBytes;
  for (std::size_t first = begin; first < columns; first += kGroupElements, out += kGroupBytes) {
    GroupTrits trits;
    trits.fill(kZeroTrit);
    const std::size_t count = std::min(kGroupElements, columns - first);
    for (std::size_t i = 0; i < count; ++i) trits[i] = trit_of(first + i);
    pack_group(trits.data(), out);
  }
}

/// Values of a packed row: code × scale, multiplied in f32.
inline void unpack_row(const std::byte* in, float scale, std::span<float> out) noexcept {
  for (std::size_t first = 0; first < out.size(); first += kGroupElements, in += kGroupBytes) {
    GroupTrits trits;
    unpack_group(in, trits.data());
    const std::size_t count = std::min(kGroupElements, out.size() - first);
    for (std::size_t i = 0; i < count; ++i)
      out[first + i] = static_cast<float>(static_cast<int>(trits[i]) - 1) * scale;
  }
}

}  // namespace synps
