#include "explain_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "scale_notes.h"
#include "synps/artifact_index.h"
#include "synps/error.h"
#include "table.h"
#include "text.h"
#include "weight_report.h"

namespace synps::cli {
namespace {

/// Columns in front of what explain says about the value.
constexpr std::size_t kLabelWidth = 11;

std::string labelled(std::string_view label, const std::string& text, std::size_t width) {
  return fmt::format("  {:<9}", label) + wrapped(text, width, kLabelWidth, kLabelWidth) + "\n";
}

std::string short_name(const std::string& format) {
  return short_codec(escape_for_display(format));
}

std::string lossless_for(const CodecInfo& info) {
  std::string names;
  for (const DType dtype : info.exact) {
    if (!names.empty()) names += ", ";
    names += encoding_name(dtype);
  }
  return names.empty() ? "lossless for no dtype" : "lossless for " + names;
}

std::string codec_text(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  if (explanation.facts && !explanation.facts->scale_of.empty())
    return fmt::format(
        "that of {}: it is the scale of that weight, folded in when it is decoded and kept "
        "beside it when it is kept",
        escape_for_display(explanation.facts->scale_of));
  if (resolution.keep)
    return resolution.needs_scheme ? "kept as stored"
                                   : "kept as stored; not a float, so no policy is needed";
  if (resolution.codec == nullptr)
    return resolution.scheme ? "none: " + short_name(resolution.scheme->format) + " does not fit"
                             : std::string("none: no scheme covers this path");
  const CodecInfo& info = resolution.codec->info();
  std::string text = short_name(info.id());
  if (resolution.used_fallback && resolution.scheme)
    text += " instead of " + short_name(resolution.scheme->format);
  if (explanation.facts)
    return text + fmt::format(", {} for {}", explanation.lossless ? "lossless" : "lossy",
                              short_name(explanation.facts->encoding));
  return text +
         fmt::format(", {:.4g} bits an element, {}", info.bits_per_weight, lossless_for(info));
}

/// What the codec needs, where no weight says whether it fits.
std::string about_codec(const Explanation& explanation, std::size_t width) {
  const Codec* codec = explanation.resolution.codec;
  if (codec == nullptr || explanation.facts) return {};
  std::string out = labelled("stores", escape_for_display(codec->info().summary), width);
  if (explanation.value.scope == Scope::constant)
    out += labelled("support", "a checkpoint (-c) tells whether the weight's shape fits", width);
  return out;
}

std::string support_text(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  const std::string shape = explanation.facts->weight.shape.to_string();
  const std::string asked = short_name(resolution.scheme->format);
  if (explanation.support->ok) return fmt::format("{} can store {}", asked, shape);
  std::string text = fmt::format("{} cannot store {}: {}", asked, shape,
                                 escape_for_display(explanation.support->reason));
  if (!resolution.used_fallback) return text + "; there is no fallback";
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.key == "fallback" && decision.policy != nullptr)
      text += fmt::format("; the fallback {} is set by {}", short_name(decision.value),
                          place_text(*explanation.policy, decision.place));
  return text;
}

std::string form_text(const Explanation& explanation) {
  std::string form = to_string(explanation.form.encoding);
  if (explanation.gguf_type != nullptr)
    return fmt::format("{}, {}", form, explanation.gguf_type->name);
  form += fmt::format(", {}, {}", to_string(explanation.form.order),
                      to_string(explanation.form.residency));
  if (explanation.form.orientation != Orientation::out_in)
    form += fmt::format(", {}", to_string(explanation.form.orientation));
  if (explanation.bytes_are_bound)
    form += fmt::format(", {}", to_string(explanation.resolution.form.compress));
  return form;
}

std::string weight_text(const Explanation& explanation, std::size_t width) {
  if (!explanation.facts) return {};
  const WeightFacts& facts = *explanation.facts;
  std::string out;
  if (explanation.support) out += labelled("support", support_text(explanation), width);
  out +=
      labelled("weight",
               fmt::format("{} {}, {}", short_name(facts.encoding), facts.weight.shape.to_string(),
                           exact_bytes(explanation.source_bytes)),
               width);
  if (explanation.scale) out += labelled("scale", scale_origin(*explanation.scale), width);
  if (!facts.packed_as.empty())
    out += labelled(
        "packed",
        fmt::format("part of a module in {}, which nothing here decodes", facts.packed_as), width);
  if (!explanation.bytes || !facts.scale_of.empty()) return out;
  return out + labelled("stored",
                        fmt::format("{}; {}{}, {} of the source", form_text(explanation),
                                    explanation.bytes_are_bound ? "at most " : "",
                                    exact_bytes(*explanation.bytes),
                                    percent(*explanation.bytes, explanation.source_bytes)),
                        width);
}

std::string policies_text(const Explanation& explanation) {
  const Policy& policy = *explanation.policy;
  const auto& entries = explanation.resolution.policies;
  if (entries.empty())
    return fmt::format("\nNo policy in {} covers it.\n", escape_for_display(policy.file()));
  std::string out = fmt::format("\nPolicies that cover it, widest first ({}):\n",
                                escape_for_display(policy.file()));
  std::size_t widest = 0;
  for (const PolicyEntry* entry : entries)
    widest = std::max(widest, display_width(place_text(policy, entry->place)));
  for (const PolicyEntry* entry : entries) {
    std::string place = place_text(policy, entry->place);
    place.append(widest - display_width(place), ' ');
    out += fmt::format("  {}  {}\n", place, escape_for_display(entry->pattern.text()));
    for (const SetKey& key : keys_set_by(*entry)) {
      out += fmt::format("{:{}}{} = {}", "", widest + 6, key.name, short_name(key.value));
      if (key.place.source != entry->place.source)
        out += fmt::format(" ({})", place_text(policy, key.place));
      out += "\n";
    }
  }
  return out;
}

/// A row a value: the one that holds, those it overrides, and those it replaces in other files.
void add_key_rows(const Explanation& explanation, const KeyDecision& decision, Table& table) {
  const Policy& policy = *explanation.policy;
  if (decision.policy == nullptr) {
    table.add({decision.key, short_name(decision.value),
               decision.given ? "the command line (--compress)" : "default"});
    return;
  }
  table.add({decision.key, short_name(decision.value),
             place_text(policy, decision.place, *decision.policy)});
  for (const ReplacedValue& replaced : decision.replaced)
    table.add({"", "",
               fmt::format("  replaces {} ({})", short_name(replaced.value),
                           place_text(policy, replaced.place))});
  // The narrowest first: it would decide next.
  for (std::size_t i = decision.overridden.size(); i-- > 0;)
    table.add(
        {"", "",
         fmt::format("  overrides {} ({})",
                     short_name(overridden_value(explanation.resolution, decision, i)),
                     place_text(policy, decision.overridden_places[i], *decision.overridden[i]))});
}

std::string keys_text(const Explanation& explanation, std::size_t width) {
  using enum Table::Align;
  Table table({{"KEY", left}, {"VALUE", left}, {"SET BY", left}});
  for (const KeyDecision& decision : explanation.resolution.decisions)
    add_key_rows(explanation, decision, table);
  return "\n" + table.render(width);
}

std::string outcome_text(const Policy& policy, const SchemeVerdict& verdict) {
  using enum SchemeVerdict::Outcome;
  switch (verdict.outcome) {
    case chosen:
      return "chosen";
    case agrees:
      return "says the same as the chosen one";
    case other_values:
      return "for other values";
    case less_specific:
      return fmt::format("{} of the same policy is more specific",
                         place_text(policy, verdict.by->place));
    case overridden:
      return fmt::format("overridden by {}",
                         place_text(policy, verdict.by->place, *verdict.by_policy));
  }
  return {};
}

std::string schemes_text(const Explanation& explanation, std::size_t width) {
  const std::vector<SchemeVerdict>& schemes = explanation.resolution.schemes;
  // One that is chosen among none needs no table: the key `format` says it.
  const bool plain = std::all_of(schemes.begin(), schemes.end(), [](const SchemeVerdict& one) {
    return one.outcome == SchemeVerdict::Outcome::chosen;
  });
  if (plain || !explanation.resolution.needs_scheme) return {};
  using enum Table::Align;
  Table table({{"SCHEME", left}, {"FORMAT", left}, {"FOR", left}, {"OUTCOME", left}});
  for (const SchemeVerdict& verdict : schemes)
    table.add({place_text(*explanation.policy, verdict.scheme->place),
               short_name(verdict.scheme->scheme.format), claim_text(verdict.scheme->scheme),
               outcome_text(*explanation.policy, verdict)});
  return "\n" + table.render(width);
}

std::string groups_text(const Explanation& explanation, std::size_t width) {
  if (explanation.groups.empty()) return {};
  std::string out = "\nGroups it is in:\n";
  for (const GroupMembership& membership : explanation.groups) {
    const PolicyGroup& group = *membership.group;
    std::string same;
    for (const std::string& each : group.same) same += (same.empty() ? "" : ", ") + each;
    out += "  " +
           wrapped(fmt::format("{}, {}: {}; same {}", place_text(*explanation.policy, group.place),
                               escape_for_display(group.name),
                               escape_for_display(group.paths.text()), same),
                   width, 6, 2) +
           "\n";
    for (const std::string& other : membership.others)
      out += "      " + escape_for_display(other) + "\n";
    if (explanation.facts && membership.others.empty())
      out += "      no other weight of this checkpoint\n";
  }
  return out;
}

/// "the scheme at line 7", "the schemes at line 7 and line 12".
std::string replaced_text(const Policy& policy, const std::vector<SourcePlace>& replaces) {
  std::string places;
  for (const SourcePlace& place : replaces)
    places += (places.empty() ? "" : " and ") + place_text(policy, place);
  return fmt::format("the {} at {}", replaces.size() == 1 ? "scheme" : "schemes", places);
}

/// Where the paste goes: "add to synps.toml:".
std::string place_of_paste(const Policy& policy, const WhyNot& why_not) {
  const std::string file = escape_for_display(policy.file());
  const std::string name = policy.file().substr(policy.file().rfind('/') + 1);
  if (!why_not.fits_at_end && why_not.tried)
    return fmt::format(
        "make a policy file beside {}, whose end is no place for more policies. It begins with the "
        "line `extends = {}`, and goes on:",
        file, toml_quoted_key(name));
  if (!why_not.fits_at_end)
    return fmt::format("write it among the policies of {}, whose end is no place for more of them:",
                       file);
  if (why_not.replaces.empty()) return fmt::format("add to {}:", file);
  const bool one = why_not.paste.find("\n\n") == std::string::npos && why_not.replaces.size() == 1;
  return fmt::format("{} {}{}:", one ? "change" : "write in place of",
                     replaced_text(policy, why_not.replaces), one ? " to" : "");
}

/// What there is to do.
std::string cure_text(const Policy& policy, const WhyNot& why_not) {
  std::string text;
  if (!why_not.declare.empty())
    text = fmt::format("add {} to the `formats` of [myelin]", toml_quoted_key(why_not.declare));
  if (why_not.paste.empty()) return text + ".";
  return text + (text.empty() ? "" : ", and ") + place_of_paste(policy, why_not);
}

std::string why_not_text(const Policy& policy, const WhyNot& why_not, std::size_t width) {
  const bool keep = why_not.format == CodecRef::keep().name;
  const std::string format = keep ? "kept as stored" : short_name(why_not.format);
  if (why_not.already) return fmt::format("\nIt already is {}.\n", format);
  std::string out = fmt::format("\nWhy it is not {}:\n", format);
  for (const std::string& reason : why_not.reasons)
    out += "  - " + wrapped(escape_for_display(reason), width, 4, 4) + "\n";
  if (!why_not.possible) return out + fmt::format("\nNo scheme can make it {}.\n", format);
  if (why_not.paste.empty() && why_not.declare.empty())
    return out + fmt::format("\nNo scheme is proposed that makes it {}.\n", format);
  out += "\n" +
         wrapped(fmt::format("To have it {}, {}", format, cure_text(policy, why_not)), width, 2) +
         "\n";
  return why_not.paste.empty() ? out : out + "\n" + why_not.paste;
}

/// The codec in words, and what the weight is and becomes.
std::string head_text(const Explanation& explanation, std::size_t width) {
  const WeightResolution& resolution = explanation.resolution;
  const Value& value = explanation.value;
  std::string out = escape_for_display(value.path) + "\n";
  if (value.scope != Scope::constant) {
    std::string text = fmt::format("{}, {}", to_string(value.scope), to_string(value.lifetime));
    if (resolution.scheme) text += fmt::format(", update {}", to_string(resolution.scheme->update));
    out += labelled("value", text, width);
  }
  out += labelled("codec", codec_text(explanation), width);
  out += labelled("dtype", resolution.needs_scheme ? resolution.dtype : "none", width);
  return out + about_codec(explanation, width) + weight_text(explanation, width);
}

}  // namespace

std::string explain_text(const Explanation& explanation, const WhyNot* why_not, std::size_t width) {
  std::string warning;
  if (!explanation.resolution.warning.empty())
    warning = "\n" +
              wrapped("warning: " + escape_for_display(explanation.resolution.warning), width, 4) +
              "\n";
  const std::string head = head_text(explanation, width);
  if (why_not != nullptr)
    return head + warning + why_not_text(*explanation.policy, *why_not, width);
  return head + policies_text(explanation) + keys_text(explanation, width) +
         schemes_text(explanation, width) + groups_text(explanation, width) + warning;
}

}  // namespace synps::cli
