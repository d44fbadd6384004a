#pragma once

#include <cmath>
#include <span>

namespace synps {

/// The first value of the largest magnitude, with its sign; +0 where all are zero. The reference
/// quantizers of GGUF take it as the value that the lowest code stands for.
inline float first_largest(std::span<const float> values) noexcept {
  float largest = 0;
  for (const float value : values)
    if (std::fabs(value) > std::fabs(largest)) largest = value;
  return largest;
}

}  // namespace synps
