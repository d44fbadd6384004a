#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>

#include "block_codec.h"
#include "rounding.h"

namespace synps {

/// What the GGUF layouts tq1_0 and tq2_0 store of a block of 256 elements, in two packings.
struct TritBlock {
  static constexpr std::size_t kElements = 256;

  float d = 0;                                ///< max|x|, unrounded
  std::array<std::uint8_t, kElements> trits;  ///< round(x/d) + 1, halves away from zero

  explicit TritBlock(const std::array<float, kElements>& values) noexcept {
    for (const float value : values) d = std::max(d, std::fabs(value));
    const float inverse = inverse_scale(d);
    for (std::size_t i = 0; i < kElements; ++i)
      trits[i] = static_cast<std::uint8_t>(round_half_away(values[i] * inverse) + 1);
  }
};

}  // namespace synps
