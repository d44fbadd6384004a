#pragma once

#include <string>
#include <vector>

#include "starter_policy.h"

namespace synps::cli {

// What a starter policy proposes in comments, as policies to be uncommented; "" where there is
// nothing to propose.

/// Matrices that may be stored as inputs × outputs.
std::string orientation_hint(const StarterPolicy& policy, const std::vector<WeightFacts>& weights);

/// How to treat the first and the last layer differently, on the largest group that has layers.
std::string layers_apart_hint(const StarterPolicy& policy, const std::vector<WeightFacts>& weights,
                              const CodecRegistry& codecs);

/// Which schemes of other tools the checkpoint is packed in, in words; "" for none.
std::string packed_note(const std::vector<WeightFacts>& weights);

}  // namespace synps::cli
