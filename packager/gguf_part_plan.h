#pragma once

#include <cstdint>
#include <string>

#include "synps/plan.h"

namespace synps {

/// Cuts the plan of a GGUF output into parts of at most `limit` bytes, where it is larger, as
/// llama.cpp's gguf-split does: tensors in their order, as many in each part as fit; the key-values
/// in the first; in each part `split.no`, `split.count` and `split.tensors.count`, and the
/// alignment where the checkpoint gives one. `name` is the output's file name. Throws Error(limit)
/// for more parts or tensors than these keys can count, Error(usage) for a name that no part can
/// have.
void plan_gguf_parts(Plan& plan, const Checkpoint& checkpoint, std::uint64_t limit,
                     const std::string& name);

}  // namespace synps
