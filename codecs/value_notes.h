#pragma once

#include <cstdint>
#include <span>

#include "float_bits.h"
#include "synps/codec.h"

namespace synps {

/// Notes every NaN and infinity; values[0] is element `first` of the weight.
inline void note_non_finite(std::span<const float> values, std::uint64_t first,
                            ValueReport& report) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (!f32_is_finite(values[i])) report.non_finite.add(first + i, values[i]);
}

/// Notes every finite value but zero: a scale that is 0 loses them all.
inline void note_underflow(std::span<const float> values, std::uint64_t first,
                           ValueReport& report) {
  for (std::size_t i = 0; i < values.size(); ++i)
    if (values[i] != 0 && f32_is_finite(values[i])) report.underflow.add(first + i, values[i]);
}

}  // namespace synps
