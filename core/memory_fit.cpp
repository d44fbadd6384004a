#include <fmt/format.h>

#include <algorithm>

#include "synps/memory_plan.h"

namespace synps {
namespace {

/// Weights that an error names before it only counts.
constexpr std::size_t kNamed = 3;

std::string mib(std::uint64_t bytes) {
  if (bytes < 1 << 20) return fmt::format("{} bytes", bytes);
  return fmt::format("{} bytes ({:.1f} MiB)", bytes, static_cast<double>(bytes) / (1 << 20));
}

std::string profile_words(const Profile& profile) {
  return profile.name.empty() ? std::string() : fmt::format(" of the profile {}", profile.name);
}

std::string best_suggestions(const MemoryPlan& plan) {
  std::string text;
  for (std::size_t i = 0; i < std::min(kNamed, plan.suggestions.size()); ++i) {
    const Suggestion& each = plan.suggestions[i];
    if (!text.empty()) text += "; ";
    text += fmt::format("{} (saves {})", each.text, mib(each.saves));
  }
  return text;
}

Problem does_not_fit(const MemoryPlan& plan, const Profile& profile, const std::string& file,
                     std::string_view otherwise) {
  Problem problem{.code = ErrorCode::limit, .file = file};
  problem.what = "loading does not fit the budget" + profile_words(profile);
  problem.found = mib(plan.total.resident) + " resident";
  if (plan.total.transient != 0)
    problem.found += " and " + mib(plan.total.transient) + " while converting";
  problem.want = "at most " + mib(plan.budget.value_or(0));
  problem.hint = best_suggestions(plan);
  if (!problem.hint.empty()) problem.hint += "; or ";
  problem.hint += otherwise;
  return problem;
}

/// What becomes of a weight, for an error.
std::string conversion_of(const FormDecision& decision) {
  std::string text;
  const auto say = [&](bool does, std::string_view what) {
    if (!does) return;
    if (!text.empty()) text += ", ";
    text += what;
  };
  say(decision.inflates, "inflated");
  say(decision.relays, "relaid");
  say(decision.dequantizes, "dequantized to f32");
  return text;
}

Problem is_refused(const PlannedLoad& load, const Profile& profile, const std::string& file) {
  Problem problem{.code = ErrorCode::limit, .file = file};
  problem.what = fmt::format("the strict profile {} refuses a conversion at load", profile.name);
  problem.field = load.weight->weight.path;
  problem.found =
      fmt::format("{} resident ({})", mib(load.memory.resident), conversion_of(load.decision));
  const std::uint64_t most = resident_as_stored(*load.weight, load.decision);
  problem.want = most == 0 ? "none: as stored it is mapped"
                           : fmt::format("at most the {} that it takes as stored", mib(most));
  const auto suggestions = suggestions_for({load});
  problem.hint = suggestions.empty() ? std::string() : suggestions[0].text + "; or ";
  problem.hint += "take a profile that is not strict";
  return problem;
}

}  // namespace

void check_fits(const MemoryPlan& plan, const Profile& profile, const std::string& file,
                bool allow_over_budget, std::string_view otherwise) {
  std::vector<Problem> problems;
  for (const std::size_t i : plan.refused) {
    if (problems.size() == kNamed) break;
    problems.push_back(is_refused(plan.weights[i], profile, file));
  }
  if (plan.refused.size() > kNamed)
    problems.back().hint += fmt::format("; and so {} more weights", plan.refused.size() - kNamed);
  if (!plan.fits && !allow_over_budget)
    problems.push_back(does_not_fit(plan, profile, file, otherwise));
  if (!problems.empty()) throw Error(std::move(problems));
}

}  // namespace synps
