#pragma once

#include <algorithm>
#include <cstdint>

#include "storage_rows.h"
#include "synps/row_order.h"
#include "synps/shape.h"

namespace synps {

/// Elements that are converted at a time, where the codec can cut there: 512 KiB of f32 values.
inline constexpr std::uint64_t kStepElements = 1u << 17;

/// Rows, and columns of a row, that are converted at a time.
struct StepSize {
  std::uint64_t rows = 0;     ///< a multiple of `group`
  std::uint64_t columns = 0;  ///< all, or a multiple of the granule
};

/// Steps over rows that lie in groups of `group` (1, or kOrderRows for the order rows8). `granule`
/// is the codec's row_granule(). Memory of a step does not grow with rows that can be cut.
inline StepSize step_size(const Shape& shape, std::uint64_t granule, std::uint64_t group) noexcept {
  const std::uint64_t columns = std::max<std::uint64_t>(1, shape.columns());
  const std::uint64_t of_row = kStepElements / group;
  if (granule == 0 || columns <= std::max(of_row, granule))
    return {std::max<std::uint64_t>(1, of_row / columns) * group, columns};
  return {group, std::max(granule, of_row / granule * granule)};
}

/// Calls `step(part, group)` for rows [first, last) in sequence; of a group's rows, column range by
/// column range. What follows the last whole group has group 1. A part has some rows, and all
/// columns or a part of them.
template <typename Body>
void for_each_step(const Shape& shape, std::uint64_t granule, std::uint64_t group,
                   std::uint64_t first, std::uint64_t last, Body&& step) {
  const std::uint64_t in_groups = first + (last - first) / group * group;
  const StepSize size = step_size(shape, granule, group);
  for (std::uint64_t row = first; row < in_groups;) {
    const std::uint64_t rows = std::min(size.rows, in_groups - row);
    for (std::uint64_t column = 0; column < shape.columns(); column += size.columns)
      step(RowPart{row, rows, column, std::min(size.columns, shape.columns() - column)}, group);
    row += rows;
  }
  if (in_groups < last) for_each_step(shape, granule, 1, in_groups, last, step);
}

/// Calls `body(part, offset)` for the parts of a step that codecs take: all rows at once where they
/// are whole, else each of them. `offset` is that of its first element in the step.
template <typename Body>
void for_each_piece(const Shape& shape, const RowPart& step, Body&& body) {
  if (step.columns == shape.columns()) return body(step, std::uint64_t{0});
  for (std::uint64_t row = 0; row < step.rows; ++row)
    body(RowPart{step.first_row + row, 1, step.first_column, step.columns}, row * step.columns);
}

}  // namespace synps
