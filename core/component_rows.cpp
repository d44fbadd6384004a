#include "synps/component_rows.h"

#include <algorithm>
#include <cstring>

namespace synps {

RowBlocks row_blocks(const Codec& codec, const StoredWeight& weight, std::size_t component) {
  const Shape& shape = weight.weight.shape;
  RowBlocks blocks;
  blocks.rows = shape.rows();
  blocks.row_bytes = codec.row_bytes(component, shape.columns());
  blocks.block_bytes = codec.block_bytes(component);
  const bool has_blocks = blocks.block_bytes != 0 && blocks.row_bytes % blocks.block_bytes == 0;
  if (!has_blocks) blocks.block_bytes = std::max<std::uint64_t>(1, blocks.row_bytes);
  return blocks;
}

RowBytesRange bytes_of_rows(const RowBlocks& shape, Order order, std::uint64_t first,
                            std::uint64_t count) noexcept {
  std::uint64_t end = first + count;
  if (order == Order::rows8 && count != 0) {
    const std::uint64_t in_groups = shape.rows / kOrderRows * kOrderRows;
    if (first < in_groups) first = first / kOrderRows * kOrderRows;
    if (end < in_groups) end = (end + kOrderRows - 1) / kOrderRows * kOrderRows;
  }
  return {first * shape.row_bytes, end * shape.row_bytes};
}

ColumnRange whole_columns(ColumnRange wanted, std::uint64_t columns,
                          std::uint64_t granule) noexcept {
  if (granule == 0) return {0, columns};
  const std::uint64_t over = wanted.end % granule;
  const std::uint64_t more = over == 0 ? 0 : granule - over;
  return {wanted.begin / granule * granule, wanted.end + std::min(columns - wanted.end, more)};
}

void ComponentRows::read(const StoredWeight& weight, const StoredComponent& component,
                         const RowBlocks& shape, std::uint64_t offset, std::span<std::byte> out) {
  // Rows behind the last group are stored as they are.
  const std::uint64_t in_groups =
      component.order == Order::rows8 ? shape.rows / kOrderRows * kOrderRows * shape.row_bytes : 0;
  if (component_ != &component) held_size_ = 0;
  weight_ = &weight;
  component_ = &component;
  shape_ = shape;
  wanted_end_ = offset + out.size();
  while (!out.empty() && offset < in_groups) {
    const std::uint64_t begin = offset % shape.row_bytes;
    const auto part = out.first(std::min<std::uint64_t>(out.size(), shape.row_bytes - begin));
    read_row(offset / shape.row_bytes, begin, part);
    offset += part.size();
    out = out.subspan(part.size());
  }
  if (!out.empty()) reader_.read(weight, component, offset, out);
}

/// Bytes from `begin` of a row in a group of rows8.
void ComponentRows::read_row(std::uint64_t row, std::uint64_t begin, std::span<std::byte> out) {
  const std::uint64_t block_bytes = shape_.block_bytes;
  const std::uint64_t column_bytes = kOrderRows * block_bytes;  // of a block column
  const std::uint64_t group = row / kOrderRows * kOrderRows * shape_.row_bytes;
  const std::uint64_t in_group = row % kOrderRows * block_bytes;
  while (!out.empty()) {
    const std::uint64_t block = begin / block_bytes;
    const std::uint64_t in_block = begin % block_bytes;
    hold(group + block * column_bytes, column_bytes);
    const auto part = out.first(std::min<std::uint64_t>(out.size(), block_bytes - in_block));
    const std::uint64_t at = group + block * column_bytes + in_group + in_block;
    std::memcpy(part.data(), held_.data() + (at - held_begin_), part.size());
    begin += part.size();
    out = out.subspan(part.size());
  }
}

/// Sees to it that bytes [begin, begin + size), a block column, are held, and with them as many as
/// there is room for: of the group, where it is large, else of the groups that are wanted.
void ComponentRows::hold(std::uint64_t begin, std::uint64_t size) {
  if (begin >= held_begin_ && begin - held_begin_ < held_size_) return;
  const std::uint64_t group_bytes = kOrderRows * shape_.row_bytes;
  const std::uint64_t group = begin / group_bytes;
  if (group_bytes <= kRowGroupBuffer) {
    begin = group * group_bytes;
    const std::uint64_t groups = std::min((wanted_end_ - 1) / group_bytes + 1,
                                          shape_.rows / kOrderRows);  // not the rows behind them
    size = std::min(groups - group, kRowGroupBuffer / group_bytes) * group_bytes;
  } else {
    const std::uint64_t left = (group + 1) * group_bytes - begin;
    size = std::max(size, std::min(left, kRowGroupBuffer / size * size));
  }
  held_size_ = 0;
  if (held_.size() < size) held_.resize(size);
  reader_.read(*weight_, *component_, begin, std::span(held_).first(size));
  held_begin_ = begin;
  held_size_ = size;
}

}  // namespace synps
