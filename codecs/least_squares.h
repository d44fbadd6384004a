#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

namespace synps {

/// The ternary choice of least squared error for a row: scale × sign(x) where |x| reaches the
/// threshold, 0 elsewhere.
struct TernaryFit {
  float scale = 0;
  std::uint32_t threshold_bits = 0;  ///< f32 bits; above every finite magnitude when none is kept

  bool keeps(std::uint32_t magnitude_bits) const noexcept {
    return magnitude_bits >= threshold_bits;
  }
};

/// Buffers that a caller keeps from row to row.
struct FitScratch {
  std::vector<std::uint32_t> magnitudes;
  std::vector<std::uint32_t> sorting;
  std::vector<float> between;

  /// Makes room for rows of `columns` elements, so that none of them allocates.
  void reserve(std::size_t columns);
};

/// Bytes of a FitScratch with room for rows of `columns` elements; saturates.
std::uint64_t fit_scratch_bytes(std::uint64_t columns) noexcept;

/// For codes in {-1, 0, 1} and a scale s, keeping the k largest magnitudes, with sum S_k, leaves
/// the squared error (sum of x²) - S_k²/k at the best scale, S_k/k. So the best choice maximises
/// S_k²/k: decided exactly, the smallest k on a tie. The scale is S_k/k rounded once to the
/// nearest f32, ties to even. A row without non-zero values gets scale 0. NaN and infinities count
/// as 0. Takes O(n) time.
///
/// Equal magnitudes are kept or dropped together: S²/k is strictly convex along a run of them, or
/// rises, so that its maximum lies at an end of the run.
TernaryFit fit_ternary(std::span<const float> row, FitScratch& scratch);

/// The same choice, without sorting more than the few magnitudes that decide it; the threshold may
/// be another one that keeps the same values. Nothing for rows that the other function is for: with
/// NaN or infinities, of zeros, short ones, those near the ends of f32's range, those whose
/// magnitudes spread far, and all of them without SIMD.
std::optional<TernaryFit> fit_ternary_fast(std::span<const float> row, FitScratch& scratch);

}  // namespace synps
