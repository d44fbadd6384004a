#pragma once

#include <cmath>
#include <cstdint>

namespace synps {

/// `value` rounded to the nearest integer, halves away from zero. |value| < 2^23, not NaN.
///
/// Adds the largest float below one half and truncates: one half itself would carry
/// 0.49999997 over to 1.
inline std::int32_t round_half_away(float value) noexcept {
  return static_cast<std::int32_t>(value + std::copysign(0x1.fffffep-2f, value));
}

}  // namespace synps
