#pragma once

#include <string_view>

#include "synps/checkpoint.h"
#include "synps/plan.h"

namespace synps {

/// Whether a GGUF output may have the key-value otherwise than its source, or only one of them.
bool may_change_in_gguf(std::string_view key) noexcept;

/// Decides alignment, key-values and their changes for a GGUF output whose weights are planned: all
/// but how the checkpoint was cut into files is carried over, and nothing changes but
/// `general.file_type` and `general.quantization_version`, where they would be wrong. Throws
/// Error(checkpoint) for blocks of another version than are known here.
void plan_gguf_keys(const Checkpoint& checkpoint, Plan& plan);

}  // namespace synps
