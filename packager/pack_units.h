#pragma once

#include <cstdint>
#include <vector>

#include "synps/plan.h"

namespace synps {

/// The work of packing a weight, as units that depend on nothing but their number: chunks of its
/// first component.
std::uint64_t pack_units(const Plan& plan, const PlannedWeight& planned);

/// Whether a weight is encoded as one piece, of which its bytes are in the sequence of the rows.
bool is_one_piece(const Plan& plan, const PlannedWeight& planned);

/// Weights whose codec must see them whole first, and which are more than a piece: these go through
/// memory twice. Indices into plan.weights, ascending.
std::vector<std::size_t> weights_to_analyse(const Plan& plan);

}  // namespace synps
