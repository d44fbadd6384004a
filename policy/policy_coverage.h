#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy_relations.h"
#include "synps/policy.h"

namespace synps {

/// Which policies cover a path. Each pattern is filed under one of the segments that it spells out,
/// so that a path is tried only against patterns whose segment it has, and those without any.
class PolicyCoverage {
 public:
  explicit PolicyCoverage(const std::vector<PolicyEntry>& entries);

  /// The policies that cover `path`, by number.
  /// Throws Error(limit) when the budget is used up.
  PolicySet covering(std::string_view path, StepBudget& budget) const;

 private:
  const std::vector<PolicyEntry>& entries_;
  std::unordered_map<std::string, PolicySet> by_segment_;
  PolicySet without_segment_;
};

}  // namespace synps
