#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>

#include "first_largest.h"
#include "float_bits.h"
#include "k_blocks.h"

namespace synps {

// What q6_k and its kernel share; as `quantize_row_q6_K_ref` of ggml 0.21.0 has it.

inline constexpr std::size_t kQ6SubBlocks = 16;
inline constexpr std::size_t kQ6SubBlockElements = 16;
inline constexpr int kQ6Half = 32;         ///< codes lie in [-32, 32)
inline constexpr float kQ6Least = 1e-15f;  ///< magnitudes and scales below count as zero
inline constexpr int kQ6Trials = 9;        ///< see q6_divisor()

/// For each sub-block, -32 / m is tried as the reciprocal of a scale, with m the first value of the
/// largest magnitude; then 32 + n/10 in the place of 32, for n from -kQ6Trials to kQ6Trials but 0.
inline float q6_divisor(int n) noexcept {
  return -(static_cast<float>(kQ6Half) + 0.1f * static_cast<float>(n));
}

/// The scales of a block: those of its sub-blocks as int8, in units of the f16 one.
struct Q6Scales {
  std::uint16_t f16 = 0;
  std::array<std::int8_t, kQ6SubBlocks> sub_blocks = {};
  bool zero = false;  ///< all count as zero: so is then every byte of the block

  /// Of the scales that were found for the sub-blocks.
  explicit Q6Scales(const std::array<float, kQ6SubBlocks>& found) noexcept {
    const float largest = first_largest(found);
    zero = std::fabs(largest) < kQ6Least;
    if (zero) return;
    const float inverse = -128.0f / largest;
    f16 = f16_from_f32(1 / inverse);
    for (std::size_t j = 0; j < kQ6SubBlocks; ++j)
      sub_blocks[j] = static_cast<std::int8_t>(std::min(127, nearest_int(inverse * found[j])));
  }

  float scale(std::size_t j) const noexcept {
    return f32_from_f16(f16) * static_cast<float>(sub_blocks[j]);
  }
};

}  // namespace synps
