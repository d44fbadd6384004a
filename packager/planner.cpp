#include "planner.h"

#include <algorithm>
#include <utility>

#include "gguf_layout.h"
#include "gguf_part_plan.h"
#include "shard_plan.h"
#include "synps/conversion.h"
#include "synps/error.h"
#include "synps/history.h"
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

std::vector<Component> components_of(const StoredWeight& stored) {
  std::vector<Component> components;
  for (const StoredComponent& each : stored.components) components.push_back(each.component);
  return components;
}

/// The policy that decided the format, and the line of its scheme.
void name_policy(const WeightResolution& resolution, const GivenWeight* given,
                 PlannedWeight& planned) {
  for (const KeyDecision& decision : resolution.decisions)
    if (decision.key == "format" && decision.policy != nullptr) {
      planned.policy = decision.policy->pattern.text();
      planned.policy_place = decision.place;
    }
  if (given == nullptr) return;
  for (const Decision& decision : given->decisions)
    if (decision.key == "format") planned.policy = decision.pattern;
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

}  // namespace

std::vector<Decision> decisions_of(const WeightResolution& resolution) {
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

Planner::Planner(const Checkpoint& checkpoint, const CodecRegistry& codecs,
                 std::vector<ValueScheme> values, const PlanOptions& options)
    : checkpoint_(checkpoint), codecs_(codecs) {
  contents_.metadata = checkpoint.metadata();
  contents_.values = std::move(values);
  if (options.output == OutputKind::gguf)
    plan_.gguf.emplace();  // has one order, whatever kernels want
  else
    target_ = &options.target;
}

/// The source's bytes, as they are. They name the codec that decodes them where there is one, so
/// that a reader can decode them.
void Planner::keep(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor) const {
  planned.copied = true;
  if (const StoredWeight* source = tensor.stored) {
    stored.codec = source->codec;
    stored.history = source->history;
    stored.lossless = source->lossless;
    stored.components = without_places(components_of(*source), stored.asked.compress.method);
    return;
  }
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
  planned.lossless =
      codec.info().stores_exactly(value_dtype(*planned.source_codec)) && !tensor.scale;
  stored.lossless = planned.lossless;
  if (const StoredWeight* source = tensor.stored) {
    // What came of the source's values without rounding still is one of them, however it is stored.
    stored.lossless =
        source->lossless && !tensor.scale && codec.info().stores_exactly(tensor.weight.dtype);
    stored.history = rounded_so_far(codecs_, *source);
  }
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

void Planner::describe(StoredWeight& stored, const SourceTensor& tensor,
                       const WeightResolution& resolution) const {
  stored.weight = tensor.weight;
  stored.source = tensor.stored != nullptr ? tensor.stored->source : tensor.encoding;
  if (dtype_is_float(tensor.weight.dtype)) stored.compute = resolution.dtype;
  stored.asked = resolution.form;
  stored.scheme = resolution.scheme;
  stored.device = resolution.device;
  if (tensor.stored != nullptr) stored.scale = tensor.stored->scale;
}

void Planner::set_form(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor,
                       const WeightResolution& resolution, const GivenWeight* given) const {
  const PackSource source = pack_source(codecs_, weight_facts(tensor), resolution);
  stored.form =
      given != nullptr && given->form
          ? *given->form
          : resolve_packed_form(resolution.form, source, target_->of(resolution.device)).form;
  // How an artifact's weight came into its encoding stays true where that stays.
  if (planned.copied && tensor.stored != nullptr)
    stored.form.encoding = tensor.stored->form.encoding;
  for (StoredComponent& component : stored.components) component.order = stored.form.order;
  const Order order = tensor.stored != nullptr ? tensor.stored->form.order : Order::rows1;
  if (planned.copied && stored.form.order != order)
    planned.blocks = source_codec(codecs_, weight_facts(tensor));
}

void Planner::add(std::size_t index, const WeightResolution& resolution, const GivenWeight* given) {
  const SourceTensor& tensor = checkpoint_.tensors()[index];
  if (plan_.gguf && is_key_value_encoding(tensor.encoding)) return;  // it is one again
  PlannedWeight planned;
  planned.tensor = index;
  planned.source = tensor.stored;
  planned.source_bytes = tensor.bytes;
  name_policy(resolution, given, planned);
  planned.warning = resolution.warning;

  StoredWeight stored;
  describe(stored, tensor, resolution);
  stored.decisions = given != nullptr ? given->decisions : decisions_of(resolution);
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
  set_form(planned, stored, tensor, resolution, given);

  if (plan_.gguf) add_for_gguf(planned, tensor, resolution);
  plan_.source_bytes += planned.source_bytes;
  plan_.weights.push_back(std::move(planned));
  contents_.weights.push_back(std::move(stored));
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

void cut_plan(Plan& plan, const Checkpoint& checkpoint, const CodecRegistry& codecs,
              const PlanOptions& options) {
  if (options.max_shard_bytes == 0) return;
  if (plan.gguf)
    plan_gguf_parts(plan, checkpoint, options.max_shard_bytes, options.name);
  else
    plan_shards(plan, checkpoint, codecs, options.max_shard_bytes, options.name);
}

}  // namespace synps
