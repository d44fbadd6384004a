#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/row_order.h"

namespace synps {

/// How the rows of a weight's component lie in its bytes. Of a component that has one value set a
/// weight: no bytes a row. Throws Error(package) when the codec now says something else than when
/// the artifact was opened.
RowBlocks checked_rows(const Codec& codec, const StoredWeight& weight, std::size_t component);

/// Whether the orders rows1 and rows8 differ for such rows.
bool moves_blocks(const RowBlocks& shape) noexcept;

/// Some rows of a component, as they are stored: all of it, or whole groups of eight rows of it, or
/// what follows them.
struct RowSlab {
  RowBlocks shape{};  ///< of the slab
  std::uint64_t first_row = 0;
  std::span<const std::byte> bytes{};
};

/// All rows of a weight. `components` are all of its true bytes.
std::vector<RowSlab> whole_slabs(const Codec& codec, const StoredWeight& weight,
                                 std::span<const std::span<const std::byte>> components);

/// The rows of chunk `chunk` of a component. `bytes` are those of the chunk, with or without
/// padding; `whole` are the component's rows. Throws Error(artifact), naming `file`, when the
/// chunks of the index are no whole groups of rows.
RowSlab slab_of_chunk(const std::string& file, const StoredWeight& weight, std::size_t component,
                      const RowBlocks& whole, std::uint64_t chunk,
                      std::span<const std::byte> bytes);

/// Decodes rows [first, first + count) of a weight, which all slabs (one a component) have, in
/// `order`. `out` has a value for every element. Puts rows8 into order in a buffer of
/// kRowPieceBytes or, if that is more, of a row. Throws Error(package).
void decode_rows(const Codec& codec, const StoredWeight& weight, Order order,
                 std::span<const RowSlab> slabs, std::uint64_t first, std::uint64_t count,
                 std::span<float> out);

}  // namespace synps
