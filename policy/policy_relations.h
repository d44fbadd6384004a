#pragma once

#include <cstdint>
#include <unordered_map>
#include <vector>

#include "problem_list.h"
#include "synps/policy.h"

namespace synps {

/// Numbers of policies, in file order.
using PolicySet = std::vector<std::uint32_t>;

/// How the path sets of a file's policies relate, each pair compared once and only when asked.
/// Not thread-safe.
class PolicyRelations {
 public:
  explicit PolicyRelations(const std::vector<PolicyEntry>& entries) : entries_(entries) {}

  /// Whether `a` covers strictly less than `b`. A pair too costly to compare counts as neither
  /// narrower, and is remembered for report().
  bool narrower(std::uint32_t a, std::uint32_t b);

  /// The members that no other member is narrower than.
  PolicySet narrowest(const PolicySet& set);

  /// The members with every one after all that are broader. Among policies that do not contain one
  /// another the pattern's text decides, so that the file's order never shows.
  PolicySet widest_first(PolicySet set);

  /// Whether a pair of the set could not be compared.
  bool has_undecided(const PolicySet& set) const;
  /// Adds a problem for each pair that could not be compared.
  void report(ProblemList& problems) const;

 private:
  struct Undecided {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    Problem problem;
  };

  Inclusion compare(std::uint32_t a, std::uint32_t b);

  const std::vector<PolicyEntry>& entries_;
  std::unordered_map<std::uint64_t, Inclusion> known_;  // by the smaller number, then the larger
  std::vector<Undecided> undecided_;
};

}  // namespace synps
