#include "least_squares.h"

#include <array>
#include <cstddef>

#include "best_prefix.h"
#include "float_bits.h"

namespace synps {

/// A radix sort, a byte at a time: bits of magnitudes order as the values do.
void sort_descending(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& scratch) {
  scratch.resize(keys.size());
  for (unsigned shift = 0; shift < 32; shift += 8) {
    std::array<std::size_t, 256> next{};
    for (const std::uint32_t key : keys) ++next[(key >> shift) & 255u];
    std::size_t begin = 0;
    for (std::size_t digit = 256; digit-- > 0;) {
      const std::size_t count = next[digit];
      next[digit] = begin;
      begin += count;
    }
    for (const std::uint32_t key : keys) scratch[next[(key >> shift) & 255u]++] = key;
    keys.swap(scratch);
  }
}

TernaryFit fit_ternary(std::span<const float> row, FitScratch& scratch) {
  std::vector<std::uint32_t>& magnitudes = scratch.magnitudes;
  magnitudes.clear();
  for (const float value : row) {
    const std::uint32_t bits = f32_magnitude_bits(value);
    if (bits != 0 && bits < kF32Infinity) magnitudes.push_back(bits);
  }
  if (magnitudes.empty()) return {0.0f, kF32Infinity};
  sort_descending(magnitudes, scratch.sorting);

  return best_prefix({}, 0, 0, magnitudes);
}

}  // namespace synps
