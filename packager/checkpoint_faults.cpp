#include <fmt/format.h>

#include <map>
#include <utility>

#include "packed_schemes.h"
#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/policy.h"
#include "tensor_names.h"

namespace synps {
namespace {

using Kind = CheckpointFault::Kind;

std::string described(const Weight& weight) {
  return fmt::format("{} {} {}", quote(weight.path), dtype_name(weight.dtype),
                     weight.shape.to_string());
}

/// What stands in the checkpoint for one fault.
std::string found_text(const Checkpoint& checkpoint, const CheckpointFault& fault) {
  std::string text;
  for (const std::size_t i : fault.tensors) {
    if (!text.empty()) text += ", ";
    text += described(checkpoint.tensors()[i].weight);
    if (text.size() < 400) continue;
    text += ", …";
    break;
  }
  return text;
}

/// Shapes of scales that would fit the weight.
std::string fitting_shapes(const Shape& weight) {
  std::string text = "[] for the whole";
  if (weight.rank() < 2) return text;
  std::vector<std::uint64_t> rows = weight.extents();
  rows.back() = 1;
  std::vector<std::uint64_t> blocks = weight.extents();
  for (std::size_t d = blocks.size() - 2; d < blocks.size(); ++d)
    blocks[d] = blocks[d] / kScaleBlock + (blocks[d] % kScaleBlock != 0 ? 1 : 0);
  const auto shape = [](const std::vector<std::uint64_t>& extents) {
    const auto made = Shape::make(extents);
    return made ? made->to_string() : std::string("[…]");
  };
  return text + fmt::format(", {} for rows, or {} for blocks of {}x{}", shape(rows), shape(blocks),
                            kScaleBlock, kScaleBlock);
}

/// "keep" for what the fault is about, as a policy to paste.
std::string keep_hint(std::string_view path) {
  return fmt::format("[[policies.{}.schemes]] with format = \"keep\"",
                     toml_quoted_key(PathPattern::literal(path)));
}

std::string_view module_of(const Checkpoint& checkpoint, const CheckpointFault& fault) {
  std::string_view module =
      name_parts(checkpoint.tensors()[fault.tensors.front()].weight.path).module;
  if (module.ends_with('.')) module.remove_suffix(1);
  return module;
}

/// What a fault is about: a module where its values are packed, else the scale.
std::string subject(const Checkpoint& checkpoint, const CheckpointFault& fault) {
  const std::string& path = checkpoint.tensors()[fault.tensors.front()].weight.path;
  if (fault.kind != Kind::packed) return path;
  const std::string module(module_of(checkpoint, fault));
  return module.empty() ? path : module;
}

std::string what_text(const CheckpointFault& fault, std::size_t count, const std::string& example) {
  const bool packed = fault.kind == Kind::packed;
  const std::string_view noun = packed ? "module" : "scale";
  const std::string which =
      count == 1 ? quote(example) : fmt::format("{} {}s, such as {}", count, noun, quote(example));
  switch (fault.kind) {
    case Kind::scale_without_weight:
      return fmt::format("a scale without the weight that it is named after: {}", which);
    case Kind::scale_of_other_dtype:
      return fmt::format("a scale beside a weight that is no 8-bit float: {}", which);
    case Kind::scale_dtype:
      return fmt::format("a scale of a dtype that no scale has: {}", which);
    case Kind::scale_shape:
      return fmt::format("a scale whose shape does not fit its weight: {}", which);
    case Kind::second_scale:
      return fmt::format("a second scale for one weight: {}", which);
    case Kind::packed:
      break;
  }
  return fmt::format("weights packed as {}, which nothing here decodes: {}", fault.scheme, which);
}

void say_what_fits(const Checkpoint& checkpoint, const CheckpointFault& fault, Problem& problem) {
  const auto tensor = [&](std::size_t i) -> const Weight& {
    return checkpoint.tensors()[fault.tensors.at(i)].weight;
  };
  switch (fault.kind) {
    case Kind::scale_without_weight:
      problem.want = "its weight beside it, as F8_E4M3 or F8_E5M2";
      break;
    case Kind::scale_of_other_dtype:
      problem.want = "a weight of F8_E4M3 or F8_E5M2, or no scale";
      break;
    case Kind::scale_dtype:
      problem.want = fmt::format("F32, BF16 or F16, of shape {}", fitting_shapes(tensor(1).shape));
      break;
    case Kind::scale_shape:
      problem.want = fitting_shapes(tensor(1).shape);
      break;
    case Kind::second_scale:
      problem.want = "one scale: nothing tells which of them it is";
      break;
    case Kind::packed:
      problem.hint = fmt::format(
          "decode it with {} first, or keep its tensors as they are: {}; `synps init` "
          "writes a policy that keeps them all",
          tool_for_scheme(fault.scheme), keep_hint(subject(checkpoint, fault)));
      return;
  }
  problem.hint = "repair the checkpoint, or keep the tensors as they are: ";
  problem.hint += keep_hint(tensor(0).path);
  for (std::size_t i = 1; i < fault.tensors.size(); ++i)
    problem.hint +=
        fmt::format("{} {}", i == 1 ? ", and the same for" : " and", quote(tensor(i).path));
}

}  // namespace

std::vector<Problem> fault_problems(const Checkpoint& checkpoint,
                                    const std::vector<const CheckpointFault*>& faults) {
  struct Same {
    const CheckpointFault* first = nullptr;
    std::size_t count = 0;
  };
  std::map<std::pair<Kind, std::string_view>, Same> by_kind;
  for (const CheckpointFault* fault : faults) {
    Same& same = by_kind[{fault->kind, fault->scheme}];
    if (same.count++ == 0) same.first = fault;
  }
  std::vector<Problem> problems;
  for (const auto& [kind, same] : by_kind) {
    const CheckpointFault& fault = *same.first;
    const SourceTensor& tensor = checkpoint.tensors()[fault.tensors.front()];
    Problem& problem = problems.emplace_back();
    problem.code = ErrorCode::checkpoint;
    problem.file = checkpoint.file_of(tensor).path();
    problem.what = what_text(fault, same.count, subject(checkpoint, fault));
    problem.found = found_text(checkpoint, fault);
    say_what_fits(checkpoint, fault, problem);
  }
  return problems;
}

}  // namespace synps
