#pragma once

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synps::testing {

/// `count` floats in about [-1, 1), the same on every machine: a linear congruential sequence, with
/// a zero now and then.
inline std::vector<float> test_values(std::size_t count, std::uint32_t seed = 1) {
  std::vector<float> values(count);
  std::uint32_t state = seed * 2654435761u + 1;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    const auto signed_part = static_cast<std::int32_t>(state >> 8) - (1 << 23);
    value = (state >> 28) == 0 ? 0.0f : static_cast<float>(signed_part) / 8388608.0f;
  }
  return values;
}

}  // namespace synps::testing
