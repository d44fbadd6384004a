#include "resolution_report.h"

#include <algorithm>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_names.h"
#include "scheme_rules.h"
#include "synps/unmatched_pattern.h"
#include "toml_text.h"

namespace synps {
namespace {

// Suggestions cost a walk over all paths each.
constexpr std::size_t kMaxUnmatchedHints = 20;
// Patterns that one ambiguity's hint names, where a single one cannot cover all its weights.
constexpr std::size_t kMaxDecidingPatterns = 4;
constexpr std::size_t kMaxContendersShown = 20;

// No place is later than every place.
bool comes_before(const SourcePlace& a, const SourcePlace& b) noexcept {
  const auto rank = [](const SourcePlace& place) {
    return std::make_tuple(place.line == 0, place.source, place.line, place.column);
  };
  return rank(a) < rank(b);
}

// The header under which a policy sets the key.
std::string header_for(std::string_view key, std::string_view pattern) {
  const std::string name = toml_key(pattern);
  if (key == "format") return fmt::format("[[policies.{}.schemes]]", name);
  if (key.starts_with("form.")) return fmt::format("[policies.{}.form]", name);
  if (key.starts_with("backend.")) return fmt::format("[policies.{}.backend]", name);
  return fmt::format("[policies.{}]", name);
}

// A pattern that decides between the contenders for `path`; empty when there is none.
std::string deciding_pattern(const std::vector<const PathPattern*>& contenders,
                             std::string_view path, std::uint64_t& steps) {
  // What many have in common is nothing that a person would read: the path itself will do.
  std::uint64_t none = 0;
  std::uint64_t& allowed = contenders.size() > kMaxContendersShown ? none : steps;
  try {
    return PathPattern::narrower_than_all(contenders, path, allowed);
  } catch (const Error&) {
    return PathPattern::literal(path);  // too costly to intersect; the path itself is narrower
  }
}

}  // namespace

std::string affected_weights(std::size_t count, std::string_view example) {
  return count == 1 ? quote(example) : fmt::format("{} weights, such as {}", count, quote(example));
}

bool speaks_of_weights(const PolicyEntry& entry) {
  if (!entry.schemes.empty()) return entry.has_constant_scheme();
  return std::any_of(entry.keys.begin(), entry.keys.end(), [](const PolicyKey& key) {
    return key.name == "fallback" || key.name.starts_with("form.");
  });
}

void ResolutionReport::add(const Ambiguity& ambiguity, std::string_view path) {
  ambiguities_[ambiguity].push_back(path);
}

void ResolutionReport::add(const WeightFault& fault, std::string_view path) {
  const Problem& problem = fault.problem;
  const SourcePlace where = fault.anywhere ? SourcePlace() : fault.place;
  const std::string key =
      fmt::format("{}:{}:{}\n{}\n{}\n{}\n{}", where.source, where.line, where.column, problem.what,
                  problem.field, problem.found, problem.hint);
  Faulty& faulty = faults_[key];
  if (faulty.count++ == 0) {
    faulty.fault = fault;
    faulty.example = path;
  } else if (comes_before(fault.place, faulty.fault.place)) {
    faulty.fault.place = fault.place;
  }
}

void ResolutionReport::add_unmatched(const std::vector<PolicyEntry>& entries,
                                     const std::vector<bool>& matched,
                                     const std::vector<std::string_view>& paths,
                                     ProblemList& problems) {
  std::size_t hints = 0;
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const PolicyEntry& entry = entries[i];
    if (matched[i] || entry.optional || entry.is_inherited() || !speaks_of_weights(entry)) continue;
    Problem problem{.what = "the pattern matches no weight"};
    problem.field = fmt::format("policies.{}", toml_key_for_display(entry.pattern.text()));
    if (hints++ < kMaxUnmatchedHints)
      problem.hint = hint_for_unmatched(entry.pattern, paths, kOptionalHint);
    if (problem.hint.empty()) problem.hint = "set `optional = true` where that is meant";
    problems.add(entry.place, std::move(problem));
  }
}

void ResolutionReport::finish(const PolicyRelations& relations, ProblemList& problems) {
  std::vector<PolicySet> contested;
  for (const auto& [ambiguity, paths] : ambiguities_) contested.push_back(ambiguity.contenders);
  relations.report(contested, problems);
  for (const auto& [ambiguity, paths] : ambiguities_)
    if (!relations.has_undecided(ambiguity.contenders))
      report_ambiguity(ambiguity, paths, relations, problems);
  for (const auto& [key, faulty] : faults_) {
    Problem problem = faulty.fault.problem;
    problem.what += fmt::format(": {}", affected_weights(faulty.count, faulty.example));
    problems.add(faulty.fault.place, std::move(problem));
  }
}

void ResolutionReport::report_ambiguity(const Ambiguity& ambiguity,
                                        const std::vector<std::string_view>& paths,
                                        const PolicyRelations& relations, ProblemList& problems) {
  std::vector<std::string> claims;
  for (const std::uint32_t i : ambiguity.contenders) {
    const PolicyEntry& entry = entries_[i];
    if (claims.size() == kMaxContendersShown) break;
    claims.push_back(fmt::format("{} by {} ({})", value_of(ambiguity.key, entry),
                                 toml_key_for_display(entry.pattern.text()),
                                 line_text(document_, place_of_key(entry, ambiguity.key, value_))));
  }
  if (ambiguity.contenders.size() > claims.size())
    claims.push_back(fmt::format("{} more", ambiguity.contenders.size() - claims.size()));
  Problem problem{.what = "ambiguous: policies disagree, and none is narrower than the others"};
  problem.what += fmt::format(": {}", affected_weights(paths.size(), paths.front()));
  problem.field = ambiguity.key;
  problem.found = fmt::format("{}", fmt::join(claims, ", "));
  problem.hint = relations.all_equal(ambiguity.contenders) ? same_paths_hint(ambiguity)
                                                           : deciding_headers(ambiguity, paths);
  problems.add(place_of_key(entries_[ambiguity.contenders.front()], ambiguity.key, value_),
               std::move(problem));
}

std::string ResolutionReport::same_paths_hint(const Ambiguity& ambiguity) const {
  const PolicySet& contenders = ambiguity.contenders;
  const PolicyEntry& last = entries_[contenders.back()];
  // One that spells its pattern as a base does replaces what that says.
  if (!entries_[contenders.front()].is_inherited() && last.is_inherited())
    return fmt::format(
        "they cover the same paths: spell the pattern as {} does, and it is replaced",
        line_text(document_, place_of_key(last, ambiguity.key, value_)));
  return contenders.size() == 2
             ? "they cover the same paths: remove one of them, or make them agree"
             : "they cover the same paths: remove all but one of them, or make them agree";
}

std::string ResolutionReport::value_of(std::string_view key, const PolicyEntry& entry) const {
  if (key != "format") {
    const std::string& value = find_policy_key(entry, key)->value;
    return key == "fallback" ? short_format(value, codecs_) : value;
  }
  const Scheme& scheme = claiming_scheme(entry.schemes, value_)->scheme;
  std::string text = short_format(scheme.format, codecs_);
  if (scheme.is_volatile) text += " volatile";
  if (scheme.scope == Scope::any) text += " for any scope";
  if (scheme.lifetime == Lifetime::any) text += " for any lifetime";
  return text;
}

std::string ResolutionReport::deciding_headers(const Ambiguity& ambiguity,
                                               const std::vector<std::string_view>& paths) {
  std::vector<const PathPattern*> contenders;
  for (const std::uint32_t i : ambiguity.contenders) contenders.push_back(&entries_[i].pattern);
  std::vector<PathPattern> deciding;
  std::vector<std::string> headers;
  std::size_t left = 0;
  for (const std::string_view path : paths) {
    const bool decided = std::any_of(deciding.begin(), deciding.end(),
                                     [&](const PathPattern& one) { return one.covers(path); });
    if (decided) continue;
    if (deciding.size() == kMaxDecidingPatterns) {
      ++left;
      continue;
    }
    const std::string pattern = deciding_pattern(contenders, path, hint_steps_);
    if (pattern.empty()) return "remove all but one of them, or make them agree";
    deciding.push_back(PathPattern::parse(pattern));
    headers.push_back(header_for(ambiguity.key, pattern));
  }
  std::string hint = fmt::format("decide it under {}", fmt::join(headers, " and "));
  if (ambiguity.key == "format" && value_.scope != Scope::constant)
    hint += fmt::format(" with scope = \"{}\", lifetime = \"{}\"", to_string(value_.scope),
                        to_string(value_.lifetime));
  if (left > 0) hint += fmt::format(", and {} more weights", left);
  return hint;
}

}  // namespace synps
