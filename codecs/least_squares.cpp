#include "least_squares.h"

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>

#include "exact_sum.h"
#include "float_bits.h"

namespace synps {
namespace {

/// Largest first. A radix sort, a byte at a time: bits of magnitudes order as the values do.
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

/// S_k and S_k²/k in double precision, for k = 1, 2, …
///
/// Each is near the truth: a sum of k non-negative terms is off by a factor of at most
/// (1 + u)^(k-1), u = 2^-53, and never underflows (f32 magnitudes are at least 2^-149); square and
/// quotient add a factor of (1 + u)² and stay between 2^-298 and 2^320, normal numbers. In all
/// (1 + u)^2k, which is below 1 + 4ku for any k that fits memory.
class ApproximateScore {
 public:
  double add(std::uint32_t magnitude_bits) noexcept {
    sum_ += static_cast<double>(std::bit_cast<float>(magnitude_bits));
    count_ += 1;
    return sum_ * sum_ / count_;
  }

 private:
  double sum_ = 0;
  double count_ = 0;
};

/// A bound that the score of the exact optimum reaches: with both scores within 1 ± e of the truth,
/// it is at least (1 - e)/(1 + e) ≥ 1 - 2e of the highest score, e = 4nu.
double least_possible_score(std::span<const std::uint32_t> descending) noexcept {
  ApproximateScore score;
  double highest = 0;
  for (const std::uint32_t magnitude : descending)
    highest = std::max(highest, score.add(magnitude));
  const double e = 0x1p-51 * static_cast<double>(descending.size());
  return highest * (1 - 2 * e) * (1 - 0x1p-50);  // the last factor pays for these roundings
}

/// S_k²/k of a candidate, for exact comparison.
struct ExactScore {
  WideUint<12> squared_sum;
  WideUint<1> count;

  ExactScore(const MagnitudeTotal& sum, std::uint64_t k) noexcept : squared_sum(product(sum, sum)) {
    count.limbs[0] = k;
  }
  bool operator>(const ExactScore& other) const noexcept {
    return product(squared_sum, other.count) > product(other.squared_sum, count);
  }
};

}  // namespace

TernaryFit fit_ternary(std::span<const float> row, FitScratch& scratch) {
  std::vector<std::uint32_t>& magnitudes = scratch.magnitudes;
  magnitudes.clear();
  for (const float value : row) {
    const std::uint32_t bits = f32_magnitude_bits(value);
    if (bits != 0 && bits < kF32Infinity) magnitudes.push_back(bits);
  }
  if (magnitudes.empty()) return {0.0f, kF32Infinity};
  sort_descending(magnitudes, scratch.sorting);

  const double bound = least_possible_score(magnitudes);
  ApproximateScore score;
  MagnitudeTotal sum;
  MagnitudeTotal best_sum;
  std::uint64_t best_count = 0;
  ExactScore best({}, 1);
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    add_magnitude(sum, magnitudes[i]);
    if (score.add(magnitudes[i]) < bound) continue;
    const ExactScore candidate(sum, i + 1);
    if (!(candidate > best)) continue;
    best = candidate;
    best_sum = sum;
    best_count = i + 1;
  }
  return {rounded_mean(best_sum, best_count), magnitudes[best_count - 1]};
}

}  // namespace synps
