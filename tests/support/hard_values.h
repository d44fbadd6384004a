#pragma once

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

// Values on which vector code goes wrong.

namespace synps::testing {

inline float float_of(std::uint32_t bits) {
  return std::bit_cast<float>(bits);
}

/// NaN of both kinds and signs, infinities, zeros, subnormals, the ends of f32, f16 and bf16.
inline const std::vector<float>& special_values() {
  static const std::vector<float> kValues = [] {
    std::vector<float> values;
    for (const std::uint32_t bits :
         {0x7FC0'0000u, 0x7F80'0001u, 0x7FFF'FFFFu, 0x7F80'0000u, 0x7F7F'FFFFu, 0x7F7F'8000u,
          0x7F7F'7FFFu, 0x477F'F000u, 0x477F'EFFFu, 0x477F'E000u, 0x3880'0000u, 0x387F'FFFFu,
          0x3300'0001u, 0x3300'0000u, 0x32FF'FFFFu, 0x0080'0000u, 0x007F'FFFFu, 0x0000'8001u,
          0x0000'8000u, 0x0000'0001u, 0x0000'0000u, 0x3F00'0000u, 0x3EFF'FFFFu, 0x3F80'0000u}) {
      values.push_back(float_of(bits));
      values.push_back(float_of(bits | 0x8000'0000u));
    }
    return values;
  }();
  return kValues;
}

/// Normally distributed, one scale a row of `columns`, from 2^-140 to 2^120.
inline std::vector<float> normal_rows(std::size_t rows, std::size_t columns, std::uint32_t seed) {
  std::mt19937 random(seed);
  std::normal_distribution<float> normal;
  std::vector<float> values;
  values.reserve(rows * columns);
  for (std::size_t r = 0; r < rows; ++r) {
    const int exponent =
        r % 3 == 0 ? static_cast<int>(random() % 260) - 140 : static_cast<int>(random() % 30) - 20;
    for (std::size_t i = 0; i < columns; ++i)
      values.push_back(std::ldexp(normal(random), exponent));
  }
  return values;
}

/// Multiples of half a step, up to `steps` steps, and their neighbours; one in 32 has the largest
/// magnitude. So where a block's scale is its largest magnitude over `steps`, and that is a power
/// of two, these lie on ties and next to them.
inline std::vector<float> near_ties(std::size_t count, int steps, std::uint32_t seed) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (std::size_t i = 0; i < count; ++i) {
    const int most = random() % 2 == 0 ? 2 * steps : std::min(4, 2 * steps);
    const int half_steps =
        static_cast<int>(random() % (2u * static_cast<unsigned>(most) + 1)) - most;
    const float tie = static_cast<float>(half_steps) / 2;
    const auto kind = random() % 4;
    values[i] = kind == 0   ? std::nextafter(tie, kInfinity)
                : kind == 1 ? std::nextafter(tie, -kInfinity)
                            : tie;
    const float largest = static_cast<float>(steps);
    if (i % 32 == 7 || std::fabs(values[i]) > largest)
      values[i] = kind % 2 == 0 ? largest : -largest;
  }
  return values;
}

}  // namespace synps::testing
