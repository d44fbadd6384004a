#include "explain_output.h"
#include "json_text.h"
#include "scale_notes.h"
#include "synps/json_writer.h"
#include "weight_summary.h"

namespace synps::cli {
namespace {

/// `package:export` of what the value is stored as, "keep", or "" when nothing says. With a
/// checkpoint, what `plan` says: a kept weight has the codec that decodes it.
std::string codec_name(const Explanation& explanation) {
  const WeightResolution& resolution = explanation.resolution;
  if (!explanation.stored_codec.empty()) return explanation.stored_codec;
  if (resolution.keep) return "keep";
  return resolution.codec != nullptr ? resolution.codec->info().id() : std::string();
}

/// `file` and `line`, inside an object.
void write_place(JsonWriter& json, const Policy& policy, const SourcePlace& place) {
  json.key("file").string(utf8(policy.file_of(place)));
  json.key("line").integer(place.line);
}

void write_policies(JsonWriter& json, const Explanation& explanation) {
  json.begin_array();
  for (const PolicyEntry* entry : explanation.resolution.policies) {
    json.begin_object().key("pattern").string(entry->pattern.text());
    write_place(json, *explanation.policy, entry->place);
    json.key("sets").begin_object();
    for (const SetKey& key : keys_set_by(*entry)) json.key(key.name).string(key.value);
    json.end_object().end_object();
  }
  json.end_array();
}

void write_key(JsonWriter& json, const Explanation& explanation, const KeyDecision& decision) {
  const Policy& policy = *explanation.policy;
  json.begin_object().key("key").string(decision.key);
  json.key("value").string(decision.value);
  if (decision.policy != nullptr) {
    json.key("policy").string(decision.policy->pattern.text());
    write_place(json, policy, decision.place);
  } else {
    json.key("policy").null().key("file").null().key("line").null();
  }
  json.key("by_command_line").boolean(decision.given);
  json.key("overrides").begin_array();
  for (std::size_t i = 0; i < decision.overridden.size(); ++i) {
    json.begin_object().key("pattern").string(decision.overridden[i]->pattern.text());
    write_place(json, policy, decision.overridden_places[i]);
    json.key("value").string(overridden_value(explanation.resolution, decision, i)).end_object();
  }
  json.end_array().key("replaces").begin_array();
  for (const ReplacedValue& replaced : decision.replaced) {
    json.begin_object();
    write_place(json, policy, replaced.place);
    json.key("value").string(replaced.value).end_object();
  }
  json.end_array().end_object();
}

std::string_view outcome_name(SchemeVerdict::Outcome outcome) noexcept {
  using enum SchemeVerdict::Outcome;
  switch (outcome) {
    case chosen:
      return "chosen";
    case agrees:
      return "agrees";
    case other_values:
      return "other_values";
    case less_specific:
      return "less_specific";
    case overridden:
      return "overridden";
  }
  return "";
}

void write_schemes(JsonWriter& json, const Explanation& explanation) {
  const Policy& policy = *explanation.policy;
  json.begin_array();
  for (const SchemeVerdict& verdict : explanation.resolution.schemes) {
    const Scheme& scheme = verdict.scheme->scheme;
    json.begin_object().key("pattern").string(verdict.policy->pattern.text());
    write_place(json, policy, verdict.scheme->place);
    json.key("format").string(scheme.format);
    json.key("scope").string(to_string(scheme.scope));
    json.key("lifetime").string(to_string(scheme.lifetime));
    json.key("update").string(to_string(scheme.update));
    json.key("volatile").boolean(scheme.is_volatile);
    json.key("outcome").string(outcome_name(verdict.outcome));
    json.key("by");
    if (verdict.by != nullptr) {
      json.begin_object().key("pattern").string(verdict.by_policy->pattern.text());
      write_place(json, policy, verdict.by->place);
      json.end_object();
    } else {
      json.null();
    }
    json.end_object();
  }
  json.end_array();
}

void write_groups(JsonWriter& json, const Explanation& explanation) {
  json.begin_array();
  for (const GroupMembership& membership : explanation.groups) {
    const PolicyGroup& group = *membership.group;
    json.begin_object().key("name").string(group.name);
    json.key("paths").string(group.paths.text());
    write_place(json, *explanation.policy, group.place);
    json.key("same").begin_array();
    for (const std::string& each : group.same) json.string(each);
    json.end_array().key("others");
    if (explanation.facts) {
      json.begin_array();
      for (const std::string& other : membership.others) json.string(other);
      json.end_array();
    } else {
      json.null();
    }
    json.end_object();
  }
  json.end_array();
}

/// What the codec is, whatever the weight.
void write_codec(JsonWriter& json, const Codec* codec) {
  if (codec == nullptr) {
    json.null();
    return;
  }
  const CodecInfo& info = codec->info();
  json.begin_object().key("bits_per_weight").number(info.bits_per_weight);
  json.key("exact").begin_array();
  for (const DType dtype : info.exact) json.string(encoding_name(dtype));
  json.end_array().key("summary").string(info.summary).end_object();
}

void write_support(JsonWriter& json, const Explanation& explanation) {
  if (!explanation.support) {
    json.null();
    return;
  }
  json.begin_object().key("ok").boolean(explanation.support->ok);
  json.key("reason");
  string_or_null(json, explanation.support->reason);
  json.end_object();
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
  json.key("support");
  write_support(json, explanation);
  json.key("stored");
  if (explanation.bytes) {
    json.begin_object().key("encoding").string(to_string(explanation.form.encoding));
    const GgufType* type = explanation.gguf_type;  // a file of these says nothing of the two
    if (type != nullptr) json.key("type").string(type->name);
    json.key("order").string(to_string(explanation.form.order));
    json.key("orientation");
    type != nullptr ? json.null() : json.string(to_string(explanation.form.orientation));
    json.key("residency");
    type != nullptr ? json.null() : json.string(to_string(explanation.form.residency));
    json.key("lossless").boolean(explanation.lossless);
    json.key("compress")
        .string(to_string(explanation.bytes_are_bound ? explanation.resolution.form.compress
                                                      : CompressRequest{}));
    json.key("bytes").integer(*explanation.bytes);
    json.key("bytes_exact").boolean(!explanation.bytes_are_bound).end_object();
  } else {
    json.null();
  }
  json.key("fallback_reason");
  string_or_null(json, explanation.resolution.fallback_reason);
  if (explanation.scale) {
    json.key("scale");
    write_scale(json, *explanation.scale);
  }
  if (!explanation.facts->scale_of.empty())
    json.key("scale_of").string(explanation.facts->scale_of);
  if (!explanation.facts->packed_as.empty())
    json.key("packed_as").string(explanation.facts->packed_as);
  json.end_object();
}

void write_why_not(JsonWriter& json, const Policy& policy, const WhyNot& why_not) {
  json.begin_object().key("format").string(why_not.format);
  json.key("already").boolean(why_not.already);
  json.key("reasons").begin_array();
  for (const std::string& reason : why_not.reasons) json.string(utf8(reason));
  json.end_array().key("declare");
  string_or_null(json, why_not.declare);
  json.key("paste");
  string_or_null(json, why_not.paste);
  json.key("replaces").begin_array();
  for (const SourcePlace& place : why_not.replaces) {
    json.begin_object();
    write_place(json, policy, place);
    json.end_object();
  }
  json.end_array().key("tried").boolean(why_not.tried);
  json.key("fits_at_end").boolean(why_not.fits_at_end);
  json.key("also_changes").begin_array();
  for (const std::string& path : why_not.also_changes) json.string(path);
  json.end_array().end_object();
}

}  // namespace

std::string explain_json(const Explanation& explanation, const WhyNot* why_not) {
  const WeightResolution& resolution = explanation.resolution;
  JsonWriter json;
  json.begin_object().key("path").string(explanation.value.path);
  json.key("scope").string(to_string(explanation.value.scope));
  json.key("lifetime").string(to_string(explanation.value.lifetime));
  json.key("codec");
  string_or_null(json, codec_name(explanation));
  json.key("dtype");
  string_or_null(json, resolution.needs_scheme ? resolution.dtype : std::string());
  json.key("policies");
  write_policies(json, explanation);
  json.key("keys").begin_array();
  for (const KeyDecision& decision : resolution.decisions) write_key(json, explanation, decision);
  json.end_array().key("schemes");
  write_schemes(json, explanation);
  json.key("groups");
  write_groups(json, explanation);
  json.key("codec_info");
  write_codec(json, resolution.codec);
  json.key("weight");
  write_weight(json, explanation);
  json.key("warning");
  string_or_null(json, resolution.warning);
  json.key("why_not");
  if (why_not != nullptr)
    write_why_not(json, *explanation.policy, *why_not);
  else
    json.null();
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
