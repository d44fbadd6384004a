#include "least_squares.h"

#include <array>
#include <cstddef>
#include <limits>

#include "best_prefix.h"
#include "float_bits.h"
#include "simd/sums.h"

namespace synps {

namespace {

/// Exactly `count` elements, without a time at which there is old memory beside new.
template <typename T>
void make_room(std::vector<T>& buffer, std::size_t count) {
  if (buffer.capacity() >= count) return;
  buffer = std::vector<T>();
  buffer.reserve(count);
}

}  // namespace

void FitScratch::reserve(std::size_t columns) {
  make_room(magnitudes, columns);
  make_room(sorting, columns);
  make_room(between, columns + simd::kSplitSlack);
}

std::uint64_t fit_scratch_bytes(std::uint64_t columns) noexcept {
  constexpr std::uint64_t kElement = 2 * sizeof(std::uint32_t) + sizeof(float);
  if (columns > std::numeric_limits<std::uint64_t>::max() / kElement - simd::kSplitSlack)
    return std::numeric_limits<std::uint64_t>::max();
  return kElement * columns + sizeof(float) * simd::kSplitSlack;
}

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
