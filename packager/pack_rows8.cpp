// The part of PackWorker that stores weights in the order rows8.

#include "pack_rows8.h"

#include <algorithm>

#include "pack_worker.h"
#include "synps/row_order.h"

namespace synps {

Rows8Step rows8_step(const Weight& weight, std::uint64_t granule) noexcept {
  const std::uint64_t columns = weight.shape.columns();
  constexpr std::uint64_t kElementsOfRow = kPieceElements / kOrderRows;
  if (granule == 0 || columns <= std::max(kElementsOfRow, granule))
    return {std::max<std::uint64_t>(1, kElementsOfRow / columns) * kOrderRows, columns};
  return {kOrderRows, std::max(granule, kElementsOfRow / granule * granule)};
}

void PackWorker::encode_rows8(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                              const Analysis* analysis, ValueReport& values) {
  const Weight& weight = target_.plan.stored(planned).weight;
  const std::uint64_t columns = weight.shape.columns();
  const Rows8Step step = rows8_step(weight, planned.codec->row_granule());
  std::uint64_t row = begin / columns;  // a unit begins with a group
  const std::uint64_t last = row + (end / columns - row) / kOrderRows * kOrderRows;
  while (row < last) {
    const std::uint64_t rows = std::min(step.rows, last - row);
    for (std::uint64_t column = 0; column < columns; column += step.columns) {
      const std::uint64_t width = std::min(step.columns, columns - column);
      encode_step(planned, {&weight, row * columns + column, rows, width}, analysis, values);
    }
    row += rows;
  }
  encode_rows1(planned, row * columns, end, analysis, values);
}

/// Encodes the same columns of some rows: whole groups, whose bytes are the next of every window.
void PackWorker::encode_step(const PlannedWeight& planned, const Piece& step,
                             const Analysis* analysis, ValueReport& values) {
  const StoredWeight& stored = target_.plan.stored(planned);
  const Codec& codec = *planned.codec;
  const std::uint64_t columns = stored.weight.shape.columns();
  stage_.assign(stored.components.size(), {});
  std::uint64_t size = 0;
  for (std::size_t c = 0; c < stage_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    const std::uint64_t bytes = piece_size(codec, stored, c, step, windows_[c].left());
    if (bytes > windows_[c].capacity()) throw_size_fault(codec, stored, c);
    size += bytes;
  }
  std::span<std::byte> free = stage_memory_.take(size);
  for (std::size_t c = 0; c < stage_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    stage_[c] = free.first(piece_size(codec, stored, c, step, free.size()));
    free = free.subspan(stage_[c].size());
  }
  stage_left_ = stage_;
  for (std::uint64_t row = 0; row < step.rows;) {
    Piece piece = step;
    piece.first_element = step.first_element + row * columns;
    piece.rows = 1;
    if (step.columns == columns)
      piece = next_piece(stored.weight, piece.first_element,
                         step.first_element + step.rows * columns, codec.row_granule());
    encode_staged(planned, piece, analysis, values);
    row += piece.rows;
  }
  const Stopwatch watch(time_ != nullptr ? &time_->relayout : nullptr);
  for (std::size_t c = 0; c < stage_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    rows8_from_rows1({step.rows, stage_[c].size() / step.rows, codec.block_bytes(c)}, stage_[c],
                     windows_[c].take(stage_[c].size()));
  }
}

/// Encodes a piece to the next bytes of the stage.
void PackWorker::encode_staged(const PlannedWeight& planned, const Piece& piece,
                               const Analysis* analysis, ValueReport& values) {
  const StoredWeight& stored = target_.plan.stored(planned);
  const std::span<const float> read = read_piece(planned, piece, values);
  for (std::size_t c = 0; c < out_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    std::span<std::byte>& left = stage_left_[c];
    out_[c] = left.first(piece_size(*planned.codec, stored, c, piece, left.size()));
    left = left.subspan(out_[c].size());
  }
  encode_values(*planned.codec, piece, read, analysis, values);
  target_.progress.advance(target_.checkpoint.tensors()[planned.tensor].bytes_of(piece.elements()));
}

void PackWorker::copy_rows8(const Copied& copied, std::uint64_t begin, std::uint64_t end) {
  const StoredWeight& stored = target_.plan.stored(copied.planned);
  const std::uint64_t row_bytes =
      stored.components[copied.component].component.bytes / stored.weight.shape.rows();
  const std::uint64_t block_bytes = copied.planned.blocks->block_bytes(copied.component);
  const std::uint64_t group = kOrderRows * row_bytes;
  const std::uint64_t last = begin + (end - begin) / group * group;
  // Whole groups, or where one is too large, block columns of one at a time.
  const std::uint64_t groups = std::max<std::uint64_t>(1, kCopyBytes / group);
  const std::uint64_t blocks =
      group <= kCopyBytes ? row_bytes / block_bytes
                          : std::max<std::uint64_t>(1, kCopyBytes / (kOrderRows * block_bytes));
  for (std::uint64_t at = begin; at < last;) {
    const std::uint64_t rows = std::min(groups, (last - at) / group) * kOrderRows;
    for (std::uint64_t byte = 0; byte < row_bytes; byte += blocks * block_bytes) {
      const std::uint64_t part = std::min(blocks * block_bytes, row_bytes - byte);
      copy_columns(copied, {rows, part, block_bytes}, at + byte, row_bytes, at + byte * kOrderRows);
    }
    at += rows * row_bytes;
  }
  move_bytes(copied, last, end);
}

/// Copies block columns of some rows, whole groups, which begin at `from` in the source and follow
/// each other there by `row_bytes`, to `to` in the component.
void PackWorker::copy_columns(const Copied& copied, const RowBlocks& columns, std::uint64_t from,
                              std::uint64_t row_bytes, std::uint64_t to) {
  const std::uint64_t size = columns.rows * columns.row_bytes;
  const std::span<std::byte> rows1 = source_.buffer().take(size);
  if (columns.row_bytes == row_bytes)
    read_bytes(copied, from, rows1);
  else
    for (std::uint64_t r = 0; r < columns.rows; ++r)
      read_bytes(copied, from + r * row_bytes,
                 rows1.subspan(r * columns.row_bytes, columns.row_bytes));
  const std::span<std::byte> rows8 = stage_memory_.take(size);
  rows8_from_rows1(columns, rows1, rows8);
  copied_.update(rows8);
  target_.writer.write(copied.planned.stored, copied.component, to, rows8);
  target_.progress.advance(size);
}

}  // namespace synps
