#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "exact_sum.h"
#include "least_squares.h"

namespace synps {

/// Sorts bits of magnitudes, largest first, in linear time.
void sort_descending(std::vector<std::uint32_t>& keys, std::vector<std::uint32_t>& scratch);

/// The best choice for a row of which the `count` largest magnitudes, with the exact sum `sum` and
/// a least one of at least `threshold_bits`, are kept in any case, and of the next ones,
/// `descending`, those up to some: the k that maximises S_k²/k, decided exactly, the smallest on a
/// tie. There is one magnitude at least.
TernaryFit best_prefix(const MagnitudeTotal& sum, std::uint64_t count, std::uint32_t threshold_bits,
                       std::span<const std::uint32_t> descending);

}  // namespace synps
