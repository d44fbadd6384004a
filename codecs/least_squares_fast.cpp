#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>

#include "best_prefix.h"
#include "float_bits.h"
#include "least_squares.h"
#include "simd/sums.h"

// Which magnitudes a row keeps is decided near one half of the mean of those that it keeps. Let
// a_1 ≥ a_2 ≥ … be the magnitudes, S_k their sums, m_k = S_k/k their means, f(k) = S_k²/k, and k*
// the smallest k where f is largest.
//
// (A) If a_(k+1) ≥ m_k/2, then f(k+1) > f(k): k(2 S_k a + a²) ≥ S_k² + S_k²/4k > S_k² with
//     a = a_(k+1), which is what f(k+1) > f(k) means. So if k* ≥ K, then all magnitudes from m_K/2
//     on are kept: if one were not, a_(k*+1) would reach m_K/2 ≥ m_(k*)/2 (means fall with k), and
//     f(k* + 1) > f(k*).
// (B) f(k*) > f(k* - 1) means, likewise, 2r + r²/j > 1, for j = k* - 1 and r = a_(k*)/m_j. That
// takes
//     r > j(√(1 + 1/j) - 1) ≥ 1/2 - 1/8j. So if K ≤ j and k* ≤ L, then no magnitude up to
//     (1/2 - 1/8K) m_L is kept.
//
// (C) Let K be kept, none of the others exceed h, and K' > K. For K ≤ k < K', S_k ≤ S_K + (k - K)
// h, and
//     the square of that over k is convex in k: f(k) is at most what it is for k = K or k = K'. If
//     that is less than f anywhere, k* ≥ K'. This leads past a few outliers, where (A) stops.
//
// (A) and (B) hold to begin with: (A) with the largest magnitude for m_K, (B) with the mean of all.
// Each bound gives a better one, as fast as a pass over the row counts and adds up. What is left
// between the bounds, often a few in a thousand, is sorted and tried exactly.

namespace synps {
namespace {

/// Fewer elements are sorted sooner.
constexpr std::size_t kShortest = 64;
constexpr std::size_t kFewEnough = 24;

/// Calls `body(first, count)` for runs that the functions of sums.h take.
template <typename Body>
void for_each_run(std::size_t count, Body body) {
  for (std::size_t first = 0; first < count; first += simd::kSumRun)
    body(first, std::min(simd::kSumRun, count - first));
}

simd::Totals totals_of(std::span<const float> row) {
  simd::Totals all;
  for_each_run(row.size(), [&](std::size_t first, std::size_t count) {
    const simd::Totals run = simd::totals(row.data() + first, count);
    all.largest_bits = std::max(all.largest_bits, run.largest_bits);
    all.sum += run.sum;
  });
  return all;
}

/// The search for what a row keeps: magnitudes from high_ on are kept, those below low_ are not.
class Bracket {
 public:
  Bracket(std::span<const float> row, const simd::Totals& totals, std::vector<float>& between)
      : rest_(row),
        between_(between),
        largest_bits_(totals.largest_bits),
        high_(std::bit_cast<float>(totals.largest_bits) / 2),
        low_(below(0.375 * totals.sum / static_cast<double>(row.size()))) {}

  /// Brings the bounds together until hardly anything lies between, or they stay where they are.
  void narrow() {
    for (std::size_t last = rest_.size() + rest_.size() / 4;;) {
      low_ = std::min(low_, high_);
      const simd::Tails tails = count(low_, high_);
      const std::size_t between = tails.count_low - tails.count_high;
      if (between <= kFewEnough) return;
      if (between * 4 <= rest_.size()) set_apart();
      if (between > last - last / 8) {
        if (!leap(tails)) return;
        last = between + between / 4;
        continue;
      }
      last = between;
      high_ = std::min(high_, above(tails.sum_high / static_cast<double>(2 * tails.count_high)));
      // K of (B): the largest is kept, and j is 1 at least unless it is all that is kept.
      const double k = static_cast<double>(std::max<std::size_t>(tails.count_high, 2) - 1);
      low_ = std::max(
          low_, below((0.5 - 0.125 / k) * tails.sum_low / static_cast<double>(tails.count_low)));
    }
  }

  /// What lies between the bounds. False: the sum of what is kept may not be exact.
  bool finish() {
    set_apart();
    return exact_;
  }

  const MagnitudeTotal& kept_sum() const { return kept_sum_; }
  std::uint64_t kept() const { return kept_; }
  std::uint32_t threshold_bits() const { return std::bit_cast<std::uint32_t>(high_); }
  std::span<const float> between() const { return rest_; }

 private:
  /// Bounds that allow for what sums, means and their rounding to f32 are off.
  static float above(double bound) { return static_cast<float>(bound * (1 + 2 * simd::kSumError)); }
  static float below(double bound) { return static_cast<float>(bound * (1 - 2 * simd::kSumError)); }

  simd::Tails count(float low, float high) const {
    simd::Tails all{kept_, kept_, kept_approximately_, kept_approximately_};
    for_each_run(rest_.size(), [&](std::size_t first, std::size_t count) {
      const simd::Tails run = simd::tails(rest_.data() + first, count, low, high);
      all.count_low += run.count_low;
      all.count_high += run.count_high;
      all.sum_low += run.sum_low;
      all.sum_high += run.sum_high;
    });
    return all;
  }

  /// (C): lowers the upper bound where (A) cannot. False: it stays.
  bool leap(const simd::Tails& tails) {
    float most = 0;
    for_each_run(rest_.size(), [&](std::size_t first, std::size_t count) {
      most = std::max(most, simd::largest_below(rest_.data() + first, count, high_));
    });
    const float target = std::max(low_, 0.7f * most);
    if (!(target < high_)) return false;
    const simd::Tails at = count(target, high_);
    const auto score = [](double sum, std::size_t k) { return sum * sum / static_cast<double>(k); };
    const double reached =
        std::max(score(tails.sum_low, tails.count_low), score(at.sum_low, at.count_low));
    const double sum_at_most =
        tails.sum_high +
        static_cast<double>(most) * static_cast<double>(at.count_low - tails.count_high);
    const double ahead =
        std::max(score(tails.sum_high, tails.count_high), score(sum_at_most, at.count_low));
    if (!(ahead * (1 + 4 * simd::kSumError) < reached)) return false;
    high_ = target;
    return true;
  }

  /// Leaves in rest_ what lies between the bounds, and adds up what is kept.
  void set_apart() {
    exact_ = exact_ && simd::span_is_exact(std::bit_cast<std::uint32_t>(high_), largest_bits_);
    between_.resize(std::max(between_.size(), rest_.size() + simd::kSplitSlack));
    std::size_t left = 0;
    for_each_run(rest_.size(), [&](std::size_t first, std::size_t count) {
      const simd::Split run =
          simd::split(rest_.data() + first, count, low_, high_, between_.data() + left);
      left += run.between;
      kept_ += run.count_high;
      kept_approximately_ += run.sum_high;
      add_exact_sum(kept_sum_, run.sum_high);
    });
    rest_ = std::span(between_).first(left);
  }

  std::span<const float> rest_;  ///< of the row, what may lie between the bounds
  std::vector<float>& between_;
  std::uint32_t largest_bits_;
  float high_;
  float low_;
  std::uint64_t kept_ = 0;  ///< that are not in rest_, nor their sum
  double kept_approximately_ = 0;
  MagnitudeTotal kept_sum_;
  bool exact_ = true;
};

}  // namespace

std::optional<TernaryFit> fit_ternary_fast(std::span<const float> row, FitScratch& scratch) {
  if (row.size() < kShortest || !simd::available()) return std::nullopt;
  const simd::Totals totals = totals_of(row);
  const float largest = std::bit_cast<float>(totals.largest_bits);
  if (!(largest >= 0x1p-90f && largest < 0x1p100f)) return std::nullopt;  // NaN too
  Bracket bracket(row, totals, scratch.between);
  bracket.narrow();
  if (!bracket.finish()) return std::nullopt;
  std::vector<std::uint32_t>& candidates = scratch.magnitudes;
  candidates.clear();
  for (const float value : bracket.between())
    candidates.push_back(std::bit_cast<std::uint32_t>(value));
  if (candidates.size() < 256)
    std::sort(candidates.begin(), candidates.end(), std::greater<>());
  else
    sort_descending(candidates, scratch.sorting);
  return best_prefix(bracket.kept_sum(), bracket.kept(), bracket.threshold_bits(), candidates);
}

}  // namespace synps
