#include "synps/plan.h"

#include <algorithm>
#include <utility>

#include "gguf_layout.h"
#include "gguf_part_plan.h"
#include "not_carried.h"
#include "shard_plan.h"
#include "synps/checkpoint_findings.h"
#include "synps/error.h"
#include "synps/memory_plan.h"
#include "synps/pack_source.h"

namespace synps {
namespace {

Component dense_component(const Weight& weight, std::uint64_t bytes) {
  return {"values", weight.dtype, weight.shape, bytes, false};
}

std::vector<StoredComponent> without_places(std::vector<Component> components,
                                            Compression compression) {
  std::vector<StoredComponent> stored;
  stored.reserve(components.size());
  for (Component& component : components) {
    StoredComponent& next = stored.emplace_back();
    next.component = std::move(component);
    if (next.component.bytes != 0) next.compression = compression;
  }
  return stored;
}

std::vector<Decision> decisions(const WeightResolution& resolution) {
  std::vector<Decision> result;
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.policy != nullptr)
      result.push_back({decision.key, decision.policy->pattern.text()});
    else if (decision.given)  // an empty pattern: whoever packs, and no policy
      result.push_back({decision.key, ""});
  std::sort(result.begin(), result.end(),
            [](const Decision& a, const Decision& b) { return a.key < b.key; });
  return result;
}

/// The policy that decided the format, and the line of its scheme.
void name_policy(const WeightResolution& resolution, PlannedWeight& planned) {
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.key == "format" && decision.policy != nullptr) {
      planned.policy = decision.policy->pattern.text();
      planned.policy_place = decision.place;
    }
}

/// What the policy says of values that are not constants. Their paths are nowhere in a checkpoint,
/// so a runtime that allocates them gets the patterns.
std::vector<ValueScheme> value_schemes(const Policy& policy) {
  std::vector<ValueScheme> values;
  for (const PolicyValueScheme& each : policy.value_schemes())
    values.push_back({each.policy->pattern.text(), each.scheme->scheme});
  return values;
}

/// Plans weights one by one.
class Planner {
 public:
  Planner(const Checkpoint& checkpoint, const Policy& policy, const PlanOptions& options)
      : checkpoint_(checkpoint), codecs_(policy.codecs()) {
    contents_.metadata = checkpoint.metadata();
    contents_.values = value_schemes(policy);
    if (options.output == OutputKind::gguf)
      plan_.gguf.emplace();  // has one order, whatever kernels want
    else
      target_ = &options.target;
  }

  /// Whether the source's bytes are stored as they are.
  bool keeps(std::size_t index, const WeightResolution& resolution) const;
  void add(std::size_t index, const WeightResolution& resolution);
  Plan finish();

 private:
  void keep(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor) const;
  void encode(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor,
              const Codec& codec) const;
  void fold_scale(PlannedWeight& planned, const SourceTensor& tensor) const;
  void add_for_gguf(PlannedWeight& planned, const SourceTensor& tensor,
                    const WeightResolution& resolution);
  Plan finish_artifact();
  Plan finish_gguf();

  const Checkpoint& checkpoint_;
  const CodecRegistry& codecs_;
  const PackTargets no_target_{};
  const PackTargets* target_ = &no_target_;
  ArtifactContents contents_;
  Plan plan_;
  NotCarriedList not_carried_;  ///< by a GGUF output
};

/// The source's bytes, as they are. They name the codec that decodes them where there is one, so
/// that a reader can decode them.
void Planner::keep(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor) const {
  planned.copied = true;
  const Codec* codec = source_codec(codecs_, weight_facts(tensor));
  if (codec == nullptr) stored.weight = kept_weight(tensor);
  stored.codec = codec != nullptr ? CodecRef::of(codec->info()) : CodecRef::keep();
  stored.components =
      without_places(codec != nullptr && !codec->info().dense
                         ? codec->components(tensor.weight)
                         : std::vector<Component>{dense_component(stored.weight, tensor.bytes)},
                     stored.asked.compress.method);
}

/// The policy has made sure that something decodes the source and that `codec` encodes.
void Planner::encode(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor,
                     const Codec& codec) const {
  planned.source_codec = source_codec(codecs_, weight_facts(tensor));
  planned.codec = &codec;
  planned.lossless = codec.info().stores_exactly(tensor.weight.dtype) && !tensor.scale;
  if (tensor.scale) fold_scale(planned, tensor);
  stored.codec = CodecRef::of(codec.info());
  stored.components = without_places(codec.components(tensor.weight), stored.asked.compress.method);
}

/// A product is a new value, so that nothing stores it losslessly by types: not the dtype of the
/// codes, and f32 rounds products with most scales.
void Planner::fold_scale(PlannedWeight& planned, const SourceTensor& tensor) const {
  planned.scale = folded_scale(checkpoint_, tensor, codecs_);
  const SourceTensor& scale = checkpoint_.tensors()[tensor.scale->tensor];
  if (!planned.scale)
    throw Error({.code = ErrorCode::policy,
                 .file = checkpoint_.path(),
                 .what = "no codec here decodes the scale of a weight",
                 .field = scale.weight.path,
                 .found = scale.encoding});
  planned.source_bytes += scale.bytes;
}

bool Planner::keeps(std::size_t index, const WeightResolution& resolution) const {
  const SourceTensor& tensor = checkpoint_.tensors()[index];
  return tensor.weight.shape.elements() == 0 || resolution.keep || resolution.codec == nullptr ||
         resolution.codec == source_codec(codecs_, weight_facts(tensor));
}

void Planner::add(std::size_t index, const WeightResolution& resolution) {
  const SourceTensor& tensor = checkpoint_.tensors()[index];
  if (plan_.gguf && is_key_value_encoding(tensor.encoding)) return;  // it is one again
  PlannedWeight planned;
  planned.tensor = index;
  planned.source_bytes = tensor.bytes;
  name_policy(resolution, planned);
  planned.warning = resolution.warning;

  StoredWeight stored;
  stored.weight = tensor.weight;
  stored.source = tensor.encoding;
  if (dtype_is_float(tensor.weight.dtype)) stored.compute = resolution.dtype;
  stored.asked = resolution.form;
  stored.scheme = resolution.scheme;
  stored.device = resolution.device;
  stored.decisions = decisions(resolution);

  const bool empty = tensor.weight.shape.elements() == 0;
  const bool unchanged = keeps(index, resolution);
  if (!empty && resolution.used_fallback) {
    planned.used_fallback = true;
    planned.fallback_reason = resolution.fallback_reason;
  }
  if (unchanged)
    keep(planned, stored, tensor);
  else
    encode(planned, stored, tensor, *resolution.codec);
  if (tensor.scale)
    stored.scale = StoredScale{checkpoint_.tensors()[tensor.scale->tensor].weight.path,
                               tensor.scale->form, !unchanged};
  if (!dtype_is_float(stored.weight.dtype)) stored.compute.clear();  // rows of bytes
  stored.lossless = planned.lossless;
  const PackSource source = pack_source(codecs_, weight_facts(tensor), resolution);
  stored.form = resolve_packed_form(resolution.form, source, target_->of(resolution.device)).form;
  for (StoredComponent& component : stored.components) component.order = stored.form.order;
  if (unchanged && stored.form.order != Order::rows1)
    planned.block_bytes = source_codec(codecs_, weight_facts(tensor))->block_bytes(0);

  if (plan_.gguf) add_for_gguf(planned, tensor, resolution);
  plan_.source_bytes += planned.source_bytes;
  plan_.weights.push_back(std::move(planned));
  contents_.weights.push_back(std::move(stored));
}

/// What the policy says of every tensor. The checkpoint's faults go before the policy's, which may
/// come of them.
std::vector<WeightResolution> resolve(const Checkpoint& checkpoint, const Policy& policy,
                                      const PlanOptions& options) {
  std::vector<Problem> of_policy;
  std::vector<WeightResolution> resolutions = policy.resolve(
      weight_facts(checkpoint),
      {options.allow_unmatched, options.compress, options.output, &options.target}, of_policy);
  std::vector<Problem> problems = faults_left(checkpoint, resolutions);
  for (Problem& problem : of_policy) problems.push_back(std::move(problem));
  if (!problems.empty()) throw Error(std::move(problems));
  return resolutions;
}

/// The layout does not know the checkpoint's name; its errors are about the checkpoint.
ArtifactLayout lay_out_for(const Checkpoint& checkpoint, ArtifactContents contents,
                           const CodecRegistry& codecs) {
  try {
    return lay_out(std::move(contents), CodecRowBytes(codecs));
  } catch (const Error& error) {
    std::vector<Problem> problems = error.problems();
    for (Problem& problem : problems)
      if (problem.file.empty()) problem.file = checkpoint.path();
    throw Error(std::move(problems));
  }
}

void Planner::add_for_gguf(PlannedWeight& planned, const SourceTensor& tensor,
                           const WeightResolution& resolution) {
  planned.gguf_type =
      planned.copied ? &gguf_type_of(tensor) : gguf_type_of_codec(planned.codec->info().id());
  not_carried_.add(tensor.weight, resolution);
}

Plan Planner::finish() {
  // Stored weights are sorted by path, as tensors are.
  for (std::size_t i = 0; i < plan_.weights.size(); ++i) plan_.weights[i].stored = i;
  return plan_.gguf ? finish_gguf() : finish_artifact();
}

/// Who loads the file is not synps, so that nothing is said of what that takes.
Plan Planner::finish_gguf() {
  not_carried_.add(contents_.values);
  plan_.gguf->not_carried = not_carried_.take();
  lay_out_gguf(checkpoint_, std::move(contents_.weights), codecs_, plan_);
  return std::move(plan_);
}

Plan Planner::finish_artifact() {
  plan_.layout = lay_out_for(checkpoint_, std::move(contents_), codecs_);
  plan_.artifact_bytes = plan_.layout.file_bytes;
  for (PlannedWeight& planned : plan_.weights) {
    const StoredWeight& stored = plan_.stored(planned);
    for (const StoredComponent& component : stored.components)
      planned.bytes += component.stored_bytes;
    const WeightMemory loaded = memory_of(stored, as_packed(stored));
    plan_.resident_bytes += loaded.resident;
    plan_.mapped_bytes += loaded.mapped;
    plan_.conversion_bytes += loaded.conversion;
  }
  return std::move(plan_);
}

}  // namespace

std::optional<FoldedScale> folded_scale(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                        const CodecRegistry& codecs) {
  if (!tensor.scale) return std::nullopt;
  const SourceTensor& scale = checkpoint.tensors()[tensor.scale->tensor];
  const Codec* codec = codecs.for_dtype(scale.weight.dtype);
  if (codec == nullptr) return std::nullopt;
  return FoldedScale{&scale, tensor.scale->form, codec};
}

WeightFacts weight_facts(const SourceTensor& tensor) {
  return {tensor.weight, tensor.encoding, tensor.bytes};
}

WeightFacts weight_facts(const Checkpoint& checkpoint, const SourceTensor& tensor) {
  WeightFacts facts = weight_facts(tensor);
  if (tensor.scale_of) facts.scale_of = checkpoint.tensors()[*tensor.scale_of].weight.path;
  facts.packed_as = tensor.packed_as;
  return facts;
}

std::vector<WeightFacts> weight_facts(const Checkpoint& checkpoint) {
  std::vector<WeightFacts> facts;
  facts.reserve(checkpoint.tensors().size());
  for (const SourceTensor& tensor : checkpoint.tensors())
    facts.push_back(weight_facts(checkpoint, tensor));
  for (const CheckpointFault& fault : checkpoint.faults())
    for (const std::size_t i : fault.tensors) facts[i].only_kept = true;
  return facts;
}

void check_output_kind(const Checkpoint& checkpoint, OutputKind output) {
  if (output != OutputKind::gguf || checkpoint.gguf_version() != 0) return;
  throw Error(
      {.code = ErrorCode::usage,
       .file = checkpoint.path(),
       .what = "a GGUF file can only be made of a GGUF checkpoint",
       .found = "safetensors: names of tensors, permutations, metadata and tokenizer differ by "
                "architecture, which is a converter's job",
       .hint = "convert it with llama.cpp's convert_hf_to_gguf.py --outtype f16 or bf16, then pack "
               "what that writes"});
}

Plan make_plan(const Checkpoint& checkpoint, const Policy& policy, const PlanOptions& options) {
  check_output_kind(checkpoint, options.output);
  std::vector<WeightResolution> resolutions = resolve(checkpoint, policy, options);
  std::vector<Problem> warnings = scale_warnings(checkpoint, resolutions);
  Planner planner(checkpoint, policy, options);
  for (std::size_t i = 0; i < resolutions.size(); ++i) {
    const auto weight = checkpoint.tensors()[i].scale_of;
    if (!weight || planner.keeps(*weight, resolutions[*weight])) planner.add(i, resolutions[i]);
  }
  resolutions = {};  // as large as the plan, and done with before the layout needs memory
  Plan plan = planner.finish();
  plan.warnings = std::move(warnings);
  if (options.max_shard_bytes != 0 && plan.gguf)
    plan_gguf_parts(plan, checkpoint, options.max_shard_bytes, options.name);
  else if (options.max_shard_bytes != 0)
    plan_shards(plan, checkpoint, policy.codecs(), options.max_shard_bytes, options.name);
  return plan;
}

}  // namespace synps
