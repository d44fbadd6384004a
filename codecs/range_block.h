#pragma once

#include <algorithm>
#include <array>
#include <cstdint>

#include "block_codec.h"
#include "bytes.h"

namespace synps {

/// What the GGUF layouts q4_1 and q5_1 store of a block of 32 finite values: codes that divide the
/// range from the smallest to the largest into `most` steps.
struct RangeBlock {
  static constexpr std::size_t kElements = 32;

  float d = 0;  ///< (max - min) / most, unrounded
  float min = 0;
  std::array<std::uint8_t, kElements> codes;

  RangeBlock(const std::array<float, kElements>& values, int most) noexcept {
    float max = min = values[0];
    for (const float value : values) {
      if (value < min) min = value;
      if (value > max) max = value;
    }
    d = (max - min) / static_cast<float>(most);
    const float inverse = inverse_scale(d);
    for (std::size_t i = 0; i < kElements; ++i) codes[i] = code(values[i], inverse, most);
  }

  /// d and min as f16, at the block's beginning.
  BlockScales store_scales(std::byte* out) const noexcept {
    const BlockScales scales{f16_from_f32(d), f16_from_f32(min)};
    store(out, scales.scale);
    store(out + 2, scales.min);
    return scales;
  }

 private:
  std::uint8_t code(float value, float inverse, int most) const noexcept {
    const float scaled = (value - min) * inverse;
    // NaN, where the range is infinite and `inverse` 0, is code 0, too.
    if (!(scaled > 0)) return 0;
    return static_cast<std::uint8_t>(std::min(most, static_cast<int>(scaled + 0.5f)));
  }
};

}  // namespace synps
