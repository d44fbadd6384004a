#pragma once

#include <optional>

#include "synps/checkpoint.h"
#include "synps/codec.h"

namespace synps {

/// What must be refused of the values that `codec` met in a tensor: NaN and infinities it cannot
/// store, always; finite values that became infinite, unless they are allowed. Nothing when there
/// is neither.
std::optional<Problem> value_problem(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                     const Codec& codec, const ValueReport& values,
                                     bool allow_overflow);

/// "NaN", "-infinity", or the shortest text that reads back as the same value.
std::string value_text(double value);

/// "7 [1, 3]": a flat index, and for rank 2 and up the index in every dimension.
std::string element_text(const Shape& shape, std::uint64_t index);

}  // namespace synps
