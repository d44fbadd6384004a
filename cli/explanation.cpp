#include "explanation.h"

#include <fmt/core.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/pack_source.h"
#include "synps/plan.h"

namespace synps::cli {
namespace {

const SourceTensor& tensor_of(const Checkpoint& checkpoint, const std::string& path) {
  std::vector<std::string> paths;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    if (tensor.weight.path == path) return tensor;
    paths.push_back(tensor.weight.path);
  }
  Problem problem;
  problem.code = ErrorCode::usage;
  problem.file = checkpoint.path();
  problem.what = "there is no weight " + quote(path);
  const std::string below = path + ".";
  const auto under = std::count_if(paths.begin(), paths.end(), [&](const std::string& each) {
    return each.substr(0, below.size()) == below;
  });
  if (under != 0)
    problem.hint = fmt::format("{} below it, such as {}",
                               under == 1 ? "a weight is" : fmt::format("{} weights are", under),
                               quote(*std::lower_bound(paths.begin(), paths.end(), below)));
  else if (const auto near = nearest(path, paths))
    problem.hint = "did you mean " + quote(*near) + "?";
  throw Error(std::move(problem));
}

/// Bytes that the weight's entries take in an artifact: packed components are padded, and of
/// compressed ones only the most that they can take is known. `codec` is null where nothing decodes
/// what is kept.
std::uint64_t artifact_bytes(const Explanation& explanation, const SourceTensor& tensor,
                             const Codec* codec) {
  const WeightResolution& resolution = explanation.resolution;
  StoredWeight stored;
  stored.weight = tensor.weight;
  stored.scheme = resolution.scheme;
  std::vector<Component> components;
  if (codec != nullptr) {
    stored.codec = CodecRef::of(codec->info());
    components = codec->components(tensor.weight);
  } else {
    stored.weight = kept_weight(tensor);
    components = {{"values", stored.weight.dtype, stored.weight.shape, tensor.bytes, false}};
  }
  for (Component& component : components) {
    StoredComponent& next = stored.components.emplace_back();
    next.component = std::move(component);
    if (explanation.bytes_are_bound) next.compression = resolution.form.compress.method;
  }
  set_sizes(stored, CodecRowBytes(explanation.policy->codecs()));
  std::uint64_t sum = 0;  // of sizes below 2^62
  for (const StoredComponent& component : stored.components) {
    const auto next = checked_add(sum, component.stored_bytes);
    if (!next)
      throw Error(Problem{.code = ErrorCode::limit,
                          .what = "the weight " + quote(tensor.weight.path) + " is too large"});
    sum = *next;
  }
  return sum;
}

/// What becomes of the weight, as far as its own policy decides it.
void add_weight(Explanation& explanation, const SourceTensor& tensor, const ExplainHow& how) {
  const WeightResolution& resolution = explanation.resolution;
  const CodecRegistry& codecs = explanation.policy->codecs();
  explanation.source_bytes = tensor.bytes;
  const bool empty = tensor.weight.shape.elements() == 0;
  if (resolution.needs_scheme && resolution.scheme && !empty)
    if (const Codec* asked = codecs.resolve(resolution.scheme->format))
      explanation.support = asked->supports(tensor.weight);
  const Codec* source = source_codec(codecs, weight_facts(tensor));
  const bool copied = empty || resolution.keep || resolution.codec == source;
  if (!resolution.keep && resolution.codec == nullptr) return;
  const Codec* codec = copied ? source : resolution.codec;
  explanation.stored_codec = codec != nullptr ? codec->info().id() : CodecRef::keep().id();
  const Compression compression = empty ? Compression::none : resolution.form.compress.method;
  explanation.bytes_are_bound = compression != Compression::none;
  explanation.bytes = artifact_bytes(explanation, tensor, codec);
  explanation.lossless = copied || resolution.codec->info().stores_exactly(tensor.weight.dtype);
  const bool decided = how.target != nullptr && how.output == OutputKind::artifact;
  explanation.form =
      resolve_packed_form(resolution.form, pack_source(codecs, *explanation.facts, resolution),
                          decided ? how.target->of(resolution.device) : PackTarget{})
          .form;
}

/// What becomes of it in a GGUF file, where the weight's bytes are the same and padded otherwise. A
/// key-value is none of its tensors.
void make_gguf(Explanation& explanation, const SourceTensor& tensor, const Checkpoint& checkpoint) {
  if (!explanation.bytes) return;
  if (is_key_value_encoding(tensor.encoding)) {
    explanation.bytes.reset();
    return;
  }
  explanation.gguf_type = explanation.stored_codec == CodecRef::keep().id()
                              ? &gguf_type_of(tensor)
                              : gguf_type_of_codec(explanation.stored_codec);
  const auto bytes = explanation.gguf_type->bytes(tensor.weight.shape.elements());
  explanation.bytes = checked_round_up(bytes.value_or(0), gguf_alignment(checkpoint));
  explanation.bytes_are_bound = false;
}

/// Decoding the weight folds its scale in, which no dtype holds exactly.
void add_scale(Explanation& explanation, const Checkpoint& checkpoint, const SourceTensor& tensor) {
  if (!tensor.scale) return;
  const WeightResolution& resolution = explanation.resolution;
  const bool decodes =
      tensor.weight.shape.elements() != 0 && !resolution.keep && resolution.codec != nullptr;
  explanation.scale = StoredScale{checkpoint.tensors()[tensor.scale->tensor].weight.path,
                                  tensor.scale->form, decodes};
  if (decodes) explanation.lossless = false;
}

/// Why the plan refuses the weight with others, whatever becomes of it alone; "" for nothing.
std::string checkpoint_fault(const Policy& policy, const Checkpoint& checkpoint,
                             const SourceTensor& tensor, const ExplainHow& how) {
  const std::size_t index = static_cast<std::size_t>(&tensor - checkpoint.tensors().data());
  const auto told_to_keep = [&](std::size_t i) {
    const SourceTensor& part = checkpoint.tensors()[i];
    const WeightFacts facts = weight_facts(checkpoint, part);
    ExplainRequest request;
    request.facts = &facts;
    request.output = how.output;
    try {
      return policy.explain(part.weight.path, request).told_to_keep;
    } catch (const Error&) {
      return false;  // policies that disagree about another part do not keep it
    }
  };
  for (const CheckpointFault& fault : checkpoint.faults()) {
    const std::vector<std::size_t>& parts = fault.tensors;
    if (std::find(parts.begin(), parts.end(), index) == parts.end() ||
        std::all_of(parts.begin(), parts.end(), told_to_keep))
      continue;
    const Problem problem = fault_problems(checkpoint, {&fault}).front();
    return fmt::format("a plan is refused: {}; {}", problem.what, problem.hint);
  }
  return {};
}

std::vector<std::string> other_members(const Policy& policy, const PolicyGroup& group,
                                       const std::string& path, const Checkpoint& checkpoint) {
  std::uint64_t steps = kGroupSteps;
  const std::u32string key = group.paths.wildcard_key(path, steps);
  check_group_steps(steps, policy, group);
  std::vector<std::string> others;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    const std::string& other = tensor.weight.path;
    if (other == path || other.compare(0, group.paths.prefix().size(), group.paths.prefix()) != 0)
      continue;
    const bool alike = group.paths.wildcard_key(other, steps) == key;
    check_group_steps(steps, policy, group);  // without steps any two keys are equal: both empty
    if (alike) others.push_back(other);
  }
  return others;
}

/// What the policy has against the members of the group together; "" for nothing.
std::string group_fault(const Policy& policy, const PolicyGroup& group, const std::string& path,
                        const std::vector<std::string>& others, const Checkpoint& checkpoint) {
  std::vector<WeightFacts> members;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    const std::string& name = tensor.weight.path;
    if (name == path || std::binary_search(others.begin(), others.end(), name))
      members.push_back(weight_facts(checkpoint, tensor));
  }
  try {
    policy.resolve(members, {.allow_unmatched = true});
  } catch (const Error& error) {
    for (const Problem& problem : error.problems())
      if (problem.file == policy.file_of(group.place) && problem.line == group.place.line &&
          problem.column == group.place.column)
        return to_string(problem);
  }
  return {};
}

bool claims_weights(const Scheme& scheme) noexcept {
  return (scheme.scope == Scope::any || scheme.scope == Scope::constant) &&
         (scheme.lifetime == Lifetime::any || scheme.lifetime == Lifetime::immutable);
}

/// How narrowly a scheme that claims weights claims them: named fields count, `any` does not.
int specificity(const Scheme& scheme) noexcept {
  return (scheme.scope == Scope::constant ? 1 : 0) +
         (scheme.lifetime == Lifetime::immutable ? 1 : 0);
}

}  // namespace

void check_group_steps(std::uint64_t steps, const Policy& policy, const PolicyGroup& group) {
  if (steps != 0) return;
  Problem problem{.code = ErrorCode::limit, .file = policy.file_of(group.paths_place)};
  problem.what = "finding the members of the groups takes too long";
  problem.field = "groups." + escape_for_display(group.name);
  problem.line = group.paths_place.line;
  problem.column = group.paths_place.column;
  problem.hint = "use fewer wildcards in their patterns";
  throw Error(std::move(problem));
}

Explanation explain_weight(const Policy& policy, const Checkpoint& checkpoint,
                           const SourceTensor& tensor, const ExplainHow& how) {
  Explanation explanation;
  explanation.policy = &policy;
  explanation.value.path = tensor.weight.path;
  explanation.facts = weight_facts(checkpoint, tensor);
  ExplainRequest request;
  request.facts = &*explanation.facts;
  request.compress = how.compress;
  request.output = how.output;
  request.target = how.target;
  explanation.resolution = policy.explain(tensor.weight.path, request);
  add_weight(explanation, tensor, how);
  add_scale(explanation, checkpoint, tensor);
  return explanation;
}

Explanation explain_value(const Policy& policy, Value value, const Checkpoint* checkpoint,
                          const ExplainHow& how) {
  Explanation explanation;
  if (checkpoint != nullptr) {
    const SourceTensor& tensor = tensor_of(*checkpoint, value.path);
    explanation = explain_weight(policy, *checkpoint, tensor, how);
    const std::string fault = checkpoint_fault(policy, *checkpoint, tensor, how);
    if (!fault.empty()) explanation.resolution.warning = fault;
    if (how.output == OutputKind::gguf) make_gguf(explanation, tensor, *checkpoint);
  } else {
    explanation.policy = &policy;
    explanation.resolution = policy.explain(
        value.path, {nullptr, value.scope, value.lifetime, how.compress, how.output});
  }
  explanation.value = std::move(value);
  const std::string& path = explanation.value.path;
  if (explanation.value.scope != Scope::constant) return explanation;  // groups are of weights
  for (const PolicyGroup& group : policy.groups()) {
    if (!group.paths.covers(path)) continue;
    explanation.groups.push_back({&group, {}});
    if (checkpoint == nullptr) continue;
    std::vector<std::string>& others = explanation.groups.back().others;
    others = other_members(policy, group, path, *checkpoint);
    std::string& warning = explanation.resolution.warning;
    if (warning.empty()) warning = group_fault(policy, group, path, others, *checkpoint);
  }
  return explanation;
}

std::vector<SetKey> keys_set_by(const PolicyEntry& entry) {
  std::vector<SetKey> sets;
  for (const PolicyKey& key : entry.keys) sets.push_back({key.name, key.value, key.place});
  const PolicyScheme* claims = nullptr;
  for (const PolicyScheme& each : entry.schemes) {
    const Scheme& scheme = each.scheme;
    if (!claims_weights(scheme))
      sets.push_back(
          {fmt::format("format.{}.{}", to_string(scheme.scope), to_string(scheme.lifetime)),
           scheme.format, each.place});
    else if (claims == nullptr || specificity(scheme) > specificity(claims->scheme))
      claims = &each;
  }
  if (claims != nullptr) sets.push_back({"format", claims->scheme.format, claims->place});
  std::sort(sets.begin(), sets.end(), [](const SetKey& a, const SetKey& b) {
    return std::tie(a.name, a.value) < std::tie(b.name, b.value);
  });
  return sets;
}

std::string overridden_value(const WeightResolution& resolution, const KeyDecision& decision,
                             std::size_t overridden) {
  const PolicyEntry* entry = decision.overridden[overridden];
  // A policy may have several schemes; the place says which one was overridden.
  for (const SchemeVerdict& verdict : resolution.schemes)
    if (decision.key == "format" && verdict.policy == entry &&
        verdict.scheme->place == decision.overridden_places[overridden])
      return verdict.scheme->scheme.format;
  for (const SetKey& key : keys_set_by(*entry))
    if (key.name == decision.key) return key.value;
  return {};
}

std::string place_text(const Policy& policy, const SourcePlace& place) {
  if (place.source == 0) return fmt::format("line {}", place.line);
  return fmt::format("line {} of {}", place.line, escape_for_display(policy.file_of(place)));
}

std::string place_text(const Policy& policy, const SourcePlace& place, const PolicyEntry& entry) {
  return place_text(policy, place) + ", " + escape_for_display(entry.pattern.text());
}

std::string claim_text(const Scheme& scheme) {
  std::string text = fmt::format("{}, {}", to_string(scheme.scope), to_string(scheme.lifetime));
  const Update inferred = scheme.scope == Scope::constant ? Update::none : Update::whole;
  if (scheme.update != inferred) text += fmt::format(", update {}", to_string(scheme.update));
  if (scheme.is_volatile) text += ", volatile";
  return text;
}

}  // namespace synps::cli
