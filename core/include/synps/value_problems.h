#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "synps/codec.h"
#include "synps/error.h"
#include "synps/weight.h"

namespace synps {

/// What must be refused of the values that `codec` met in a weight: NaN and infinities it cannot
/// store, always; finite values that became infinite, unless they are allowed. Nothing when there
/// is neither. Of code checkpoint, without file and offset.
std::optional<Problem> value_problem(const Weight& weight, const Codec& codec,
                                     const ValueReport& values, bool allow_overflow);

/// Reports finite f64 values that became infinite in f32, and non-zero ones that became zero. The
/// codec that decodes them has no way to say so. `bytes` are those of `values`.
void report_narrowing(std::span<const std::byte> bytes, std::span<const float> values,
                      std::uint64_t first_element, ValueReport& report);

/// The f64 number of eight bytes, the lowest first.
double load_f64(const std::byte* bytes) noexcept;

/// "NaN", "-infinity", or the shortest text that reads back as the same value.
std::string value_text(double value);

/// "7 [1, 3]": a flat index, and for rank 2 and up the index in every dimension.
std::string element_text(const Shape& shape, std::uint64_t index);

}  // namespace synps
