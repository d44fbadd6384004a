#pragma once

#include <cstddef>
#include <cstdint>

namespace synps::kernels {

/// What the SIMD kernels keep of a block of activations beside codes and scale: 16 sums, each of
/// two neighbours (in blocks of 256, of the 8 pairs that are 32 apart), times what is to be taken
/// from the unsigned codes: 8 for blocks of 32 (q4_0), 1 for those of 256 (ternary).
inline constexpr std::size_t kPairSums = 16;

constexpr int code_offset(std::size_t block) noexcept {
  return block == 32 ? 8 : 1;
}

/// Rounds one block of `count` elements, a multiple of 32. Scalar: defines the bits.
void quantize_block(const float* x, std::size_t count, std::int8_t* codes, float* scale,
                    std::int16_t* sums);

/// The same, for `blocks` blocks.
void quantize_blocks(const float* x, std::size_t blocks, std::size_t block, std::int8_t* codes,
                     float* scales, std::int16_t* sums);

}  // namespace synps::kernels
