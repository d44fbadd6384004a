#include "synps/row_order.h"

#include <algorithm>
#include <cassert>
#include <cstring>

namespace synps {
namespace {

/// Where block `block` of row `row` lies in rows8.
std::uint64_t place_in_rows8(const RowBlocks& shape, std::uint64_t row, std::uint64_t block) {
  const std::uint64_t in_groups = shape.rows / kOrderRows * kOrderRows;
  if (row >= in_groups) return row * shape.row_bytes + block * shape.block_bytes;
  const std::uint64_t in_group = row % kOrderRows;
  return (row - in_group) * shape.row_bytes + (block * kOrderRows + in_group) * shape.block_bytes;
}

/// Copies one row's blocks out of where they lie `stride` bytes apart.
void copy_blocks(const std::byte* from, std::uint64_t stride, std::uint64_t block_bytes,
                 std::uint64_t blocks, std::byte* to) {
  for (std::uint64_t b = 0; b < blocks; ++b)
    std::memcpy(to + b * block_bytes, from + b * stride, block_bytes);
}

void check(const RowBlocks& shape, std::size_t from, std::size_t to) {
  assert(shape.block_bytes != 0 && shape.row_bytes % shape.block_bytes == 0);
  assert(from == shape.rows * shape.row_bytes && to == from);
  static_cast<void>(shape), static_cast<void>(from), static_cast<void>(to);
}

}  // namespace

bool can_be_rows8(const Codec& codec, const Weight& weight) {
  if (weight.shape.rank() != 2 || weight.shape.rows() < kOrderRows) return false;
  const std::uint64_t columns = weight.shape.columns();
  const std::size_t components = codec.components(weight).size();
  bool moves = false;
  for (std::size_t c = 0; c < components; ++c) {
    const std::uint64_t block = codec.block_bytes(c);
    const std::uint64_t row = codec.row_bytes(c, columns);
    if (block == 0 || row % block != 0) return false;
    moves = moves || row > block;
  }
  return moves;
}

void rows8_from_rows1(const RowBlocks& shape, std::span<const std::byte> from,
                      std::span<std::byte> to) {
  check(shape, from.size(), to.size());
  const std::uint64_t blocks = shape.row_bytes / shape.block_bytes;
  const std::uint64_t group_bytes = kOrderRows * shape.row_bytes;
  const std::uint64_t in_groups = shape.rows / kOrderRows * group_bytes;
  for (std::uint64_t group = 0; group < in_groups; group += group_bytes) {
    std::byte* out = to.data() + group;
    for (std::uint64_t b = 0; b < blocks; ++b)
      for (std::uint64_t r = 0; r < kOrderRows; ++r, out += shape.block_bytes)
        std::memcpy(out, from.data() + group + r * shape.row_bytes + b * shape.block_bytes,
                    shape.block_bytes);
  }
  if (in_groups < from.size())
    std::memcpy(to.data() + in_groups, from.data() + in_groups, from.size() - in_groups);
}

void rows1_from_rows8(const RowBlocks& shape, std::span<const std::byte> from,
                      std::span<std::byte> to) {
  check(shape, from.size(), to.size());
  const std::uint64_t blocks = shape.row_bytes / shape.block_bytes;
  copy_as_rows1(shape, Order::rows8, from, {0, shape.rows, 0, blocks}, to);
}

void copy_as_rows1(const RowBlocks& shape, Order order, std::span<const std::byte> from,
                   const BlockRange& range, std::span<std::byte> to) {
  assert(from.size() == shape.rows * shape.row_bytes);
  assert(to.size() == range.rows * range.blocks * shape.block_bytes);
  const std::uint64_t in_groups = order == Order::rows8 ? shape.rows / kOrderRows * kOrderRows : 0;
  const std::uint64_t bytes = range.blocks * shape.block_bytes;
  if (bytes == 0) return;
  for (std::uint64_t r = 0; r < range.rows; ++r) {
    const std::uint64_t row = range.first_row + r;
    std::byte* out = to.data() + r * bytes;
    if (row < in_groups)
      copy_blocks(from.data() + place_in_rows8(shape, row, range.first_block),
                  kOrderRows * shape.block_bytes, shape.block_bytes, range.blocks, out);
    else
      std::memcpy(out, from.data() + row * shape.row_bytes + range.first_block * shape.block_bytes,
                  bytes);
  }
}

}  // namespace synps
