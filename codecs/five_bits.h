#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "bytes.h"

namespace synps {

using FiveBitCodes = std::array<std::uint8_t, 32>;

/// The packing of q5_0 and q5_1, 20 bytes: four whose bit i is the highest of code i, then 16 with
/// the lower four bits, of code j low and of code j + 16 high.
inline void store_five_bits(const FiveBitCodes& codes, std::byte* out) noexcept {
  std::uint32_t high = 0;
  for (std::size_t i = 0; i < codes.size(); ++i)
    high |= static_cast<std::uint32_t>(codes[i] >> 4) << i;
  store(out, high);
  for (std::size_t j = 0; j < 16; ++j)
    store(out + 4 + j, static_cast<std::uint8_t>((codes[j] & 15) | ((codes[j + 16] & 15) << 4)));
}

inline FiveBitCodes load_five_bits(const std::byte* in) noexcept {
  FiveBitCodes codes;
  const auto high = load<std::uint32_t>(in);
  for (std::size_t j = 0; j < 16; ++j) {
    const unsigned byte = load<std::uint8_t>(in + 4 + j);
    codes[j] = static_cast<std::uint8_t>((byte & 15) | ((high >> j & 1) << 4));
    codes[j + 16] = static_cast<std::uint8_t>((byte >> 4) | ((high >> (j + 16) & 1) << 4));
  }
  return codes;
}

}  // namespace synps
