#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "policy_document.h"
#include "problem_list.h"

namespace synps {

/// Numbers of weights that have to be alike, set by set, by what the wildcards matched.
using GroupSets = std::map<std::u32string, std::vector<std::size_t>>;

/// The sets of every group, in the order of the document's groups. Throws Error(limit) at the group
/// that takes too long.
std::vector<GroupSets> group_sets(const PolicyDocument& document,
                                  const std::vector<WeightFacts>& weights);

/// Adds a problem for every group whose members do not resolve alike, and for every group that has
/// none where it must (see ResolveOptions). Weights whose policies are faulty themselves take no
/// part. `sets` are those of `weights`, and `resolved` their resolutions.
void judge_groups(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                  const std::vector<GroupSets>& sets, const std::vector<WeightResolution>& resolved,
                  const ResolveOptions& options, ProblemList& problems);

/// Adds a warning for every group in which no two weights have to be alike.
void warn_of_lone_members(const PolicyDocument& document, const std::vector<GroupSets>& sets,
                          ProblemList& warnings);

}  // namespace synps
