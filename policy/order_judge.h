#pragma once

#include <optional>

#include "policy_document.h"
#include "policy_resolver.h"
#include "synps/packed_form.h"
#include "weight_judge.h"

namespace synps {

/// Why a weight cannot be stored in the order that a policy asks for by name. Weights that need no
/// scheme, or have no elements, are stored as they are.
std::optional<WeightFault> order_fault(const WeightFacts& facts, const SetResolution& set,
                                       const CodecRegistry& codecs, const PackTarget& target,
                                       const WeightResolution& weight);

}  // namespace synps
