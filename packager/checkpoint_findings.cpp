#include "synps/checkpoint_findings.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstddef>
#include <string>

namespace synps {
namespace {

/// Whether a policy that speaks of a tensor does so by name: one for everything does not.
bool is_named(const WeightResolution& resolution) {
  return std::any_of(resolution.policies.begin(), resolution.policies.end(),
                     [](const PolicyEntry* entry) {
                       const std::string& pattern = entry->pattern.text();
                       return pattern != "*" && pattern != "**" && entry->has_constant_scheme();
                     });
}

std::vector<bool> faulty_tensors(const Checkpoint& checkpoint) {
  std::vector<bool> faulty(checkpoint.tensors().size(), false);
  for (const CheckpointFault& fault : checkpoint.faults())
    for (const std::size_t i : fault.tensors) faulty[i] = true;
  return faulty;
}

/// Whether a tensor is 8-bit floats of a weight; blocks of GGUF have a dtype of their own.
bool is_float8_weight(const SourceTensor& tensor) {
  return is_float8(tensor.weight.dtype) && tensor.packed_as.empty() &&
         tensor.encoding == encoding_name(tensor.weight.dtype) &&
         !is_activation_scale(tensor.weight.path);
}

void warn_of_kept_faults(const Checkpoint& checkpoint,
                         const std::vector<WeightResolution>& resolutions,
                         std::vector<Problem>& warnings) {
  std::vector<const CheckpointFault*> faults;
  for (const CheckpointFault& fault : checkpoint.faults())
    if (fault.kind != CheckpointFault::Kind::packed && lifts(fault, resolutions) &&
        !is_named(resolutions[fault.tensors.front()]))
      faults.push_back(&fault);
  if (faults.empty()) return;
  for (Problem& problem : fault_problems(checkpoint, faults)) {
    problem.hint = "it is kept, but only because the root keeps everything; " + problem.hint;
    warnings.push_back(std::move(problem));
  }
}

void warn_of_missing_scales(const Checkpoint& checkpoint,
                            const std::vector<WeightResolution>& resolutions,
                            std::vector<Problem>& warnings) {
  const std::vector<bool> faulty = faulty_tensors(checkpoint);
  std::size_t scaled = 0;
  std::vector<std::size_t> lacking;
  for (std::size_t i = 0; i < checkpoint.tensors().size(); ++i) {
    const SourceTensor& tensor = checkpoint.tensors()[i];
    if (!is_float8_weight(tensor)) continue;
    if (tensor.scale) ++scaled;
    if (!tensor.scale && !faulty[i] && !resolutions[i].keep) lacking.push_back(i);
  }
  if (scaled == 0 || lacking.empty()) return;
  const SourceTensor& first = checkpoint.tensors()[lacking.front()];
  const std::string path = quote(first.weight.path);
  Problem& problem = warnings.emplace_back();
  problem.code = ErrorCode::checkpoint;
  problem.file = checkpoint.file_of(first).path();
  problem.what = "8-bit floats without a scale, in a checkpoint that has scales: ";
  problem.what +=
      lacking.size() == 1 ? path : fmt::format("{} weights, such as {}", lacking.size(), path);
  problem.found = fmt::format("a scale for {} other{}", scaled, scaled == 1 ? "" : "s");
  problem.hint = fmt::format(
      "if scales were lost, repair the checkpoint: decoded without them the values are wrong; or "
      "keep such weights as they are: [[policies.{}.schemes]] with format = \"keep\"",
      toml_quoted_key(PathPattern::literal(first.weight.path)));
}

}  // namespace

bool lifts(const CheckpointFault& fault, const std::vector<WeightResolution>& resolutions) {
  return std::all_of(fault.tensors.begin(), fault.tensors.end(),
                     [&](std::size_t i) { return resolutions[i].told_to_keep; });
}

std::vector<Problem> faults_left(const Checkpoint& checkpoint,
                                 const std::vector<WeightResolution>& resolutions) {
  std::vector<const CheckpointFault*> faults;
  for (const CheckpointFault& fault : checkpoint.faults())
    if (!lifts(fault, resolutions)) faults.push_back(&fault);
  return fault_problems(checkpoint, faults);
}

std::vector<Problem> scale_warnings(const Checkpoint& checkpoint,
                                    const std::vector<WeightResolution>& resolutions) {
  std::vector<Problem> warnings;
  warn_of_kept_faults(checkpoint, resolutions, warnings);
  warn_of_missing_scales(checkpoint, resolutions, warnings);
  return warnings;
}

}  // namespace synps
