#include "policy_relations.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "pattern_compare.h"
#include "toml_text.h"

namespace synps {

namespace {

// Steps that looking up a pair, and keeping one, are worth.
constexpr std::uint64_t kLookUpSteps = 4;
constexpr std::uint64_t kPairSteps = 256;

bool has(const PolicySet& set, std::uint32_t member) {
  return std::find(set.begin(), set.end(), member) != set.end();
}

}  // namespace

void StepBudget::throw_used_up() const {
  ProblemList problems(file_);
  problems.add({},
               {.what = "deciding between the policies takes too long",
                .found = fmt::format("more than {} steps", allowed_),
                .hint = "write fewer policies that cover the same weights, and fewer wildcards in "
                        "one pattern"},
               ErrorCode::limit);
  problems.throw_all();
}

bool PolicyRelations::narrower(std::uint32_t a, std::uint32_t b) {
  if (a == b) return false;
  pattern::spend(budget_.left(), 1);
  budget_.check();
  if (entries_[a].pattern.clearly_apart(entries_[b].pattern)) return false;
  return a < b ? compare(a, b) == Inclusion::narrower : compare(b, a) == Inclusion::broader;
}

// Needs a < b.
Inclusion PolicyRelations::compare(std::uint32_t a, std::uint32_t b) {
  pattern::spend(budget_.left(), kLookUpSteps);
  budget_.check();
  const std::uint64_t key = (std::uint64_t{a} << 32) | b;
  if (const auto it = known_.find(key); it != known_.end()) return it->second;
  pattern::spend(budget_.left(), kPairSteps);
  Inclusion inclusion = Inclusion::overlapping;
  try {
    inclusion = entries_[a].pattern.compare(entries_[b].pattern, budget_.left());
  } catch (const Error& error) {
    budget_.check();
    undecided_.push_back({a, b, error.problems().front()});
  }
  known_.emplace(key, inclusion);
  return inclusion;
}

PolicySet PolicyRelations::narrowest(const PolicySet& set) {
  PolicySet result;
  for (const std::uint32_t candidate : set) {
    const bool beaten = std::any_of(
        set.begin(), set.end(), [&](std::uint32_t other) { return narrower(other, candidate); });
    if (!beaten) result.push_back(candidate);
  }
  return result;
}

PolicySet PolicyRelations::widest_first(PolicySet set) {
  // A policy has all that are broader than its broader ones above it, and those as well: their
  // number rises along every chain.
  std::vector<std::pair<std::size_t, std::uint32_t>> ranked;
  for (const std::uint32_t member : set) {
    const auto broader = std::count_if(
        set.begin(), set.end(), [&](std::uint32_t other) { return narrower(member, other); });
    ranked.emplace_back(static_cast<std::size_t>(broader), member);
  }
  std::sort(ranked.begin(), ranked.end(), [&](const auto& a, const auto& b) {
    return std::tie(a.first, entries_[a.second].pattern.text()) <
           std::tie(b.first, entries_[b.second].pattern.text());
  });
  for (std::size_t i = 0; i < set.size(); ++i) set[i] = ranked[i].second;
  return set;
}

bool PolicyRelations::has_undecided(const PolicySet& set) const {
  return std::any_of(undecided_.begin(), undecided_.end(),
                     [&](const Undecided& pair) { return has(set, pair.a) && has(set, pair.b); });
}

bool PolicyRelations::all_equal(const PolicySet& set) const {
  return std::all_of(set.begin() + 1, set.end(), [&](std::uint32_t member) {
    const auto it = known_.find((std::uint64_t{set.front()} << 32) | member);
    return it != known_.end() && it->second == Inclusion::equal;
  });
}

void PolicyRelations::report(const std::vector<PolicySet>& contested, ProblemList& problems) const {
  for (const Undecided& pair : undecided_) {
    const bool matters = std::any_of(contested.begin(), contested.end(), [&](const PolicySet& set) {
      return has(set, pair.a) && has(set, pair.b);
    });
    if (!matters) continue;
    const PolicyEntry& a = entries_[pair.a];
    const PolicyEntry& b = entries_[pair.b];
    Problem problem = pair.problem;
    problem.what = fmt::format("cannot tell which of two patterns is narrower: {}", problem.what);
    problem.field = fmt::format("policies.{}", toml_key_for_display(b.pattern.text()));
    problem.found =
        fmt::format("{} (line {})", toml_key_for_display(a.pattern.text()), a.place.line);
    if (problem.hint.empty()) problem.hint = "write one of them more simply";
    problems.add(b.place, std::move(problem), pair.problem.code);
  }
}

}  // namespace synps
