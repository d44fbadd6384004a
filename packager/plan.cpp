#include "synps/plan.h"

#include <utility>

#include "planner.h"
#include "policy_plan.h"
#include "synps/checkpoint_findings.h"
#include "synps/error.h"

namespace synps {
namespace {

/// What the policy says of values that are not constants. Their paths are nowhere in a checkpoint,
/// so a runtime that allocates them gets the patterns.
std::vector<ValueScheme> value_schemes(const Policy& policy) {
  std::vector<ValueScheme> values;
  for (const PolicyValueScheme& each : policy.value_schemes())
    values.push_back({each.policy->pattern.text(), each.scheme->scheme});
  return values;
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
  WeightFacts facts{tensor.weight, tensor.encoding, tensor.bytes};
  if (tensor.stored != nullptr) {
    facts.declared = true;
    facts.order = tensor.stored->form.order;
  }
  return facts;
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
       .found = checkpoint.artifact() != nullptr
                    ? "an artifact"
                    : "safetensors: names of tensors, permutations, metadata and tokenizer differ "
                      "by architecture, which is a converter's job",
       .hint =
           checkpoint.artifact() != nullptr
               ? "pack the GGUF checkpoint that it was made of"
               : "convert it with llama.cpp's convert_hf_to_gguf.py --outtype f16 or bf16, then "
                 "pack what that writes"});
}

std::vector<WeightResolution> resolve_all(const Checkpoint& checkpoint, const Policy& policy,
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

Plan plan_resolved(const Checkpoint& checkpoint, const Policy& policy,
                   std::vector<WeightResolution> resolutions, std::vector<GivenWeight> given,
                   const PlanOptions& options) {
  std::vector<Problem> warnings = scale_warnings(checkpoint, resolutions);
  Planner planner(checkpoint, policy.codecs(), value_schemes(policy), options);
  for (std::size_t i = 0; i < resolutions.size(); ++i) {
    const auto weight = checkpoint.tensors()[i].scale_of;
    if (!weight || planner.keeps(*weight, resolutions[*weight]))
      planner.add(i, resolutions[i], given.empty() ? nullptr : &given[i]);
  }
  given = {};
  resolutions = {};  // as large as the plan, and done with before the layout needs memory
  Plan plan = planner.finish();
  plan.warnings = std::move(warnings);
  cut_plan(plan, checkpoint, policy.codecs(), options);
  return plan;
}

Plan make_plan(const Checkpoint& checkpoint, const Policy& policy, const PlanOptions& options) {
  check_output_kind(checkpoint, options.output);
  return plan_resolved(checkpoint, policy, resolve_all(checkpoint, policy, options), {}, options);
}

}  // namespace synps
