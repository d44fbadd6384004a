#include "group_judge.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_names.h"
#include "toml_text.h"
#include "unmatched_pattern.h"

namespace synps {
namespace {

constexpr std::size_t kMaxMembersShown = 8;

// Numbers of weights that have to be alike, by what the wildcards matched.
using Sets = std::map<std::u32string, std::vector<std::size_t>>;

Sets sets_of(const PolicyGroup& group, const std::vector<WeightFacts>& weights,
             StepBudget& budget) {
  Sets sets;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    std::u32string key = group.paths.wildcard_key(weights[i].weight.path, budget.left());
    budget.check();
    if (!key.empty()) sets[std::move(key)].push_back(i);
  }
  return sets;
}

std::string field_of(const PolicyGroup& group) {
  return fmt::format("groups.{}", toml_key_for_display(group.name));
}

// What the stored bytes are in the end.
std::string stored_format(const WeightFacts& facts, const WeightResolution& resolution) {
  if (resolution.codec != nullptr) return encoding_of(resolution.codec->info());
  return facts.encoding.empty() ? std::string(encoding_name(facts.weight.dtype)) : facts.encoding;
}

std::string asked_form(const WeightResolution& resolution) {
  const FormRequest& form = resolution.form;
  std::string text = fmt::format("order {}, residency {}, orientation {}", to_string(form.order),
                                 to_string(form.residency), to_string(form.orientation));
  if (resolution.scheme && resolution.scheme->is_volatile) text += ", volatile";
  return text;
}

// What the group asks to be alike, in words.
std::string shared_text(const PolicyGroup& group, const WeightFacts& facts,
                        const WeightResolution& resolution) {
  std::vector<std::string> parts;
  for (const std::string& same : group.same) {
    if (same == "format") parts.push_back(stored_format(facts, resolution));
    if (same == "form") parts.push_back(asked_form(resolution));
    if (same == "dtype" && resolution.needs_scheme) parts.push_back("dtype " + resolution.dtype);
    if (same == "device") parts.push_back("device " + resolution.device);
  }
  return fmt::format("{}", fmt::join(parts, "; "));
}

bool is_decided(const WeightResolution& resolution) noexcept {
  return resolution.keep || resolution.codec != nullptr;
}

// Who decided the format, for people: ` by "PATTERN" (line 3)`.
std::string decider_text(const PolicyDocument& document, const WeightResolution& resolution) {
  if (resolution.used_fallback) return " as fallback";
  for (const KeyDecision& decision : resolution.decisions) {
    if (decision.key != "format" || decision.policy == nullptr) continue;
    const std::string file =
        decision.place.source == 0
            ? std::string()
            : fmt::format(" of {}", escape_for_display(document.files[decision.place.source]));
    return fmt::format(" by {} (line {}{})", toml_key_for_display(decision.policy->pattern.text()),
                       decision.place.line, file);
  }
  return {};
}

// Reports one group: its first set that differs, and how many do.
class GroupJudge {
 public:
  GroupJudge(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
             const std::vector<WeightResolution>& resolved)
      : document_(document), weights_(weights), resolved_(resolved) {}

  void judge(const PolicyGroup& group, const Sets& sets, ProblemList& problems) const {
    std::size_t differing = 0;
    const std::vector<std::size_t>* example = nullptr;
    for (const auto& [key, members] : sets) {
      if (are_alike(group, members)) continue;
      ++differing;
      // The set of the first weight, whatever the order of the keys.
      if (example == nullptr || members.front() < example->front()) example = &members;
    }
    if (example == nullptr) return;
    problems.add(
        group.place,
        {.what = differing == 1 ? std::string("members of a group differ")
                                : fmt::format("members of a group differ, in {} of its {} sets",
                                              differing, sets.size()),
         .field = field_of(group),
         .found = members_text(group, *example),
         .want = fmt::format("the same {}", fmt::join(group.same, " and ")),
         .hint = "let the policies that decide agree, or write one for all of them"});
  }

 private:
  std::string text_of(const PolicyGroup& group, std::size_t i) const {
    return shared_text(group, weights_[i], resolved_[i]);
  }

  bool are_alike(const PolicyGroup& group, const std::vector<std::size_t>& members) const {
    const std::string* first = nullptr;
    std::string reference;
    for (const std::size_t i : members) {
      if (!is_decided(resolved_[i])) continue;
      std::string text = text_of(group, i);
      if (first == nullptr) {
        reference = std::move(text);
        first = &reference;
      } else if (text != reference) {
        return false;
      }
    }
    return true;
  }

  // Members that say the same stand together.
  std::string members_text(const PolicyGroup& group,
                           const std::vector<std::size_t>& members) const {
    std::vector<std::string> shown;
    for (const std::size_t i : members) {
      if (shown.size() == kMaxMembersShown) break;
      if (!is_decided(resolved_[i])) continue;
      shown.push_back(fmt::format("{} is {}{}", quote(weights_[i].weight.path), text_of(group, i),
                                  decider_text(document_, resolved_[i])));
    }
    std::string text = fmt::format("{}", fmt::join(shown, ", "));
    if (members.size() > shown.size())
      text += fmt::format(", and {} more", members.size() - shown.size());
    return text;
  }

  const PolicyDocument& document_;
  const std::vector<WeightFacts>& weights_;
  const std::vector<WeightResolution>& resolved_;
};

void report_unmatched(const PolicyGroup& group, const std::vector<WeightFacts>& weights,
                      ProblemList& problems) {
  std::vector<std::string_view> paths;
  for (const WeightFacts& facts : weights) paths.push_back(facts.weight.path);
  Problem problem{.what = "the group matches no weight", .field = field_of(group)};
  problem.hint = hint_for_unmatched(group.paths, paths);
  if (problem.hint.empty()) problem.hint = "set `optional = true` where that is meant";
  problems.add(group.paths_place, std::move(problem));
}

}  // namespace

void judge_groups(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                  const std::vector<WeightResolution>& resolved, const ResolveOptions& options,
                  StepBudget& budget, ProblemList& problems) {
  const GroupJudge judge(document, weights, resolved);
  for (const PolicyGroup& group : document.groups) {
    const Sets sets = sets_of(group, weights, budget);
    const bool may_be_empty = group.optional || group.is_inherited() || options.allow_unmatched;
    if (sets.empty() && !may_be_empty)
      report_unmatched(group, weights, problems);
    else
      judge.judge(group, sets, problems);
  }
}

void warn_of_lone_members(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                          StepBudget& budget, ProblemList& warnings) {
  for (const PolicyGroup& group : document.groups) {
    if (group.is_inherited()) continue;
    const Sets sets = sets_of(group, weights, budget);
    const bool shared = std::any_of(sets.begin(), sets.end(),
                                    [](const auto& each) { return each.second.size() > 1; });
    if (sets.empty() || shared) continue;
    warnings.add(group.paths_place,
                 {.what = "the group changes nothing: no two weights agree on its wildcards",
                  .field = field_of(group),
                  .found = quote(group.paths.text()),
                  .want = "braces where members differ: \"layers.*.{q,k,v}_proj\""});
  }
}

}  // namespace synps
