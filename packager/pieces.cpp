#include "pieces.h"

#include <algorithm>

#include "synps/artifact_layout.h"
#include "synps/checked.h"

namespace synps {

Piece next_piece(const Weight& weight, std::uint64_t from, std::uint64_t end,
                 std::uint64_t granule) {
  const std::uint64_t columns = weight.shape.columns();
  const std::uint64_t column = from % columns;
  const std::uint64_t left = end - from;
  const bool whole_rows = granule == 0 || columns <= std::max(kPieceElements, granule);
  if (column == 0 && left >= columns && whole_rows) {
    const std::uint64_t fit = std::max<std::uint64_t>(1, kPieceElements / columns);
    return {&weight, from, std::min(fit, left / columns), columns};
  }
  const std::uint64_t step =
      granule == 0 ? columns : std::max(granule, kPieceElements / granule * granule);
  return {&weight, from, 1, std::min({step, left, columns - column})};
}

ByteRange piece_bytes(const Codec& codec, std::size_t component, const Piece& piece) {
  const std::uint64_t columns = piece.weight->shape.columns();
  const std::uint64_t row = piece.first_element / columns;
  const std::uint64_t column = piece.first_element % columns;
  // No product can wrap: the component's size has been computed with checks.
  std::uint64_t begin = row * codec.row_bytes(component, columns);
  if (column != 0) begin += codec.row_bytes(component, column);
  return {begin, piece.rows * codec.row_bytes(component, piece.columns)};
}

std::uint64_t unit_elements(const StoredWeight& weight, std::uint64_t granule) {
  const Shape& shape = weight.weight.shape;
  const bool vector = shape.rank() <= 1;
  if (vector && (granule == 0 || kVectorRow % granule != 0)) return shape.elements();
  const std::uint64_t row = vector ? kVectorRow : shape.columns();
  const auto first = std::find_if(weight.components.begin(), weight.components.end(),
                                  [](const auto& stored) { return !stored.component.per_weight; });
  // Saturates: a chunk may be longer than its weight.
  const auto elements = checked_mul(first->chunk_rows, row);
  return std::clamp<std::uint64_t>(elements.value_or(shape.elements()), 1, shape.elements());
}

}  // namespace synps
