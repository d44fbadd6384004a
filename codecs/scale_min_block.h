#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "block_scales.h"
#include "k_blocks.h"

namespace synps {

// How q4_k and q5_k choose scales, minima and codes: as `quantize_row_q4_K_ref` and
// `quantize_row_q5_K_ref` of ggml 0.21.0, which know of no importance of elements, to the bit.

inline constexpr std::size_t kSubBlocks = 8;
inline constexpr std::size_t kSubBlockElements = 32;

/// Which scales are tried for a sub-block: its range divided by most + first + n × step, for
/// n = 0 … tries.
struct ScaleTrials {
  int most;  ///< the highest code
  float first;
  float step;
  int tries;

  float divisor(int n) const noexcept {
    return first + step * static_cast<float>(n) + static_cast<float>(most);
  }
};
inline constexpr ScaleTrials kTrialsQ4K{15, -1.0f, 0.1f, 20};
inline constexpr ScaleTrials kTrialsQ5K{31, -0.5f, 0.1f, 15};

/// The scales of a block: those of its sub-blocks in six bits, in units of the two f16 ones.
struct ScaleMinHeader {
  /// f16 d, f16 dmin, six bits a scale and a minimum.
  static constexpr std::size_t kBytes = 4 + kSixBitsBytes;

  BlockScales f16;
  std::array<SixBits, kSubBlocks> sub_blocks;

  /// Of the scales and minima that were found for the sub-blocks. Minima count downwards from 0.
  ScaleMinHeader(const std::array<float, kSubBlocks>& scales,
                 const std::array<float, kSubBlocks>& mins) noexcept;
  void store(std::byte* out) const noexcept;

  /// What codes of sub-block j are multiplied with, and what is then subtracted.
  float scale(std::size_t j) const noexcept {
    return f32_from_f16(f16.scale) * static_cast<float>(sub_blocks[j].scale);
  }
  float min(std::size_t j) const noexcept {
    return f32_from_f16(f16.min) * static_cast<float>(sub_blocks[j].min);
  }
};

/// Stores the header of a block and returns its codes, which are not packed.
std::array<std::uint8_t, kBlock256> encode_scale_min(const std::array<float, kBlock256>& values,
                                                     const ScaleTrials& trials, std::byte* header,
                                                     BlockScales& stored) noexcept;

/// Stored scales and minima of the eight sub-blocks, multiplied out.
struct ScaleMins {
  std::array<float, kSubBlocks> scale;
  std::array<float, kSubBlocks> min;

  explicit ScaleMins(const std::byte* header) noexcept {
    const float d = f32_from_f16(load<std::uint16_t>(header));
    const float dmin = f32_from_f16(load<std::uint16_t>(header + 2));
    for (std::size_t j = 0; j < kSubBlocks; ++j) {
      const SixBits bits = load_six_bits(header + 4, j);
      scale[j] = d * static_cast<float>(bits.scale);
      min[j] = dmin * static_cast<float>(bits.min);
    }
  }
};

}  // namespace synps
