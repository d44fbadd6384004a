#pragma once

#include <vector>

#include "policy_document.h"
#include "problem_list.h"
#include "weight_resolution.h"

namespace synps {

/// Adds a problem for every policy that speaks of weights and matches only scales, which go with
/// their weights. One that keeps them is no problem where all those weights are kept.
void add_policies_of_scales(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                            const Resolution& resolution, ProblemList& problems);

}  // namespace synps
