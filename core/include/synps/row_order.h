#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "synps/codec.h"
#include "synps/form.h"

namespace synps {

// The order `rows8`: rows in groups of eight, and in a group block column by block column the
// blocks of its eight rows, in the sequence of the rows. Nothing changes inside a block. The last
// rows % 8 rows follow the groups as in `rows1`. So a component keeps its size, a group lies where
// its rows lie in `rows1`, and the two orders are the same bytes where there are fewer than eight
// rows or one block a row.

inline constexpr std::uint64_t kOrderRows = 8;

/// The rows of a component, and the blocks that they are made of.
struct RowBlocks {
  std::uint64_t rows = 0;
  std::uint64_t row_bytes = 0;    ///< a multiple of block_bytes
  std::uint64_t block_bytes = 0;  ///< not 0
};

/// A part of a component's rows: blocks [first_block, first_block + blocks) of each of them.
struct BlockRange {
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
  std::uint64_t first_block = 0;
  std::uint64_t blocks = 0;
};

/// Whether a codec's weight is labelled `rows8` when it is asked for: matrices of eight rows or
/// more, with more than one block a row, of a codec that has blocks. Everything else stays `rows1`,
/// which then is the same bytes, or which no kernel reads otherwise.
bool can_be_rows8(const Codec& codec, const Weight& weight);

/// rows1 to rows8. Both have rows × row_bytes bytes and do not overlap. A slab of a component that
/// begins with a group may be done alone, as a component of its own, if it ends with one or with
/// the last row.
void rows8_from_rows1(const RowBlocks& shape, std::span<const std::byte> from,
                      std::span<std::byte> to);
/// rows8 to rows1, likewise.
void rows1_from_rows8(const RowBlocks& shape, std::span<const std::byte> from,
                      std::span<std::byte> to);

/// Copies a part of a component (`from`, all of it, in `order`) to `to`, as rows1:
/// range.rows × range.blocks × block_bytes bytes. The range lies within the rows.
void copy_as_rows1(const RowBlocks& shape, Order order, std::span<const std::byte> from,
                   const BlockRange& range, std::span<std::byte> to);

}  // namespace synps
