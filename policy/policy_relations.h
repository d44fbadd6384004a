#pragma once

#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "problem_list.h"
#include "synps/policy.h"

namespace synps {

/// Numbers of policies, in file order.
using PolicySet = std::vector<std::uint32_t>;

/// What resolving a checkpoint, or explaining a path, may take in all, in steps of some
/// nanoseconds: about a second or two.
inline constexpr std::uint64_t kMaxResolveSteps = 200'000'000;
/// Policies that may cover one path. Deciding between them takes time and space in its square.
inline constexpr std::size_t kMaxCovering = 256;

/// The steps left of a resolution.
class StepBudget {
 public:
  /// `file` is for the message.
  explicit StepBudget(std::string file, std::uint64_t steps = kMaxResolveSteps)
      : file_(std::move(file)), allowed_(steps), left_(steps) {}

  std::uint64_t& left() noexcept { return left_; }
  /// Throws Error(limit) when nothing is left.
  void check() const {
    if (left_ == 0) throw_used_up();
  }

 private:
  [[noreturn]] void throw_used_up() const;

  std::string file_;
  std::uint64_t allowed_;
  std::uint64_t left_;
};

/// How the path sets of a file's policies relate, each pair compared once and only when asked.
/// Not thread-safe.
class PolicyRelations {
 public:
  /// Both outlive the relations.
  PolicyRelations(const std::vector<PolicyEntry>& entries, StepBudget& budget)
      : entries_(entries), budget_(budget) {}

  /// Whether `a` covers strictly less than `b`. A pair too costly to compare counts as neither
  /// narrower, and is remembered for report(). Throws Error(limit) when the budget is used up.
  bool narrower(std::uint32_t a, std::uint32_t b);

  /// The members that no other member is narrower than.
  PolicySet narrowest(const PolicySet& set);

  /// The members with every one after all that are broader. Among policies that do not contain one
  /// another the pattern's text decides, so that the file's order never shows.
  PolicySet widest_first(PolicySet set);

  /// Whether a pair of the set could not be compared.
  bool has_undecided(const PolicySet& set) const;
  /// Adds a problem for each pair that could not be compared and of which one of `contested` has
  /// both: elsewhere it decides nothing.
  void report(const std::vector<PolicySet>& contested, ProblemList& problems) const;

  /// Whether all members cover the same paths. They have been compared with each other.
  bool all_equal(const PolicySet& set) const;

 private:
  struct Undecided {
    std::uint32_t a = 0;
    std::uint32_t b = 0;
    Problem problem;
  };

  Inclusion compare(std::uint32_t a, std::uint32_t b);

  const std::vector<PolicyEntry>& entries_;
  StepBudget& budget_;
  std::unordered_map<std::uint64_t, Inclusion> known_;  // by the smaller number, then the larger
  std::vector<Undecided> undecided_;
};

}  // namespace synps
