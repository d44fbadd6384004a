#include "why_not.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "failures.h"
#include "group_closure.h"
#include "synps/codec_registry.h"
#include "synps/error.h"
#include "weight_report.h"
#include "why_not_cure.h"
#include "why_not_trial.h"

namespace synps::cli {
namespace {

/// The format that is asked for; the codec is null for "keep".
struct Wanted {
  std::string id;
  std::string name;  ///< for people
  const Codec* codec = nullptr;
};

Wanted find_format(const std::string& name, const CodecRegistry& codecs) {
  const std::string keep = CodecRef::keep().name;
  if (name == keep) return {keep, keep, nullptr};
  if (const Codec* codec = codecs.resolve(name)) {
    const std::string id = codec->info().id();
    return {id, short_codec(id), codec};
  }
  const std::vector<std::string> near = codecs.suggestions(name);
  throw usage_error("there is no format " + quote(name),
                    near.empty() ? "`synps codecs` lists the codecs"
                                 : fmt::format("did you mean {}?", fmt::join(near, " or ")));
}

const KeyDecision* decision_on(const WeightResolution& resolution, std::string_view key) {
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.key == key && decision.policy != nullptr) return &decision;
  return nullptr;
}

/// Collects sentences, in the order in which a person would ask.
class Answer {
 public:
  Answer(const Explanation& explanation, Wanted wanted)
      : explanation_(explanation),
        resolution_(explanation.resolution),
        policy_(*explanation.policy),
        wanted_(std::move(wanted)) {
    out_.format = wanted_.id;
  }

  WhyNot answer(const Checkpoint* checkpoint, const PolicyInput& input);

 private:
  bool is_beyond_policies();
  void say_who_decides();
  void say_asked_in_vain();
  bool say_who_else_asks();
  bool say_codec_cannot();
  bool say_source_cannot();
  bool lacks_declaration() const;
  void say_groups();
  void find_cure(const Checkpoint* checkpoint, const PolicyInput& input);

  void say(std::string sentence) { out_.reasons.push_back(std::move(sentence)); }
  /// "PATTERN (line 7)".
  std::string named(const PolicyEntry& entry, const SourcePlace& place) const {
    return fmt::format("{} ({})", escape_for_display(entry.pattern.text()),
                       place_text(policy_, place));
  }

  const Explanation& explanation_;
  const WeightResolution& resolution_;
  const Policy& policy_;
  const Wanted wanted_;
  WhyNot out_;
};

WhyNot Answer::answer(const Checkpoint* checkpoint, const PolicyInput& input) {
  out_.already = is_stored_as(explanation_, wanted_.id);
  if (out_.already) return std::move(out_);
  out_.possible = !is_beyond_policies();
  if (!out_.possible) return std::move(out_);
  say_who_decides();
  const bool codec_can = !say_codec_cannot();
  const bool source_can = !say_source_cannot();
  out_.possible = codec_can && source_can;
  if (out_.possible) {
    say_groups();
    find_cure(checkpoint, input);
  }
  return std::move(out_);
}

/// Weights that no scheme changes.
bool Answer::is_beyond_policies() {
  if (!explanation_.facts) return false;
  const WeightFacts& facts = *explanation_.facts;
  if (!facts.scale_of.empty()) {
    say(
        fmt::format("It is the scale of {}: decoding that folds it in, and keeping that keeps it "
                    "as stored.",
                    facts.scale_of));
    return true;
  }
  if (!resolution_.needs_scheme) {
    say(
        fmt::format("It holds {} values, which are not floats: such weights are kept as stored "
                    "whatever the policy says.",
                    short_codec(facts.encoding)));
    return true;
  }
  if (facts.weight.shape.elements() != 0) return false;
  say("It has no elements: such weights are kept as stored whatever their scheme says.");
  return true;
}

void Answer::say_who_decides() {
  const KeyDecision* format = decision_on(resolution_, "format");
  if (format == nullptr) {
    say("No scheme of the policy covers it.");
  } else if (format->value == wanted_.id) {
    say_asked_in_vain();
    return;
  } else {
    say(fmt::format("{} decides: {}.", named(*format->policy, format->place),
                    short_codec(format->value)));
    if (resolution_.used_fallback) say_asked_in_vain();
  }
  if (!say_who_else_asks()) say(fmt::format("No policy that covers it asks for {}.", wanted_.name));
}

/// The scheme's own codec cannot be had: the shape does not fit.
void Answer::say_asked_in_vain() {
  const KeyDecision& format = *decision_on(resolution_, "format");
  const std::string asked = short_codec(format.value);
  const std::string asks =
      format.value == wanted_.id
          ? fmt::format("{} asks for {}", named(*format.policy, format.place), asked)
          : std::string();
  if (!explanation_.support || explanation_.support->ok) {
    say(asks + ".");
    return;
  }
  const std::string shape = explanation_.facts->weight.shape.to_string();
  std::string end = ", and there is no fallback";
  if (const KeyDecision* fallback = decision_on(resolution_, "fallback"))
    end = fmt::format("{} the fallback {} of {}",
                      resolution_.keep || resolution_.codec != nullptr ? ": instead it gets"
                                                                       : ", and neither can",
                      short_codec(fallback->value), named(*fallback->policy, fallback->place));
  say(fmt::format("{} cannot store the shape {} ({}){}.", asks.empty() ? asked : asks + ", which",
                  shape, explanation_.support->reason, end));
}

bool Answer::say_who_else_asks() {
  using enum SchemeVerdict::Outcome;
  bool any = false;
  for (const SchemeVerdict& verdict : resolution_.schemes) {
    if (verdict.scheme->scheme.format != wanted_.id) continue;
    const std::string asks =
        fmt::format("{} asks for {}", named(*verdict.policy, verdict.scheme->place), wanted_.name);
    any = true;
    if (verdict.outcome == overridden)
      say(fmt::format("{}, but {} is narrower.", asks,
                      named(*verdict.by_policy, verdict.by->place)));
    else if (verdict.outcome == less_specific)
      say(fmt::format("{}, but its scheme of {} claims the value more specifically.", asks,
                      place_text(policy_, verdict.by->place)));
    else if (verdict.outcome == other_values)
      say(fmt::format("{}, but for other values: {}.", asks, claim_text(verdict.scheme->scheme)));
  }
  if (const KeyDecision* format = decision_on(resolution_, "format"))
    for (const ReplacedValue& replaced : format->replaced)
      if (replaced.value == wanted_.id) {
        any = true;
        say(fmt::format("{} asks for {}, but {} replaces it.", place_text(policy_, replaced.place),
                        wanted_.name, place_text(policy_, format->place)));
      }
  const KeyDecision* fallback = decision_on(resolution_, "fallback");
  if (fallback != nullptr && fallback->value == wanted_.id && !resolution_.used_fallback) {
    any = true;
    say(
        fmt::format("{} makes it the fallback, which is for weights that the codec of their scheme "
                    "cannot store.",
                    named(*fallback->policy, fallback->place)));
  }
  return any;
}

bool Answer::say_codec_cannot() {
  if (wanted_.codec == nullptr) return false;
  if (!wanted_.codec->info().encodes) {
    say(fmt::format("{} is for reading only: nothing can be stored in it.", wanted_.name));
    return true;
  }
  if (!explanation_.facts) return false;
  const Support support = wanted_.codec->supports(explanation_.facts->weight);
  if (support.ok) return false;
  const bool said = resolution_.scheme && resolution_.scheme->format == wanted_.id;
  if (!said)
    say(fmt::format("{} cannot store the shape {}: {}.", wanted_.name,
                    explanation_.facts->weight.shape.to_string(), support.reason));
  return true;
}

/// Whether the file must name the source encoding first.
bool Answer::lacks_declaration() const {
  if (wanted_.codec == nullptr || !explanation_.facts) return false;
  // A format names the encoding that its codec stores.
  if (wanted_.codec == source_codec(policy_.codecs(), *explanation_.facts)) return false;
  return !policy_.declares(explanation_.facts->encoding);
}

bool Answer::say_source_cannot() {
  if (wanted_.codec == nullptr || !explanation_.facts) return false;
  const WeightFacts& facts = *explanation_.facts;
  if (source_codec(policy_.codecs(), facts) == nullptr) {
    say(fmt::format("Nothing here decodes its source encoding {}: it can only be kept as stored.",
                    short_codec(facts.encoding)));
    return true;
  }
  if (lacks_declaration())
    say(
        fmt::format("The policy does not name its source encoding {}: add it to the `formats` of "
                    "[myelin].",
                    short_codec(facts.encoding)));
  return false;
}

void Answer::say_groups() {
  for (const GroupMembership& membership : explanation_.groups) {
    const PolicyGroup& group = *membership.group;
    if (!shares_format(group)) continue;
    const std::string start =
        fmt::format("The group {} ({}) wants one format for", escape_for_display(group.name),
                    place_text(policy_, group.place));
    if (!explanation_.facts)
      say(
          fmt::format("{} all weights that differ from it only in the choices of {}: they have to "
                      "change together. A checkpoint (-c) is needed to find them; without one, "
                      "what follows is about this path alone.",
                      start, escape_for_display(group.paths.text())));
    else if (!membership.others.empty())
      say(fmt::format("{} it and {}{}: they have to change together.", start,
                      quote(membership.others.front()),
                      membership.others.size() == 1
                          ? std::string()
                          : fmt::format(" and {} more", membership.others.size() - 1)));
  }
}

void Answer::find_cure(const Checkpoint* checkpoint, const PolicyInput& input) {
  const std::string declaration =
      lacks_declaration()
          ? fmt::format("[myelin]\nformats = [{}]\n", toml_quoted_key(explanation_.facts->encoding))
          : std::string();
  // The scheme that there is will do once the source encoding is named.
  const bool asked = resolution_.scheme && resolution_.scheme->format == wanted_.id;
  Cure cure = cli::find_cure(explanation_, wanted_.id, checkpoint, input, declaration, !asked);
  for (std::string& note : cure.notes) say(std::move(note));
  out_.tried = cure.tried;
  if (!cure.found) return;
  out_.fits_at_end = cure.fits_at_end;
  out_.also_changes = std::move(cure.also_changes);
  out_.paste = std::move(cure.paste.toml);
  // In a file that extends this one, saying a scheme again replaces it.
  if (cure.fits_at_end || !cure.tried) out_.replaces = std::move(cure.paste.replaces);
  if (declaration.empty()) return;
  if (!cure.fits_at_end || fault_of_appending(declaration, policy_, input).empty())
    out_.paste = declaration + (out_.paste.empty() ? "" : "\n") + out_.paste;
  else
    out_.declare = explanation_.facts->encoding;  // a file that has the table takes no second one
}

}  // namespace

WhyNot why_not(const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input) {
  return Answer(explanation, find_format(format, explanation.policy->codecs()))
      .answer(checkpoint, input);
}

}  // namespace synps::cli
