#pragma once

#include <vector>

#include "synps/checkpoint.h"

namespace synps {

/// Finds modules whose weights are packed in a scheme of another tool, by the names and the dtypes
/// of their tensors together: GPTQ, AWQ, bitsandbytes, compressed-tensors, and FP4 as ModelOpt and
/// gpt-oss publish it. Their tensors get the scheme's name, and each module is a fault. `tensors`
/// are sorted by path.
void find_packed_schemes(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults);

/// What decodes a scheme: "GPTQModel", …
std::string_view tool_for_scheme(std::string_view scheme) noexcept;

}  // namespace synps
