#include "why_not.h"

#include <fmt/core.h>
#include <fmt/format.h>

#include <algorithm>
#include <deque>
#include <set>
#include <utility>

#include "failures.h"
#include "synps/artifact_layout.h"
#include "synps/codec_registry.h"
#include "synps/error.h"
#include "weight_report.h"
#include "why_not_paste.h"

namespace synps::cli {
namespace {

/// Members of groups that one answer changes together.
constexpr std::size_t kMaxMembers = 64;

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
  void add_member(const std::string& path, const Checkpoint& checkpoint, Paste& paste) const;
  void add_members(const Checkpoint& checkpoint, Paste& paste) const;
  void find_paste(const Checkpoint* checkpoint, const PolicyInput& input);
  void find_schemes(const std::string& declaration, const Checkpoint* checkpoint,
                    const PolicyInput& input);
  void try_paste(const std::string& toml, const Checkpoint* checkpoint, const PolicyInput& input);

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
  if (out_.already || is_beyond_policies()) return std::move(out_);
  say_who_decides();
  const bool codec_can = !say_codec_cannot();
  const bool source_can = !say_source_cannot();
  if (codec_can && source_can) {
    say_groups();
    find_paste(checkpoint, input);
  }
  return std::move(out_);
}

/// Weights that no scheme changes.
bool Answer::is_beyond_policies() {
  if (!explanation_.facts) return false;
  const WeightFacts& facts = *explanation_.facts;
  if (!resolution_.needs_scheme) {
    say(
        fmt::format("It holds {} values, which are not floats: such weights are kept as stored "
                    "whatever the policy says.",
                    facts.encoding));
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
  // A format names the dtype that its codec stores.
  if (wanted_.codec->info().dense_dtype == explanation_.facts->weight.dtype) return false;
  return !policy_.declares(explanation_.facts->encoding);
}

bool Answer::say_source_cannot() {
  if (wanted_.codec == nullptr || !explanation_.facts) return false;
  const WeightFacts& facts = *explanation_.facts;
  if (policy_.codecs().for_dtype(facts.weight.dtype) == nullptr) {
    say(fmt::format("Nothing here decodes its source encoding {}: it can only be kept as stored.",
                    facts.encoding));
    return true;
  }
  if (lacks_declaration())
    say(
        fmt::format("The policy does not name its source encoding {}: add it to the `formats` of "
                    "[myelin].",
                    facts.encoding));
  return false;
}

void Answer::say_groups() {
  for (const GroupMembership& membership : explanation_.groups) {
    const PolicyGroup& group = *membership.group;
    if (std::find(group.same.begin(), group.same.end(), "format") == group.same.end()) continue;
    const std::string start =
        fmt::format("The group {} ({}) wants one format for", escape_for_display(group.name),
                    place_text(policy_, group.place));
    if (!explanation_.facts)
      say(
          fmt::format("{} all weights that differ from it only in the choices of {}: they have to "
                      "change together.",
                      start, escape_for_display(group.paths.text())));
    else if (!membership.others.empty())
      say(fmt::format("{} it and {}{}: they have to change together.", start,
                      quote(membership.others.front()),
                      membership.others.size() == 1
                          ? std::string()
                          : fmt::format(" and {} more", membership.others.size() - 1)));
  }
}

/// A scheme for a weight that has to change together with the one in question.
void Answer::add_member(const std::string& path, const Checkpoint& checkpoint, Paste& paste) const {
  const Explanation member = explain_value(policy_, {path}, &checkpoint);
  const Weight& weight = member.facts->weight;
  if (!member.resolution.needs_scheme || weight.shape.elements() == 0) return;
  if (is_stored_as(member, wanted_.id)) return;
  add_scheme(policy_, member.value, member.resolution, wanted_.id, paste);
}

/// All members of all groups that the format of this weight reaches.
void Answer::add_members(const Checkpoint& checkpoint, Paste& paste) const {
  std::set<std::string> seen{explanation_.value.path};
  std::deque<std::string> next;
  const auto reach = [&](const std::vector<GroupMembership>& groups) {
    for (const GroupMembership& membership : groups) {
      const std::vector<std::string>& same = membership.group->same;
      if (std::find(same.begin(), same.end(), "format") == same.end()) continue;
      for (const std::string& other : membership.others)
        if (seen.size() < kMaxMembers && seen.insert(other).second) next.push_back(other);
    }
  };
  reach(explanation_.groups);
  for (; !next.empty(); next.pop_front()) {
    try {
      add_member(next.front(), checkpoint, paste);
      reach(explain_value(policy_, {next.front()}, &checkpoint).groups);
    } catch (const Error&) {
      // The policies disagree about it. What is pasted is tried, and says so.
    }
  }
}

void Answer::find_paste(const Checkpoint* checkpoint, const PolicyInput& input) {
  const std::string declaration =
      lacks_declaration()
          ? fmt::format("[myelin]\nformats = [{}]\n", toml_quoted_key(explanation_.facts->encoding))
          : std::string();
  // The scheme that there is will do once the source encoding is named.
  const bool asked = resolution_.scheme && resolution_.scheme->format == wanted_.id;
  if (!asked) find_schemes(declaration, checkpoint, input);
  if (out_.paste.empty() && !asked) return;
  if (!declaration.empty() && fault_of_appending(declaration, policy_, input).empty())
    out_.paste = declaration + (out_.paste.empty() ? "" : "\n") + out_.paste;
  else if (!declaration.empty())
    out_.declare = explanation_.facts->encoding;  // a file that has the table takes no second one
  if (out_.paste.empty() || !out_.replaces.empty()) return;
  if (const std::string fault = fault_of_appending(out_.paste, policy_, input); !fault.empty())
    say(fmt::format("The end of the file is no place for more policies: {}.", fault));
}

void Answer::find_schemes(const std::string& declaration, const Checkpoint* checkpoint,
                          const PolicyInput& input) {
  Paste paste;
  add_scheme(policy_, explanation_.value, resolution_, wanted_.id, paste);
  if (checkpoint != nullptr) add_members(*checkpoint, paste);
  out_.paste = std::move(paste.toml);
  out_.replaces = std::move(paste.replaces);
  // Several schemes that have to go cannot be tried.
  if (out_.replaces.size() < 2) try_paste(declaration + "\n" + out_.paste, checkpoint, input);
}

/// What is pasted has to work: it is tried, and what is wrong with it is said.
void Answer::try_paste(const std::string& toml, const Checkpoint* checkpoint,
                       const PolicyInput& input) {
  const Trial trial = try_with(toml, explanation_, wanted_.id, checkpoint, input);
  for (Problem problem : trial.problems) {
    // Places in what is not written anywhere help nobody.
    if (problem.file == trial.file) problem.file.clear();
    say(fmt::format("A scheme that makes it so would be wrong: {}.", to_string(problem)));
  }
  if (trial.reached && trial.problems.empty()) return;
  if (trial.problems.empty()) say("A scheme for this path alone does not make it so.");
  out_.paste.clear();
  out_.replaces.clear();
}

}  // namespace

WhyNot why_not(const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input) {
  return Answer(explanation, find_format(format, explanation.policy->codecs()))
      .answer(checkpoint, input);
}

}  // namespace synps::cli
