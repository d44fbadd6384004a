#include "why_not_paste.h"

#include <fmt/core.h>

#include <algorithm>
#include <optional>
#include <set>
#include <tuple>

#include "path_folding.h"
#include "synps/codec_registry.h"
#include "synps/error.h"

namespace synps::cli {
namespace {

bool decides(const SchemeVerdict& verdict) noexcept {
  return verdict.outcome == SchemeVerdict::Outcome::chosen ||
         verdict.outcome == SchemeVerdict::Outcome::agrees;
}

bool covers_no_more(const PathPattern& pattern, const PathPattern& literal) {
  try {
    return literal.compare(pattern) == Inclusion::equal;
  } catch (const Error&) {
    return false;  // too complex to compare: no pattern of one path is
  }
}

std::string format_name(const Policy& policy, const std::string& format) {
  const Codec* codec = policy.codecs().resolve(format);
  if (codec == nullptr) return format;
  std::string name = CodecRegistry::short_name(codec->info());
  return policy.codecs().resolve(name) == codec ? name : format;
}

/// The fields that differ from what a scheme infers, and the format.
std::string fields_text(const Scheme& scheme) {
  const bool constant = scheme.scope == Scope::constant;
  std::string out;
  if (!constant) out += fmt::format("scope = \"{}\"\n", to_string(scheme.scope));
  if (scheme.lifetime != (constant ? Lifetime::immutable : Lifetime::invocation))
    out += fmt::format("lifetime = \"{}\"\n", to_string(scheme.lifetime));
  if (scheme.update != (constant ? Update::none : Update::whole))
    out += fmt::format("update = \"{}\"\n", to_string(scheme.update));
  out += fmt::format("format = {}\n", toml_quoted_key(scheme.format));
  if (scheme.is_volatile) out += "volatile = true\n";
  return out;
}

/// What the scheme for a target says, under whichever pattern.
std::string fields_for(const Policy& policy, const Target& target) {
  Scheme scheme{target.value.scope, target.value.lifetime};
  const bool constant = target.value.scope == Scope::constant;
  scheme.update = constant ? Update::none : Update::whole;
  const std::optional<Scheme>& now = target.resolution.scheme;
  if (now && constant) scheme.is_volatile = now->is_volatile;
  if (now && !constant) scheme.update = now->update;
  scheme.format = format_name(policy, target.format);
  return fields_text(scheme);
}

class PasteMaker {
 public:
  PasteMaker(const Policy& policy, const DecidesOnlyTargets& only_targets)
      : policy_(policy), only_targets_(only_targets) {}

  Paste make(const std::vector<Target>& targets, bool folded) {
    std::vector<FoldItem> rest;
    for (const Target& target : targets) {
      const std::string fields = fields_for(policy_, target);
      if (!target.alone && (change_deciding(target, fields) || change_same_path(target, fields)))
        continue;
      if (folded && !target.alone)
        rest.push_back({target.value.path, fields});
      else
        add(PathPattern::literal(target.value.path), fields);
    }
    FoldOptions options;
    options.max_width = 400;
    options.max_choices = 64;
    for (const FoldedRow& row : fold_paths(rest, options))
      add(row.members.size() == 1 ? PathPattern::literal(rest[row.members.front()].path)
                                  : row.pattern,
          rest[row.members.front()].key);
    return std::move(out_);
  }

 private:
  /// The policies that decide the target, where none of them decides anything else.
  bool change_deciding(const Target& target, const std::string& fields) {
    std::vector<const SchemeVerdict*> deciding;
    for (const SchemeVerdict& verdict : target.resolution.schemes) {
      if (!decides(verdict)) continue;
      if (!claims_exactly(verdict, target.value) || !only_targets_(*verdict.policy)) return false;
      deciding.push_back(&verdict);
    }
    // Where several say the same, one will do.
    for (const SchemeVerdict* verdict : deciding)
      change(*verdict, fields, verdict == deciding.front());
    return !deciding.empty();
  }

  /// The path itself is narrower than every policy that covers it, but for one of just this path:
  /// that one can only say something else, or say it of this value more specifically.
  bool change_same_path(const Target& target, const std::string& fields) {
    const PathPattern literal = PathPattern::parse(PathPattern::literal(target.value.path));
    bool changed = false;
    for (const SchemeVerdict& verdict : target.resolution.schemes) {
      if (!decides(verdict) || !covers_no_more(verdict.policy->pattern, literal)) continue;
      if (claims_exactly(verdict, target.value))
        change(verdict, fields, !changed);
      else
        add(verdict.policy->pattern.text(), fields);
      changed = true;
    }
    return changed;
  }

  static bool claims_exactly(const SchemeVerdict& verdict, const Value& value) {
    const Scheme& scheme = verdict.scheme->scheme;
    return scheme.scope == value.scope && scheme.lifetime == value.lifetime;
  }

  /// `shown`: it is to be written, and not only to go.
  void change(const SchemeVerdict& verdict, const std::string& fields, bool shown) {
    // Saying it again replaces what a file that is extended says.
    if (verdict.scheme->place.source == 0) add_place(verdict.scheme->place);
    add(verdict.policy->pattern.text(), fields, shown);
  }

  void add(const std::string& pattern, const std::string& fields, bool shown = true) {
    const std::string text =
        fmt::format("[[policies.{}.schemes]]\n{}", toml_quoted_key(pattern), fields);
    if (shown && shown_.insert(text).second) out_.toml += (out_.toml.empty() ? "" : "\n") + text;
    if (!said_.insert(text).second) return;
    out_.extension += (out_.extension.empty() ? "" : "\n") + text;
    out_.patterns.push_back(PathPattern::parse(pattern));
  }

  void add_place(const SourcePlace& place) {
    std::vector<SourcePlace>& places = out_.replaces;
    if (std::find(places.begin(), places.end(), place) != places.end()) return;
    places.push_back(place);
    std::sort(places.begin(), places.end(), [](const SourcePlace& a, const SourcePlace& b) {
      return std::tie(a.source, a.line, a.column) < std::tie(b.source, b.line, b.column);
    });
  }

  const Policy& policy_;
  const DecidesOnlyTargets& only_targets_;
  std::set<std::string> shown_;
  std::set<std::string> said_;
  Paste out_;
};

}  // namespace

Paste make_paste(const Policy& policy, const std::vector<Target>& targets, bool folded,
                 const DecidesOnlyTargets& only_targets) {
  return PasteMaker(policy, only_targets).make(targets, folded);
}

}  // namespace synps::cli
