#pragma once

#include <vector>

#include "policy_document.h"
#include "policy_relations.h"
#include "problem_list.h"

namespace synps {

/// Adds a problem for every group whose members do not resolve alike, and for every group that has
/// none where it must (see ResolveOptions). Weights whose policies are faulty themselves take no
/// part. `resolved` are the resolutions of `weights`. Throws Error(limit) when the budget is used
/// up.
void judge_groups(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                  const std::vector<WeightResolution>& resolved, const ResolveOptions& options,
                  StepBudget& budget, ProblemList& problems);

/// Adds a warning for every group in which no two weights have to be alike.
void warn_of_lone_members(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                          StepBudget& budget, ProblemList& warnings);

}  // namespace synps
