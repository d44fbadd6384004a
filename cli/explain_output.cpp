#include "explain_output.h"

#include <fmt/core.h>

#include <algorithm>

#include "synps/error.h"
#include "synps/json_writer.h"
#include "table.h"
#include "text.h"
#include "weight_report.h"
#include "weight_summary.h"

namespace synps::cli {
namespace {

/// Columns in front of what explain says about the weight.
constexpr std::size_t kLabelWidth = 11;

bool claims_weights(const Scheme& scheme) noexcept {
  return (scheme.scope == Scope::any || scheme.scope == Scope::constant) &&
         (scheme.lifetime == Lifetime::any || scheme.lifetime == Lifetime::immutable);
}

/// How narrowly a scheme that claims weights claims them: named fields count, `any` does not.
int specificity(const Scheme& scheme) noexcept {
  return (scheme.scope == Scope::constant ? 1 : 0) +
         (scheme.lifetime == Lifetime::immutable ? 1 : 0);
}

/// The value that a policy gives a key; "" when it gives none.
std::string value_set_by(const PolicyEntry& entry, const std::string& key) {
  for (const auto& [name, value] : keys_set_by(entry))
    if (name == key) return value;
  return {};
}

/// `package:export` of what the weight is stored as, "keep", or "" when nothing says. With a
/// checkpoint, what `plan` says: a kept weight has the codec that decodes it.
std::string codec_name(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  if (!explanation.stored_codec.empty()) return explanation.stored_codec;
  if (resolution.keep) return "keep";
  return resolution.codec != nullptr ? resolution.codec->info().id() : std::string();
}

std::string codec_text(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  if (resolution.keep)
    return resolution.needs_scheme ? "kept as stored"
                                   : "kept as stored; not a float, so no policy is needed";
  if (resolution.codec == nullptr)
    return resolution.scheme ? "none: " + short_codec(resolution.scheme->format) + " does not fit"
                             : std::string("none: no scheme covers this path");
  std::string text = short_codec(resolution.codec->info().id());
  if (resolution.used_fallback && resolution.scheme)
    text += " instead of " + short_codec(resolution.scheme->format);
  if (explanation.facts) {
    const bool exact = resolution.codec->info().stores_exactly(explanation.facts->weight.dtype);
    text += fmt::format(", {} for {}", exact ? "lossless" : "lossy", explanation.facts->encoding);
  }
  return text;
}

std::string weight_text(const Explanation& explanation, std::size_t width) {
  if (!explanation.facts) return {};
  const WeightFacts& facts = *explanation.facts;
  std::string out =
      fmt::format("  weight   {} {}, {}\n", facts.encoding, facts.weight.shape.to_string(),
                  exact_bytes(explanation.source_bytes));
  if (explanation.bytes)
    out += fmt::format("  stored   {}, {}, {}; {}\n", to_string(explanation.form.encoding),
                       to_string(explanation.form.order), to_string(explanation.form.residency),
                       exact_bytes(*explanation.bytes));
  const WeightResolution& resolution = explanation.resolution;
  if (!resolution.fallback_reason.empty())
    out +=
        "  fallback " +
        wrapped(escape_for_display(resolution.fallback_reason), width, kLabelWidth, kLabelWidth) +
        "\n";
  return out;
}

std::string policies_text(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  if (resolution.policies.empty())
    return fmt::format("\nNo policy in {} covers it.\n",
                       escape_for_display(explanation.policy_file));
  std::string out = fmt::format("\nPolicies that cover it, widest first ({}):\n",
                                escape_for_display(explanation.policy_file));
  for (const PolicyEntry* entry : resolution.policies) {
    out += fmt::format("  line {:>4}  {}\n", entry->place.line,
                       escape_for_display(entry->pattern.text()));
    for (const auto& [key, value] : keys_set_by(*entry))
      out += fmt::format("             {} = {}\n", key, short_codec(escape_for_display(value)));
  }
  return out;
}

std::string overrides_text(const KeyDecision& decision) {
  std::string out;
  for (std::size_t i = 0; i < decision.overridden.size(); ++i) {
    const std::string value = value_set_by(*decision.overridden[i], decision.key);
    if (!out.empty()) out += ", ";
    out += fmt::format("line {} ({})", decision.overridden_places[i].line,
                       short_codec(escape_for_display(value)));
  }
  return out;
}

std::string keys_text(const WeightResolution& resolution, std::size_t width) {
  using enum Table::Align;
  Table table({{"KEY", left}, {"VALUE", left}, {"SET BY", left}, {"OVERRIDES", left}});
  for (const KeyDecision& decision : resolution.decisions)
    table.add({decision.key, short_codec(escape_for_display(decision.value)),
               decision.policy != nullptr ? fmt::format("line {}", decision.place.line)
                                          : std::string("default"),
               overrides_text(decision)});
  return "\n" + table.render(width);
}

void write_policies(JsonWriter& json, const WeightResolution& resolution) {
  json.begin_array();
  for (const PolicyEntry* entry : resolution.policies) {
    json.begin_object().key("pattern").string(entry->pattern.text());
    json.key("line").integer(entry->place.line);
    json.key("sets").begin_object();
    for (const auto& [key, value] : keys_set_by(*entry)) json.key(key).string(value);
    json.end_object().end_object();
  }
  json.end_array();
}

void write_keys(JsonWriter& json, const WeightResolution& resolution) {
  json.begin_array();
  for (const KeyDecision& decision : resolution.decisions) {
    json.begin_object().key("key").string(decision.key);
    json.key("value").string(decision.value);
    json.key("policy");
    decision.policy != nullptr ? json.string(decision.policy->pattern.text()) : json.null();
    json.key("line");
    decision.policy != nullptr ? json.integer(decision.place.line) : json.null();
    json.key("overrides").begin_array();
    for (std::size_t i = 0; i < decision.overridden.size(); ++i) {
      const PolicyEntry& entry = *decision.overridden[i];
      json.begin_object().key("pattern").string(entry.pattern.text());
      json.key("line").integer(decision.overridden_places[i].line);
      json.key("value").string(value_set_by(entry, decision.key)).end_object();
    }
    json.end_array().end_object();
  }
  json.end_array();
}

void write_weight(JsonWriter& json, const Explanation& explanation) {
  if (!explanation.facts) {
    json.null();
    return;
  }
  json.begin_object().key("shape");
  write_shape(json, explanation.facts->weight.shape);
  json.key("source").string(explanation.facts->encoding);
  json.key("source_bytes").integer(explanation.source_bytes);
  json.key("stored");
  if (explanation.bytes) {
    json.begin_object().key("encoding").string(to_string(explanation.form.encoding));
    json.key("order").string(to_string(explanation.form.order));
    json.key("orientation").string(to_string(explanation.form.orientation));
    json.key("residency").string(to_string(explanation.form.residency));
    json.key("bytes").integer(*explanation.bytes).end_object();
  } else {
    json.null();
  }
  json.key("fallback_reason");
  const WeightResolution& resolution = explanation.resolution;
  resolution.fallback_reason.empty() ? json.null() : json.string(resolution.fallback_reason);
  json.end_object();
}

}  // namespace

std::vector<std::pair<std::string, std::string>> keys_set_by(const PolicyEntry& entry) {
  std::vector<std::pair<std::string, std::string>> sets;
  for (const PolicyKey& key : entry.keys) sets.emplace_back(key.name, key.value);
  const Scheme* claims = nullptr;
  for (const PolicyScheme& scheme : entry.schemes) {
    if (!claims_weights(scheme.scheme))
      sets.emplace_back(fmt::format("format.{}.{}", to_string(scheme.scheme.scope),
                                    to_string(scheme.scheme.lifetime)),
                        scheme.scheme.format);
    else if (claims == nullptr || specificity(scheme.scheme) > specificity(*claims))
      claims = &scheme.scheme;
  }
  if (claims != nullptr) sets.emplace_back("format", claims->format);
  std::sort(sets.begin(), sets.end());
  return sets;
}

std::string explain_text(const Explanation& explanation, std::size_t width) {
  const WeightResolution& resolution = explanation.resolution;
  std::string out = escape_for_display(explanation.path) + "\n";
  out += "  codec    " + codec_text(explanation) + "\n";
  out += "  dtype    " + (resolution.needs_scheme ? resolution.dtype : "none") + "\n";
  out += weight_text(explanation, width);
  out += policies_text(explanation) + keys_text(resolution, width);
  if (!resolution.warning.empty())
    out += "\n" + wrapped("warning: " + escape_for_display(resolution.warning), width, 4) + "\n";
  return out;
}

std::string explain_json(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  const std::string codec = codec_name(explanation);
  JsonWriter json;
  json.begin_object().key("path").string(explanation.path);
  json.key("codec");
  codec.empty() ? json.null() : json.string(codec);
  json.key("dtype");
  resolution.needs_scheme ? json.string(resolution.dtype) : json.null();
  json.key("policies");
  write_policies(json, resolution);
  json.key("keys");
  write_keys(json, resolution);
  json.key("weight");
  write_weight(json, explanation);
  json.key("warning");
  resolution.warning.empty() ? json.null() : json.string(resolution.warning);
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
