#pragma once

#include <cstdint>

#include "synps/codec.h"

namespace synps {

/// A step of encoding a weight into the order rows8: so many rows, whole groups, are encoded as
/// rows1 into a stage, and go from there into their order.
struct Rows8Step {
  std::uint64_t rows = 0;     ///< a multiple of eight
  std::uint64_t columns = 0;  ///< of a piece: the row, or where eight rows are more than a piece
                              ///< may have and the codec cuts rows, a part of it
};

/// Memory of a step does not grow with rows that the codec can cut. `granule` is its row_granule().
Rows8Step rows8_step(const Weight& weight, std::uint64_t granule) noexcept;

}  // namespace synps
