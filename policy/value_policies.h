#pragma once

#include <vector>

#include "policy_document.h"
#include "problem_list.h"

namespace synps {

/// Adds a problem for every pair of policies that disagree about values other than constants, where
/// nothing decides between them for some path that both cover: no checkpoint can say that there is
/// no such path. Throws Error(limit) when finding out takes too long.
void check_value_policies(const PolicyDocument& document, ProblemList& problems);

/// Policy::value_schemes().
std::vector<PolicyValueScheme> ordered_value_schemes(const PolicyDocument& document);

}  // namespace synps
