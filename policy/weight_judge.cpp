#include "weight_judge.h"

#include <algorithm>

#include <fmt/format.h>

#include "format_names.h"
#include "order_judge.h"
#include "output_judge.h"
#include "synps/conversion.h"
#include "toml_text.h"

namespace synps {
namespace {

// Stores the weight as `format` if that can hold its shape; else says why not.
Support store_as(const std::string& format, const Weight& weight, const CodecRegistry& codecs,
                 WeightResolution& out) {
  out.keep = format == kKeep;
  out.codec = nullptr;
  if (out.keep) return Support::yes();
  const Codec* codec = codecs.resolve(format);
  Support support = codec->supports(weight);
  if (support.ok) out.codec = codec;
  return support;
}

bool is_ambiguous(const SetResolution& set, std::string_view key) {
  return std::any_of(set.ambiguities.begin(), set.ambiguities.end(),
                     [&](const Ambiguity& ambiguity) { return ambiguity.key == key; });
}

std::optional<WeightFault> choose_codec(const WeightFacts& facts, const SetResolution& set,
                                        const CodecRegistry& codecs, WeightResolution& out) {
  const std::string& format = set.scheme->scheme.format;
  Support support = store_as(format, facts.weight, codecs, out);
  if (support.ok || is_ambiguous(set, "fallback")) return std::nullopt;
  WeightFault fault{set.scheme->place, cannot_store(codecs.resolve(format)->info(), support)};
  if (!set.fallback) {
    fault.problem.hint = "set a `fallback`, or give these weights another format";
    return fault;
  }
  out.used_fallback = true;
  out.fallback_reason = std::move(support.reason);
  support = store_as(*set.fallback, facts.weight, codecs, out);
  if (support.ok) return std::nullopt;
  fault.problem.what = "neither the codec nor the fallback can store a weight";
  fault.problem.found +=
      fmt::format("; {}: {}", short_format(*set.fallback, codecs), support.reason);
  fault.problem.hint = "give these weights another format";
  return fault;
}

const KeyDecision* decision_on(const SetResolution& set, std::string_view key) {
  for (const KeyDecision& decision : set.common.decisions)
    if (decision.key == key) return &decision;
  return nullptr;
}

// Whether the output has room for the codec that the scheme asks for, and for the one it gets.
std::optional<WeightFault> check_output(const SetResolution& set, OutputKind output,
                                        const CodecRegistry& codecs, WeightResolution& out) {
  const PolicyScheme& asked = *set.scheme;
  auto fault = format_fault(asked.scheme.format, asked.place, output, codecs);
  if (!fault && out.used_fallback) {
    const KeyDecision* fallback = decision_on(set, "fallback");
    fault = format_fault(*set.fallback, fallback != nullptr ? fallback->place : asked.place, output,
                         codecs);
  }
  if (fault) out.codec = nullptr;
  return fault;
}

// Whether the source's values can be had, which a kept weight does not need. `place` is that of the
// scheme that asks for them.
std::optional<WeightFault> check_source(const WeightFacts& facts, SourcePlace place,
                                        const PolicyDocument& document, const CodecRegistry& codecs,
                                        WeightResolution& out) {
  const std::string encoding = facts.source();
  const std::string name = short_format(encoding, codecs);
  WeightFault fault{place, {.field = name}, true};
  if (source_codec(codecs, facts) == nullptr) {
    out.codec = nullptr;
    fault.problem = cannot_decode(facts, codecs);
    fault.problem.hint = "store it unchanged: format = \"keep\"";
    return fault;
  }
  if (facts.declared || document.declared.find(encoding) != document.declared.end())
    return std::nullopt;
  fault.problem.what = "a source encoding that the policy does not name";
  fault.problem.hint = fmt::format("add \"{}\" to `formats` under [myelin]", name);
  return fault;
}

void make_non_float(const SetResolution& set, WeightResolution& out) {
  out.needs_scheme = false;
  out.keep = true;
  out.codec = nullptr;
  out.scheme.reset();
  out.decisions = set.without_floats;
}

WeightFault uncovered(const SetResolution& set) {
  WeightFault fault{{}, {.what = "a float weight that no scheme covers"}, true};
  fault.problem.hint = "add a root: [[policies.\"*\".schemes]] with a format";
  if (set.common.policies.empty()) return fault;
  const PolicyEntry& narrowest = *set.common.policies.back();
  fault.place = narrowest.place;
  if (!narrowest.schemes.empty())
    fault.problem.hint =
        "the schemes here claim other values than weights; add one without `scope`";
  return fault;
}

// `residency = "mapped"` by "PATTERN" (line 3).
std::string claim_text(const PolicyDocument& document, const std::string& claim,
                       const KeyDecision& decision) {
  if (decision.policy == nullptr) return claim;
  return fmt::format("{} by {} ({})", claim, toml_key_for_display(decision.policy->pattern.text()),
                     line_text(document, decision.place));
}

// Frames must be inflated to be used: what is compressed cannot be mapped.
std::optional<WeightFault> check_compression(const SetResolution& set,
                                             const PolicyDocument& document,
                                             const WeightResolution& out) {
  if (out.form.compress.method == Compression::none) return std::nullopt;
  const KeyDecision* compress = decision_on(set, "form.compress");
  const KeyDecision* other = nullptr;
  std::string claim;
  if (out.form.residency == ResidencyRequest::mapped) {
    other = decision_on(set, "form.residency");
    claim = "residency = \"mapped\"";
  } else if (out.scheme && out.scheme->is_volatile) {
    other = decision_on(set, "format");
    claim = "volatile = true";
  }
  if (compress == nullptr || other == nullptr) return std::nullopt;
  const std::string by = compress->given ? " by the command line (--compress)" : "";
  WeightFault fault{compress->policy != nullptr ? compress->place : other->place, {}};
  fault.problem.what = "a contradiction: compressed, and to be mapped from the file";
  fault.problem.field = "form.compress";
  fault.problem.found = fmt::format(
      "{} and {}",
      claim_text(document, fmt::format("compress = \"{}\"{}", compress->value, by), *compress),
      claim_text(document, claim, *other));
  fault.problem.hint = "set compress = \"none\" for these weights, or leave them on the heap";
  return fault;
}

std::optional<WeightFault> check_form(const SetResolution& set, const PolicyDocument& document,
                                      OutputKind output, const WeightResolution& out) {
  if (auto fault = form_fault(set, output, out)) return fault;
  return check_compression(set, document, out);
}

void add_warning(const std::string& warning, WeightResolution& out) {
  if (!out.warning.empty() && !warning.empty()) out.warning += "; ";
  out.warning += warning;
}

void warn_of_volatile_heap(WeightResolution& out) {
  if (out.scheme && out.scheme->is_volatile && out.form.residency == ResidencyRequest::heap)
    out.warning = "volatile, but residency is heap: pages on the heap cannot be discarded";
}

}  // namespace

std::string WeightFacts::source() const {
  return encoding.empty() ? std::string(encoding_name(weight.dtype)) : encoding;
}

Problem cannot_decode(const WeightFacts& facts, const CodecRegistry& codecs) {
  return {.code = ErrorCode::policy,
          .what = "no codec here decodes a source encoding",
          .field = short_format(facts.source(), codecs)};
}

const Codec* source_codec(const CodecRegistry& codecs, const WeightFacts& facts) noexcept {
  const bool dense = facts.encoding.empty() || facts.encoding == encoding_name(facts.weight.dtype);
  return dense ? codecs.for_dtype(facts.weight.dtype) : codecs.resolve(facts.encoding);
}

std::optional<WeightFault> judge(const WeightFacts& facts, const SetResolution& set,
                                 const PolicyDocument& document, const Packing& packing,
                                 WeightResolution& out) {
  const OutputKind output = packing.output;
  const CodecRegistry& codecs = *document.codecs;
  out = set.common;
  out.told_to_keep = set.scheme != nullptr && set.scheme->scheme.format == kKeep;
  const bool empty = facts.weight.shape.elements() == 0;
  if (!facts.needs_scheme()) {
    make_non_float(set, out);
    return empty ? std::nullopt : check_form(set, document, output, out);
  }
  warn_of_volatile_heap(out);
  if (is_ambiguous(set, "format")) return std::nullopt;
  if (set.scheme == nullptr) return uncovered(set);
  if (empty) {
    out.keep = true;  // there is nothing to convert, or to read
    return std::nullopt;
  }
  auto fault_of_shape = choose_codec(facts, set, codecs, out);
  if (auto fault = check_output(set, output, codecs, out)) return fault;
  if (fault_of_shape) return fault_of_shape;
  if (out.codec != nullptr)
    if (auto fault = check_source(facts, set.scheme->place, document, codecs, out)) return fault;
  add_warning(type_warning(facts, output, codecs, out), out);
  if (auto fault = check_form(set, document, output, out)) return fault;
  if (packing.target == nullptr || output != OutputKind::artifact) return std::nullopt;
  return order_fault(facts, set, codecs, packing.target->of(out.device), out);
}

void assume(const SetResolution& set, const PolicyDocument& document, OutputKind output,
            WeightResolution& out) {
  out = set.common;
  warn_of_volatile_heap(out);
  if (const auto fault = check_form(set, document, output, out))
    out.warning = fmt::format("{}: {}", fault->problem.what, fault->problem.found);
  if (set.scheme == nullptr) return;
  const Scheme& scheme = set.scheme->scheme;
  if (const auto fault = format_fault(scheme.format, set.scheme->place, output, *document.codecs))
    out.warning = fmt::format("{}: {}", fault->problem.what, fault->problem.field);
  out.keep = set.scheme->scheme.format == kKeep;
  out.codec = out.keep ? nullptr : document.codecs->resolve(set.scheme->scheme.format);
}

}  // namespace synps
