#include "pieces.h"

#include <algorithm>

#include <fmt/format.h>

#include "synps/checked.h"
#include "synps/codec_package.h"

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

std::uint64_t largest_piece(const Weight& weight, std::uint64_t unit, std::uint64_t granule) {
  return unit == 0 ? 0 : next_piece(weight, 0, unit, granule).elements();
}

void throw_size_fault(const Codec& codec, const StoredWeight& weight, std::size_t component) {
  const Component& stored = weight.components[component].component;
  throw_codec_fault(codec.info(), weight.weight.path,
                    fmt::format("row_bytes contradicts the size of component {}", stored.name), {},
                    fmt::format("{} bytes in all", stored.bytes));
}

ByteRange piece_bytes(const Codec& codec, const StoredWeight& weight, std::size_t component,
                      const Piece& piece) {
  const std::uint64_t columns = piece.weight->shape.columns();
  const std::uint64_t row = piece.first_element / columns;
  const std::uint64_t column = piece.first_element % columns;
  const std::uint64_t row_bytes = codec.row_bytes(component, columns);
  const std::uint64_t bytes = weight.components[component].component.bytes;
  if (checked_mul(row_bytes, piece.weight->shape.rows()) != bytes)
    throw_size_fault(codec, weight, component);
  if (piece.columns == columns) return {row * row_bytes, piece.rows * row_bytes};
  const std::uint64_t before = column == 0 ? 0 : codec.row_bytes(component, column);
  if (before > row_bytes) throw_size_fault(codec, weight, component);
  const std::uint64_t size = piece_size(codec, weight, component, piece, row_bytes - before);
  if (column + piece.columns == columns && size != row_bytes - before)
    throw_size_fault(codec, weight, component);
  return {row * row_bytes + before, size};
}

std::uint64_t piece_size(const Codec& codec, const StoredWeight& weight, std::size_t component,
                         const Piece& piece, std::uint64_t left) {
  const auto size = checked_mul(piece.rows, codec.row_bytes(component, piece.columns));
  if (!size || *size > left) throw_size_fault(codec, weight, component);
  return *size;
}

std::uint64_t unit_elements(const StoredWeight& weight, const Codec& codec) {
  return unit_elements(weight, codec.row_granule(),
                       vector_row(codec, weight.weight.shape.elements()));
}

std::uint64_t units_of_elements(const StoredWeight& weight, const Codec& codec) {
  const std::uint64_t elements = weight.weight.shape.elements();
  const std::uint64_t unit = unit_elements(weight, codec);
  return elements / unit + (elements % unit != 0 ? 1 : 0);
}

std::uint64_t unit_byte(const StoredWeight& weight, const Codec& codec, std::size_t component,
                        std::uint64_t at) {
  const Shape& shape = weight.weight.shape;
  const StoredComponent& stored = weight.components[component];
  if (at == shape.elements()) return stored.component.bytes;
  const std::uint64_t row =
      shape.rank() < 2 ? vector_row(codec, shape.elements()) : shape.columns();
  const std::uint64_t byte = at / row * (stored.chunk_bytes / stored.chunk_rows);
  if (byte > stored.component.bytes) throw_size_fault(codec, weight, component);
  return byte;
}

std::uint64_t unit_elements(const StoredWeight& weight, std::uint64_t granule,
                            std::uint64_t vector_row) {
  const Shape& shape = weight.weight.shape;
  const bool vector = shape.rank() <= 1;
  if (vector && (granule == 0 || vector_row % granule != 0)) return shape.elements();
  const std::uint64_t row = vector ? vector_row : shape.columns();
  const auto first = std::find_if(weight.components.begin(), weight.components.end(),
                                  [](const auto& stored) { return !stored.component.per_weight; });
  // Saturates: a chunk may be longer than its weight.
  const auto elements = checked_mul(first->chunk_rows, row);
  return std::clamp<std::uint64_t>(elements.value_or(shape.elements()), 1, shape.elements());
}

}  // namespace synps
