#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "policy_relations.h"
#include "synps/policy.h"

namespace synps {

/// Where to look for the policies that cover a path. Each pattern is filed under one of the
/// segments that it spells out, so that a path is tried only against patterns whose segment it has,
/// and those without any.
class PolicyCoverage {
 public:
  explicit PolicyCoverage(const std::vector<PolicyEntry>& entries);

 private:
  friend class CoverageWalk;

  struct Hash {
    using is_transparent = void;
    std::size_t operator()(std::string_view text) const noexcept {
      return std::hash<std::string_view>()(text);
    }
  };

  /// Lists of policies, each once, that together hold every policy that may cover `path`.
  void find_candidates(std::string_view path, std::vector<const PolicySet*>& lists) const;

  const std::vector<PolicyEntry>& entries_;
  std::unordered_map<std::string, PolicySet, Hash, std::equal_to<>> by_segment_;
  PolicySet without_segment_;
};

/// Finds the policies that cover one path after another. What the first bytes of a path decide
/// about a pattern holds for the next path that begins with them, as neighbours in a checkpoint do.
class CoverageWalk {
 public:
  /// `coverage` outlives the walk.
  explicit CoverageWalk(const PolicyCoverage& coverage);

  /// The policies that cover `path`, by number. Throws Error(limit) when the budget is used up.
  PolicySet covering(std::string_view path, StepBudget& budget);

 private:
  using PathNumber = std::uint32_t;  // from 1

  // The last answer of a pattern.
  struct Answer {
    PathNumber path = 0;  // that was asked about; 0: none
    bool covers = false;
    std::size_t read = 0;  // bytes that decided
  };
  // From this byte on paths have changed since `path`.
  struct Change {
    std::size_t byte = 0;
    PathNumber path = 0;
  };

  void begin(std::string_view path);
  bool still_holds(const Answer& answer) const noexcept;

  const PolicyCoverage& coverage_;
  std::vector<Answer> answers_;  // by policy
  std::vector<Change> changes_;  // both members rise
  PathNumber number_ = 0;
  std::string path_;
  std::vector<const PolicySet*> candidates_;  // of one path; kept for its memory
};

}  // namespace synps
