#pragma once

#include <map>
#include <string_view>
#include <vector>

#include "group_judge.h"
#include "policy_coverage.h"
#include "policy_document.h"
#include "policy_resolver.h"
#include "problem_list.h"

namespace synps {

/// How weights use a set of policies.
struct SetUse {
  SetResolution resolution;
  bool by_floats = false;   ///< some weight with this set needs a scheme
  bool by_scales = false;   ///< some weight with this set is the scale of another
  bool by_weights = false;  ///< some weight with this set is none
  bool by_faulty = false;   ///< some weight with this set must not be decoded
};

/// What a policy says about the weights of a checkpoint.
struct Resolution {
  std::vector<WeightResolution> weights;  ///< of faulty ones, what could be decided
  std::map<PolicySet, SetUse> sets;       ///< the sets of policies that cover some weight
  std::vector<GroupSets> groups;          ///< by group; empty when finding them took too long
};

/// Resolves every weight, in the order given, and adds all problems. Throws Error(limit).
Resolution resolve_weights(const PolicyDocument& document, const PolicyCoverage& coverage,
                           const std::vector<WeightFacts>& weights, const ResolveOptions& options,
                           ProblemList& problems);

/// The policies that cover `path`, of which there may not be too many: Error(limit).
PolicySet covering_policies(const PolicyDocument& document, CoverageWalk& walk,
                            std::string_view path, StepBudget& budget);

/// Adds a problem for every policy that speaks of weights and covers none, where it may not.
void add_unmatched_policies(const PolicyDocument& document, const PolicyCoverage& coverage,
                            const std::vector<WeightFacts>& weights, ProblemList& problems);

}  // namespace synps
