#pragma once

#include <optional>

#include "synps/checkpoint.h"
#include "synps/codec.h"
#include "synps/value_problems.h"

namespace synps {

/// value_problem() with its place in the checkpoint, and what to do about it.
std::optional<Problem> value_problem(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                     const Codec& codec, const ValueReport& values,
                                     bool allow_overflow);

}  // namespace synps
