#include "best_prefix.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include "wide_uint.h"

namespace synps {
namespace {

/// S_k and S_k²/k in double precision, for rising k.
///
/// Each is near the truth: a sum of k non-negative terms, some of which may come summed exactly and
/// rounded once, is off by a factor of at most (1 + u)^k, u = 2^-53, and never underflows (f32
/// magnitudes are at least 2^-149); square and quotient add a factor of (1 + u)² and stay between
/// 2^-298 and 2^320, normal numbers. In all (1 + u)^(2k + 2), which is below 1 + 4(k + 1)u for any
/// k that fits memory.
class ApproximateScore {
 public:
  ApproximateScore(double sum, std::uint64_t count) noexcept
      : sum_(sum), count_(static_cast<double>(count)) {}
  double add(std::uint32_t magnitude_bits) noexcept {
    sum_ += static_cast<double>(std::bit_cast<float>(magnitude_bits));
    count_ += 1;
    return score();
  }
  /// 0 for no terms.
  double score() const noexcept { return count_ == 0 ? 0 : sum_ * sum_ / count_; }

 private:
  double sum_;
  double count_;
};

/// The nearest f64, or one of the two nearest.
double approximate(const MagnitudeTotal& sum) noexcept {
  const unsigned length = sum.bit_length();
  const unsigned shift = length > 64 ? length - 64 : 0;
  return std::ldexp(static_cast<double>(sum.bits_from(shift)), static_cast<int>(shift) - 149);
}

/// A bound that the score of the exact optimum reaches: with both scores within 1 ± e of the truth,
/// it is at least (1 - e)/(1 + e) ≥ 1 - 2e of the highest score, e = 4(n + 1)u.
double least_possible_score(ApproximateScore score, std::uint64_t count,
                            std::span<const std::uint32_t> descending) noexcept {
  double highest = score.score();
  for (const std::uint32_t magnitude : descending)
    highest = std::max(highest, score.add(magnitude));
  const double e = 0x1p-51 * static_cast<double>(count + descending.size() + 1);
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

TernaryFit best_prefix(const MagnitudeTotal& kept_sum, std::uint64_t kept,
                       std::uint32_t threshold_bits, std::span<const std::uint32_t> descending) {
  MagnitudeTotal sum = kept_sum;
  ApproximateScore score(approximate(sum), kept);
  const double bound = least_possible_score(score, kept, descending);
  // Without any kept, k is 0 and the sum too: anything is better.
  MagnitudeTotal best_sum = sum;
  std::uint64_t best_count = kept;
  ExactScore best(sum, std::max<std::uint64_t>(kept, 1));
  for (std::size_t i = 0; i < descending.size(); ++i) {
    add_magnitude(sum, descending[i]);
    if (score.add(descending[i]) < bound) continue;
    const ExactScore candidate(sum, kept + i + 1);
    if (!(candidate > best)) continue;
    best = candidate;
    best_sum = sum;
    best_count = kept + i + 1;
    threshold_bits = descending[i];
  }
  return {rounded_mean(best_sum, best_count), threshold_bits};
}

}  // namespace synps
