#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace synps {

/// What the four-bit codes of iq4_nl and iq4_xs stand for. Source: `kvalues_iq4nl` of ggml.
inline constexpr std::array<std::int8_t, 16> kIq4Values = {
    -127, -104, -83, -65, -49, -35, -22, -10, 1, 13, 25, 38, 53, 69, 89, 113};

/// Twice the values of the codes of mxfp4, which are E2M1 (OCP Microscaling Formats 1.0); the zero
/// of code 8 has no sign.
inline constexpr std::array<std::int8_t, 16> kMxfp4Values = {0, 1,  2,  3,  4,  6,  8,  12,
                                                             0, -1, -2, -3, -4, -6, -8, -12};

/// What these are multiplied with: half of 2^(exponent - 127). 255, a NaN in E8M0, is not special,
/// as in the reference.
inline float mxfp4_scale(std::uint8_t exponent) noexcept {
  // 2^-128 and 2^-127 are subnormal.
  return std::bit_cast<float>(exponent < 2 ? 0x20'0000u << exponent
                                           : std::uint32_t{exponent - 1u} << 23);
}

}  // namespace synps
