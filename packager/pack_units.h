#pragma once

#include <cstdint>
#include <vector>

#include "synps/plan.h"

namespace synps {

/// The work of packing some weights of a plan, as numbered units that depend on nothing but their
/// number: chunks of weights, in the sequence of paths. Keeps two numbers a weight.
class PackUnits {
 public:
  /// `weights` are indices into plan.weights, ascending.
  PackUnits(const Plan& plan, std::vector<std::size_t> weights);

  std::uint64_t count() const noexcept { return ends_.empty() ? 0 : ends_.back(); }

  struct Unit {
    std::size_t weight = 0;    ///< index into plan.weights
    std::uint64_t number = 0;  ///< of the unit in its weight
  };
  Unit at(std::uint64_t unit) const;

 private:
  std::vector<std::size_t> weights_;
  std::vector<std::uint64_t> ends_;  ///< units of all weights up to and including this one
};

/// Whether a weight is encoded as one piece.
bool is_one_piece(const Plan& plan, const PlannedWeight& planned);

/// Weights whose codec must see them whole first, and which are more than a piece: these go through
/// memory twice. Indices into plan.weights, ascending.
std::vector<std::size_t> weights_to_analyse(const Plan& plan);

}  // namespace synps
