#include "group_judge.h"

#include <algorithm>
#include <set>
#include <string>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_names.h"
#include "synps/unmatched_pattern.h"
#include "toml_text.h"

namespace synps {
namespace {

constexpr std::size_t kMaxMembersShown = 8;
// What finding the members of all groups may take: about a second or two.
constexpr std::uint64_t kMaxGroupSteps = 100'000'000;

std::string field_of(const PolicyGroup& group) {
  return fmt::format("groups.{}", toml_key_for_display(group.name));
}

// `package:export` as short as resolution.codec's name below.
std::string short_encoding(const std::string& encoding) {
  const std::size_t colon = encoding.find(':');
  const bool alike = colon != std::string::npos &&
                     encoding.compare(0, colon, encoding, colon + 1, std::string::npos) == 0;
  return alike ? encoding.substr(0, colon) : encoding;
}

// What the stored bytes are in the end.
std::string stored_format(const WeightFacts& facts, const WeightResolution& resolution) {
  if (resolution.codec != nullptr && resolution.codec->info().dense)
    return encoding_of(resolution.codec->info());
  if (resolution.codec != nullptr) return CodecRegistry::short_name(resolution.codec->info());
  return short_encoding(facts.source());
}

std::string asked_form(const WeightResolution& resolution) {
  const FormRequest& form = resolution.form;
  std::string text = fmt::format("order {}, residency {}, orientation {}", to_string(form.order),
                                 to_string(form.residency), to_string(form.orientation));
  if (form.compress.method != Compression::none)
    text += fmt::format(", compress {}", to_string(form.compress));
  if (resolution.scheme && resolution.scheme->is_volatile) text += ", volatile";
  return text;
}

// What the group asks to be alike, in words, one for each of `same`.
std::vector<std::string> shared_texts(const PolicyGroup& group, const WeightFacts& facts,
                                      const WeightResolution& resolution) {
  std::vector<std::string> parts;
  for (const std::string& same : group.same) {
    std::string& part = parts.emplace_back();
    if (same == "format") part = stored_format(facts, resolution);
    if (same == "form") part = asked_form(resolution);
    if (same == "dtype" && resolution.needs_scheme) part = "dtype " + resolution.dtype;
    if (same == "device") part = "device " + resolution.device;
  }
  return parts;
}

bool is_decided(const WeightResolution& resolution) noexcept {
  return resolution.keep || resolution.codec != nullptr;
}

// Who decided the format, for people: ` by "PATTERN" (line 3)`.
std::string decider_text(const PolicyDocument& document, const WeightResolution& resolution) {
  const std::string_view key = resolution.used_fallback ? "fallback" : "format";
  for (const KeyDecision& decision : resolution.decisions) {
    if (decision.key != key || decision.policy == nullptr) continue;
    const std::string by =
        fmt::format("by {} ({})", toml_key_for_display(decision.policy->pattern.text()),
                    line_text(document, decision.place));
    if (!resolution.used_fallback) return " " + by;
    return fmt::format(", the fallback {}, because {}", by, resolution.fallback_reason);
  }
  return {};
}

// Reports one group: its first set that differs, and how many do.
class GroupJudge {
 public:
  GroupJudge(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
             const std::vector<WeightResolution>& resolved)
      : document_(document), weights_(weights), resolved_(resolved) {}

  void judge(const PolicyGroup& group, const GroupSets& sets, ProblemList& problems) const {
    std::size_t differing = 0;
    const std::vector<std::size_t>* example = nullptr;
    for (const auto& [key, members] : sets) {
      if (differences(group, members).empty()) continue;
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
         .hint = hint_for(*example)});
  }

 private:
  std::string hint_for(const std::vector<std::size_t>& members) const {
    const bool fallback = std::any_of(members.begin(), members.end(),
                                      [&](std::size_t i) { return resolved_[i].used_fallback; });
    if (fallback) return "give all members a format that can hold each of them";
    return "let the policies that decide agree, or write one for all of them";
  }

  std::vector<std::string> texts_of(const PolicyGroup& group, std::size_t i) const {
    return shared_texts(group, weights_[i], resolved_[i]);
  }

  // Which of group.same the decided members do not share, by number.
  std::vector<std::size_t> differences(const PolicyGroup& group,
                                       const std::vector<std::size_t>& members) const {
    std::vector<std::string> first;
    std::set<std::size_t> different;
    for (const std::size_t i : members) {
      if (!is_decided(resolved_[i])) continue;
      const std::vector<std::string> texts = texts_of(group, i);
      if (first.empty()) first = texts;
      for (std::size_t part = 0; part < texts.size(); ++part)
        if (texts[part] != first[part]) different.insert(part);
    }
    return {different.begin(), different.end()};
  }

  std::string members_text(const PolicyGroup& group,
                           const std::vector<std::size_t>& members) const {
    const std::vector<std::size_t> different = differences(group, members);
    std::vector<std::string> shown;
    for (const std::size_t i : members) {
      if (shown.size() == kMaxMembersShown) break;
      if (!is_decided(resolved_[i])) continue;
      const std::vector<std::string> texts = texts_of(group, i);
      std::vector<std::string> parts;
      bool format = false;
      for (const std::size_t part : different) {
        format = format || group.same[part] == "format";
        parts.push_back(texts[part]);
      }
      shown.push_back(fmt::format("{} is {}{}", quote(weights_[i].weight.path),
                                  fmt::join(parts, "; "),
                                  format ? decider_text(document_, resolved_[i]) : std::string()));
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
  problem.hint = hint_for_unmatched(group.paths, paths, kOptionalHint);
  if (problem.hint.empty()) problem.hint = "set `optional = true` where that is meant";
  problems.add(group.paths_place, std::move(problem));
}

}  // namespace

std::vector<GroupSets> group_sets(const PolicyDocument& document,
                                  const std::vector<WeightFacts>& weights) {
  std::uint64_t steps = kMaxGroupSteps;
  std::vector<GroupSets> all;
  for (const PolicyGroup& group : document.groups) {
    GroupSets& sets = all.emplace_back();
    for (std::size_t i = 0; i < weights.size(); ++i) {
      std::u32string key = group.paths.wildcard_key(weights[i].weight.path, steps);
      if (!key.empty()) sets[std::move(key)].push_back(i);
    }
    if (steps != 0) continue;
    ProblemList problems(document.files);
    problems.add(group.paths_place,
                 {.what = "finding the members of the groups takes too long",
                  .field = field_of(group),
                  .found = fmt::format("more than {} steps", kMaxGroupSteps),
                  .hint = "write fewer groups, and fewer wildcards in their patterns"},
                 ErrorCode::limit);
    problems.throw_all();
  }
  return all;
}

void judge_groups(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                  const std::vector<GroupSets>& sets, const std::vector<WeightResolution>& resolved,
                  const ResolveOptions& options, ProblemList& problems) {
  const GroupJudge judge(document, weights, resolved);
  for (std::size_t i = 0; i < document.groups.size(); ++i) {
    const PolicyGroup& group = document.groups[i];
    const bool may_be_empty = group.optional || group.is_inherited() || options.allow_unmatched;
    if (sets[i].empty() && !may_be_empty)
      report_unmatched(group, weights, problems);
    else
      judge.judge(group, sets[i], problems);
  }
}

void warn_of_lone_members(const PolicyDocument& document, const std::vector<GroupSets>& all,
                          ProblemList& warnings) {
  for (std::size_t i = 0; i < document.groups.size(); ++i) {
    const PolicyGroup& group = document.groups[i];
    const GroupSets& sets = all[i];
    const bool shared = std::any_of(sets.begin(), sets.end(),
                                    [](const auto& each) { return each.second.size() > 1; });
    if (group.is_inherited() || sets.empty() || shared) continue;
    warnings.add(group.paths_place,
                 {.what = "the group changes nothing: no two weights agree on its wildcards",
                  .field = field_of(group),
                  .found = quote(group.paths.text()),
                  .hint = "put the names that tell members apart into braces, as in "
                          "\"{q,k,v}_proj\", and use wildcards for what they share"});
  }
}

}  // namespace synps
