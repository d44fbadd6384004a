#pragma once

#include <cstdint>

#include "float_bits.h"

namespace synps {

/// What an encoder says of the f16 scales that it stored in a block: its scale and, in layouts that
/// have one, its minimum.
struct BlockScales {
  std::uint16_t scale = 0;
  std::uint16_t min = 0;

  /// The block decodes to infinities or NaN.
  bool overflow() const noexcept {
    return (scale & kF16Magnitude) == kF16Infinity || (min & kF16Magnitude) == kF16Infinity;
  }
  /// The block decodes to zeros, whatever its codes are.
  bool zero() const noexcept { return ((scale | min) & kF16Magnitude) == 0; }
};

}  // namespace synps
