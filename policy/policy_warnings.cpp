#include "policy_warnings.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_names.h"
#include "key_uses.h"
#include "policy_relations.h"
#include "resolution_report.h"
#include "scheme_rules.h"
#include "synps/unmatched_pattern.h"
#include "toml_text.h"

namespace synps {
namespace {

std::string field_of(const PolicyEntry& entry) {
  return fmt::format("policies.{}", toml_key_for_display(entry.pattern.text()));
}

// What a key is called where it stands.
std::string field_of(const PolicyEntry& entry, std::string_view key) {
  return fmt::format("{}.{}", field_of(entry), key == "format" ? "schemes.format" : key);
}

std::string value_of(const PolicyEntry& entry, std::string_view key, const CodecRegistry& codecs) {
  if (key == "format")
    return short_format(claiming_scheme(entry.schemes, kWeights)->scheme.format, codecs);
  const std::string& value = find_policy_key(entry, key)->value;
  return key == "fallback" ? short_format(value, codecs) : value;
}

bool claims_other_values(const PolicyEntry& entry) {
  return std::any_of(entry.schemes.begin(), entry.schemes.end(),
                     [](const PolicyScheme& each) { return each.scheme.scope != Scope::constant; });
}

// The keys of one policy that count, and what they do.
using OwnUses = std::vector<std::pair<std::string, KeyUse>>;

// What a policy matches.
struct Matched {
  bool scales = false;
  bool others = false;  // than scales; no floats, where a key has the use `none`
  bool faulty = false;  // that must not be decoded: to say `keep` by name says that it is meant
};

void say_why_unneeded(const Matched& matched, Problem& problem) {
  constexpr const char* kScales = "a scale goes with its weight: say it of that";
  constexpr const char* kOthers = "weights that are no floats are kept as stored";
  if (!matched.scales) {
    problem.what = "the key changes nothing: its pattern matches only weights that are no floats";
    problem.hint = kOthers;
  } else if (!matched.others) {
    problem.what = "the key changes nothing: its pattern matches only scales of weights";
    problem.hint = kScales;
  } else {
    problem.what =
        "the key changes nothing: its pattern matches only scales of weights, and weights that are "
        "no floats";
    problem.hint = fmt::format("{}; {}", kScales, kOthers);
  }
}

void warn_of(const PolicyEntry& entry, OwnUses uses, const CodecRegistry& codecs,
             ProblemList& warnings, const Matched& matched = {}) {
  // What a base says under the same pattern is the base's.
  uses.erase(
      std::remove_if(uses.begin(), uses.end(),
                     [&](const auto& each) { return place_of_key(entry, each.first).source != 0; }),
      uses.end());
  const auto all_are = [&](KeyUse use) {
    return std::all_of(uses.begin(), uses.end(),
                       [&](const auto& each) { return each.second == use; });
  };
  if (uses.empty()) return;
  if (all_are(KeyUse::overridden) && !claims_other_values(entry)) {
    warnings.add(entry.place,
                 {.what = "the policy changes nothing: narrower policies override all it sets",
                  .field = field_of(entry),
                  .hint = "remove it, or look whether a narrower one reaches too far"});
    return;
  }
  for (const auto& [key, use] : uses) {
    Problem problem{.field = field_of(entry, key), .found = value_of(entry, key, codecs)};
    if (use == KeyUse::overridden) {
      problem.what = "the key changes nothing: narrower policies override it everywhere";
      problem.hint = "remove it, or look whether a narrower one reaches too far";
    } else if (use == KeyUse::repeats) {
      if (matched.faulty && key == "format") continue;
      problem.what = "the key changes nothing: without it the same would hold";
      problem.hint = "remove it, or keep it to pin the value against later changes";
    } else if (use == KeyUse::none) {
      say_why_unneeded(matched, problem);
    } else {
      continue;
    }
    // A scheme for any scope speaks of values that no checkpoint shows.
    if (key == "format" && claiming_scheme(entry.schemes, kWeights)->scheme.scope == Scope::any)
      continue;
    warnings.add(place_of_key(entry, key), std::move(problem));
  }
}

std::optional<PathPattern> parse_or_nothing(std::string_view text) {
  try {
    return PathPattern::parse(text);
  } catch (const Error&) {
    return std::nullopt;
  }
}

// The policy may be sound all the same.
void warn_of_unfinished_search(ProblemList& warnings) {
  warnings.add({}, {.what = "looking for policies that change nothing takes too long",
                    .hint = "this check was left out; all others were made"});
}

// Narrower policies, looked up by what they set, for every path there could be.
class CoverCheck {
 public:
  CoverCheck(const PolicyDocument& document, ProblemList& warnings)
      : document_(document),
        warnings_(warnings),
        budget_(document.files.front()),
        relations_(document.entries, budget_) {}

  void run() {
    for (std::uint32_t i = 0; i < document_.entries.size(); ++i)
      if (!document_.entries[i].is_inherited()) check(i);
  }

 private:
  void check(std::uint32_t number) {
    const PolicyEntry& entry = document_.entries[number];
    OwnUses uses;
    for (const PolicyKey& key : entry.keys)
      uses.emplace_back(key.name, use_of(number, [&](const PolicyEntry& other) {
                          return find_policy_key(other, key.name) != nullptr;
                        }));
    if (claiming_scheme(entry.schemes, kWeights) != nullptr)
      uses.emplace_back("format", use_of(number, [](const PolicyEntry& other) {
                          return claiming_scheme(other.schemes, kWeights) != nullptr;
                        }));
    warn_of(entry, uses, *document_.codecs, warnings_);
  }

  // Overridden when narrower policies that `sets` cover all paths of this one.
  template <typename Sets>
  KeyUse use_of(std::uint32_t number, const Sets& sets) {
    std::vector<const PathPattern*> narrower;
    for (std::uint32_t other = 0; other < document_.entries.size(); ++other)
      if (other != number && sets(document_.entries[other]) && relations_.narrower(other, number))
        narrower.push_back(&document_.entries[other].pattern);
    if (narrower.empty()) return KeyUse::decides;
    try {
      const auto left =
          PathPattern::find_path({&document_.entries[number].pattern}, narrower, budget_.left());
      return left ? KeyUse::decides : KeyUse::overridden;
    } catch (const Error&) {
      budget_.check();
      return KeyUse::decides;  // too costly to know: no reason to warn
    }
  }

  const PolicyDocument& document_;
  ProblemList& warnings_;
  StepBudget budget_;
  PolicyRelations relations_;
};

// Every format and fallback that the policies name.
std::set<std::string> named_formats(const PolicyDocument& document) {
  std::set<std::string> names(document.source_formats.begin(), document.source_formats.end());
  for (const PolicyEntry& entry : document.entries) {
    for (const PolicyScheme& each : entry.schemes) names.insert(each.scheme.format);
    if (const PolicyKey* fallback = find_policy_key(entry, "fallback"))
      names.insert(fallback->value);
  }
  return names;
}

}  // namespace

void warn_of_useless_keys(const PolicyDocument& document, const Resolution& resolution,
                          ProblemList& warnings) {
  StepBudget budget(document.files.front());
  PolicyRelations relations(document.entries, budget);
  std::map<std::uint32_t, OwnUses> by_policy;
  try {
    for (const auto& [where, use] : key_uses(document, resolution.sets, relations))
      by_policy[where.first].emplace_back(where.second, use);
  } catch (const Error&) {
    return warn_of_unfinished_search(warnings);
  }
  std::vector<Matched> matched(document.entries.size());
  for (const auto& [covering, use] : resolution.sets)
    for (const std::uint32_t number : covering) {
      matched[number].scales = matched[number].scales || use.by_scales;
      matched[number].others = matched[number].others || use.by_weights;
      matched[number].faulty = matched[number].faulty || use.by_faulty;
    }
  for (const auto& [number, uses] : by_policy) {
    const PolicyEntry& entry = document.entries[number];
    if (!entry.is_inherited()) warn_of(entry, uses, *document.codecs, warnings, matched[number]);
  }
}

void warn_of_unmatched_policies(const PolicyDocument& document, const Resolution& resolution,
                                ProblemList& warnings) {
  std::vector<bool> covers(document.entries.size(), false);
  for (const auto& [covering, use] : resolution.sets)
    for (const std::uint32_t number : covering) covers[number] = true;
  for (std::uint32_t i = 0; i < document.entries.size(); ++i) {
    const PolicyEntry& entry = document.entries[i];
    const bool exempt = entry.is_inherited() || entry.optional || entry.keys.empty();
    if (covers[i] || exempt || !entry.schemes.empty() || speaks_of_weights(entry)) continue;
    warnings.add(entry.place, {.what = "the pattern covers no weight, and what it sets no value",
                               .field = field_of(entry),
                               .hint = "set `optional = true` where that is meant"});
  }
}

void warn_of_covered_keys(const PolicyDocument& document, ProblemList& warnings) {
  ProblemList found(document.files);
  try {
    CoverCheck(document, found).run();
  } catch (const Error&) {
    warn_of_unfinished_search(found);
  }
  warnings.take_from(found);
}

void warn_of_empty_policies(const PolicyDocument& document, ProblemList& warnings) {
  for (const PolicyEntry& entry : document.entries)
    if (!entry.is_inherited() && entry.keys.empty() && entry.schemes.empty())
      warnings.add(entry.place, {.what = "the policy sets nothing",
                                 .field = field_of(entry),
                                 .hint = "remove it, or give it a key or a scheme"});
}

void warn_of_remote_values(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                           ProblemList& warnings) {
  std::vector<std::string_view> paths;
  for (const WeightFacts& facts : weights) paths.push_back(facts.weight.path);
  StepBudget budget(document.files.front());
  const auto covers_a_weight = [&](const PathPattern& pattern) {
    return std::any_of(paths.begin(), paths.end(),
                       [&](std::string_view path) { return pattern.covers(path, budget.left()); });
  };
  for (const PolicyEntry& entry : document.entries) {
    const std::string& text = entry.pattern.text();
    const std::size_t dot = text.rfind('.');
    const bool speaks_of_values = !entry.schemes.empty() && !entry.has_constant_scheme();
    if (entry.is_inherited() || entry.optional || !speaks_of_values || dot == std::string::npos)
      continue;
    if (covers_a_weight(entry.pattern)) continue;
    // Braces and ranges hold no dots but two in a row, which leave no pattern.
    const std::optional<PathPattern> above = parse_or_nothing(text.substr(0, dot));
    if (!above || covers_a_weight(*above) || budget.left() == 0) continue;
    Problem problem{.what = "no weight is near the values that this policy is for",
                    .field = field_of(entry)};
    problem.hint = hint_for_unmatched(*above, paths, kOptionalHint);
    if (problem.hint.empty()) problem.hint = "set `optional = true` where that is meant";
    warnings.add(entry.place, std::move(problem));
  }
}

void warn_of_unused_names(const PolicyDocument& document, ProblemList& warnings) {
  const std::set<std::string> formats = named_formats(document);
  for (const PolicyPackage& package : document.packages) {
    const std::string prefix = package.name + ":";
    const auto at = formats.lower_bound(prefix);
    if (package.place.source != 0 || (at != formats.end() && at->starts_with(prefix))) continue;
    warnings.add(package.place,
                 {.what = "nothing names a codec of this package",
                  .field = fmt::format("packages.{}", toml_key_for_display(package.name)),
                  .hint = "remove it, or name one of its codecs as a format"});
  }
  for (const auto& [name, entry] : document.devices) {
    const bool used = std::any_of(document.entries.begin(), document.entries.end(),
                                  [&, wanted = &name](const PolicyEntry& each) {
                                    const PolicyKey* device =
                                        find_policy_key(each, "backend.device");
                                    return device != nullptr && device->value == *wanted;
                                  });
    if (entry.place.source != 0 || used) continue;
    warnings.add(entry.place,
                 {.what = "no policy names this device",
                  .field = fmt::format("devices.{}", toml_key_for_display(name)),
                  .hint = "remove it, or name it under [policies.\"PATTERN\".backend]"});
  }
}

void warn_of_unused_formats(const PolicyDocument& document, const std::vector<WeightFacts>& weights,
                            ProblemList& warnings) {
  std::set<std::string> encodings;
  std::set<std::string> names;  // as a policy writes them
  for (const WeightFacts& facts : weights) {
    encodings.insert(facts.source());
    if (facts.encoding.empty() || facts.needs_scheme())
      names.insert(short_format(facts.source(), *document.codecs));
  }
  for (std::size_t i = 0; i < document.source_formats.size(); ++i) {
    const SourcePlace& place = document.source_format_places[i];
    if (place.source != 0 || encodings.count(document.source_formats[i]) != 0) continue;
    std::string found = fmt::format("{}", fmt::join(names, ", "));
    warnings.add(place, {.what = "no weight of the checkpoint has this encoding",
                         .field = "myelin.formats",
                         .found = quote(short_format(document.source_formats[i], *document.codecs)),
                         .hint = names.empty() ? std::string()
                                               : fmt::format("the checkpoint has {}", found)});
  }
}

void warn_of_weights(const std::vector<WeightFacts>& weights,
                     const std::vector<WeightResolution>& resolved, ProblemList& warnings) {
  struct Warned {
    std::size_t count = 0;
    std::size_t first = 0;
  };
  std::map<std::string, Warned> by_text;
  for (std::size_t i = 0; i < resolved.size(); ++i) {
    if (resolved[i].warning.empty()) continue;
    Warned& warned = by_text[resolved[i].warning];
    if (warned.count++ == 0) warned.first = i;
  }
  for (const auto& [text, warned] : by_text) {
    const std::string example = quote(weights[warned.first].weight.path);
    SourcePlace place;
    for (const KeyDecision& decision : resolved[warned.first].decisions)
      if (decision.key == "format") place = decision.place;
    warnings.add(place, {.what = text + ": " +
                                 (warned.count == 1 ? example
                                                    : fmt::format("{} weights, such as {}",
                                                                  warned.count, example))});
  }
}

}  // namespace synps
