#include "value_policies.h"

#include <algorithm>
#include <deque>
#include <string>
#include <tuple>
#include <utility>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "format_names.h"
#include "policy_relations.h"
#include "scheme_rules.h"
#include "toml_text.h"

namespace synps {
namespace {

constexpr std::string_view kDisagree =
    "ambiguous: policies disagree about values that are not constants, and none is narrower than "
    "the others";

bool claims_more_than_constants(const PolicyScheme& each) noexcept {
  return each.scheme.scope != Scope::constant;
}

// What both schemes claim.
ValueClass common_claim(const Scheme& a, const Scheme& b) noexcept {
  return {a.scope == Scope::any ? b.scope : a.scope,
          a.lifetime == Lifetime::any ? b.lifetime : a.lifetime};
}

// `scope = "internal", lifetime = "session"`, for a header to be followed by.
std::string claim_text(const ValueClass& value) {
  return fmt::format("scope = \"{}\", lifetime = \"{}\"", to_string(value.scope),
                     to_string(value.lifetime));
}

// What looking for policies that disagree may take: a second or two.
constexpr std::uint64_t kMaxValueSteps = 50'000'000;
// Patterns that one hint names.
constexpr std::size_t kMaxDecidingPatterns = 4;

// What to paste. A scheme is taken whole: its update is written down, as one that is left out would
// be inferred.
std::string deciding_hint(const std::vector<std::string>& patterns, const ValueClass& claim,
                          const Scheme& one, const Scheme& other) {
  std::vector<std::string> headers;
  for (const std::string& pattern : patterns)
    if (!pattern.empty())
      headers.push_back(fmt::format("[[policies.{}.schemes]]", toml_key(pattern)));
  const bool more = headers.size() != patterns.size();
  std::string hint = fmt::format("decide it under {}{} with {}", fmt::join(headers, " and "),
                                 more ? ", and for further paths," : "", claim_text(claim));
  if (one.update == other.update)
    return hint + fmt::format(", update = \"{}\"", to_string(one.update));
  return hint + fmt::format(", and update = \"{}\" or \"{}\"", to_string(one.update),
                            to_string(other.update));
}

class ValueCheck {
 public:
  ValueCheck(const PolicyDocument& document, ProblemList& problems)
      : document_(document),
        problems_(problems),
        budget_(document.files.front(), kMaxValueSteps),
        relations_(document.entries, budget_) {}

  void run() {
    std::vector<std::uint32_t> policies;
    for (std::uint32_t i = 0; i < document_.entries.size(); ++i) {
      const auto& schemes = document_.entries[i].schemes;
      if (std::any_of(schemes.begin(), schemes.end(), claims_more_than_constants))
        policies.push_back(i);
    }
    for (const ValueClass& value : kValueClasses) {
      PolicySet& setters = setters_.emplace_back();
      for (const std::uint32_t i : policies)
        if (scheme_of(i, value) != nullptr) setters.push_back(i);
    }
    // Patterns with a path in common stand behind the one with the shorter prefix.
    std::sort(policies.begin(), policies.end(), [&](std::uint32_t a, std::uint32_t b) {
      return pattern(a).prefix() != pattern(b).prefix() ? pattern(a).prefix() < pattern(b).prefix()
                                                        : a < b;
    });
    for (std::size_t i = 0; i < policies.size(); ++i)
      for (std::size_t j = i + 1; j < policies.size(); ++j) {
        if (pattern(policies[i]).clearly_apart(pattern(policies[j]))) break;
        check_pair(std::min(policies[i], policies[j]), std::max(policies[i], policies[j]));
      }
  }

 private:
  using Schemes = std::pair<const PolicyScheme*, const PolicyScheme*>;

  const PathPattern& pattern(std::uint32_t i) const { return document_.entries[i].pattern; }
  const PolicyScheme* scheme_of(std::uint32_t i, const ValueClass& value) const {
    return claiming_scheme(document_.entries[i].schemes, value);
  }

  // Every two schemes that disagree about some kind of values are looked at once.
  void check_pair(std::uint32_t a, std::uint32_t b) {
    std::vector<Schemes> seen;
    bool may_meet = false;
    for (std::size_t k = 0; k < kValueClasses.size(); ++k) {
      if (kValueClasses[k].scope == Scope::constant) continue;
      const Schemes schemes{scheme_of(a, kValueClasses[k]), scheme_of(b, kValueClasses[k])};
      if (schemes.first == nullptr || schemes.second == nullptr ||
          says_the_same(schemes.first->scheme, schemes.second->scheme) ||
          std::find(seen.begin(), seen.end(), schemes) != seen.end())
        continue;
      seen.push_back(schemes);
      if (!may_meet && (are_apart(a, b) || relations_.narrower(a, b) || relations_.narrower(b, a)))
        return;
      may_meet = true;
      check_schemes(a, b, schemes, setters_[k]);
    }
  }

  void check_schemes(std::uint32_t a, std::uint32_t b, const Schemes& schemes,
                     const PolicySet& setters) {
    std::vector<const PathPattern*> outside;
    for (const std::uint32_t other : setters)
      if (relations_.narrower(other, a) || relations_.narrower(other, b))
        outside.push_back(&pattern(other));
    try {
      const auto path = PathPattern::find_path({&pattern(a), &pattern(b)}, outside, budget_.left());
      if (path) report(a, b, schemes, deciding_patterns(a, b, outside, *path));
    } catch (const Error& error) {
      budget_.check();
      Problem problem = error.problems().front();
      problem.field = "format";
      problems_.add(schemes.second->place, std::move(problem), ErrorCode::limit);
    }
  }

  // Whether no path is in both. Most pairs are; they are not worth keeping.
  bool are_apart(std::uint32_t a, std::uint32_t b) {
    try {
      const Inclusion relation = pattern(a).compare(pattern(b), budget_.left());
      budget_.check();
      return relation == Inclusion::disjoint;
    } catch (const Error&) {
      budget_.check();
      return false;
    }
  }

  std::string claim_of(std::uint32_t i, const PolicyScheme& scheme) const {
    return fmt::format("{} (update {}) by {} ({})",
                       short_format(scheme.scheme.format, *document_.codecs),
                       to_string(scheme.scheme.update), toml_key_for_display(pattern(i).text()),
                       line_text(document_, scheme.place));
  }

  // Patterns that together decide for every path that is open, if that takes but a few; `path` is
  // one of those paths.
  std::vector<std::string> deciding_patterns(std::uint32_t a, std::uint32_t b,
                                             const std::vector<const PathPattern*>& outside,
                                             std::string path) {
    std::vector<std::string> texts;
    std::deque<PathPattern> deciding;  // whose members stay where they are
    std::vector<const PathPattern*> covered = outside;
    for (;;) {
      std::string text =
          PathPattern::narrower_than_all({&pattern(a), &pattern(b)}, path, budget_.left());
      if (text.empty()) return texts;
      deciding.push_back(PathPattern::parse(text));
      covered.push_back(&deciding.back());
      texts.push_back(std::move(text));
      const auto open = PathPattern::find_path({&pattern(a), &pattern(b)}, covered, budget_.left());
      if (!open) return texts;
      if (texts.size() == kMaxDecidingPatterns) break;
      path = *open;
    }
    texts.emplace_back();  // there is more
    return texts;
  }

  void report(std::uint32_t a, std::uint32_t b, const Schemes& schemes,
              const std::vector<std::string>& deciding) {
    const ValueClass claim = common_claim(schemes.first->scheme, schemes.second->scheme);
    Problem problem{.what = std::string(kDisagree), .field = "format"};
    problem.what += fmt::format(": {}", claim_text(claim));
    problem.found =
        fmt::format("{}, {}", claim_of(a, *schemes.first), claim_of(b, *schemes.second));
    problem.hint = "they cover the same paths: remove one of them, or make them agree";
    if (relations_.all_equal({std::min(a, b), std::max(a, b)})) {
      problems_.add(schemes.second->place, std::move(problem));
      return;
    }
    if (!deciding.empty())
      problem.hint = deciding_hint(deciding, claim, schemes.first->scheme, schemes.second->scheme);
    problems_.add(schemes.second->place, std::move(problem));
  }

  const PolicyDocument& document_;
  ProblemList& problems_;
  StepBudget budget_;
  PolicyRelations relations_;
  std::vector<PolicySet> setters_;  // by number of the kind of values
};

int generality(const Scheme& scheme) noexcept {
  return (scheme.scope == Scope::any ? 1 : 0) + (scheme.lifetime == Lifetime::any ? 1 : 0);
}

// Every policy before those that are broader; among others the pattern's text decides.
PolicySet narrowest_first(const PolicyDocument& document, PolicySet set,
                          PolicyRelations& relations) {
  std::vector<std::size_t> broader(document.entries.size(), 0);
  for (const std::uint32_t member : set)
    broader[member] =
        static_cast<std::size_t>(std::count_if(set.begin(), set.end(), [&](std::uint32_t other) {
          return relations.narrower(member, other);
        }));
  std::sort(set.begin(), set.end(), [&](std::uint32_t a, std::uint32_t b) {
    if (broader[a] != broader[b]) return broader[a] > broader[b];
    return document.entries[a].pattern.text() < document.entries[b].pattern.text();
  });
  return set;
}

}  // namespace

void check_value_policies(const PolicyDocument& document, ProblemList& problems) {
  ValueCheck(document, problems).run();
}

std::vector<PolicyValueScheme> ordered_value_schemes(const PolicyDocument& document) {
  PolicySet with_values;
  for (std::uint32_t i = 0; i < document.entries.size(); ++i) {
    const auto& schemes = document.entries[i].schemes;
    if (std::any_of(schemes.begin(), schemes.end(), claims_more_than_constants))
      with_values.push_back(i);
  }
  StepBudget budget(document.files.front());
  PolicyRelations relations(document.entries, budget);
  const PolicySet order = narrowest_first(document, std::move(with_values), relations);
  std::vector<PolicyValueScheme> result;
  for (const std::uint32_t i : order) {
    const std::size_t begin = result.size();
    for (const PolicyScheme& each : document.entries[i].schemes)
      if (claims_more_than_constants(each)) result.push_back({&document.entries[i], &each});
    std::sort(result.begin() + static_cast<std::ptrdiff_t>(begin), result.end(),
              [](const PolicyValueScheme& a, const PolicyValueScheme& b) {
                const auto rank = [](const Scheme& scheme) {
                  return std::make_tuple(generality(scheme), scheme.scope, scheme.lifetime);
                };
                return rank(a.scheme->scheme) < rank(b.scheme->scheme);
              });
  }
  return result;
}

}  // namespace synps
