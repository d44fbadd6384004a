#pragma once

#include <cstdint>
#include <span>

#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/component_rows.h"

namespace synps {

/// The rows of a component that has bytes for each. Throws Error(package) when the codec's sizes
/// are not those of `bytes` bytes: a package may answer otherwise than it did when the artifact was
/// opened.
RowBlocks checked_row_blocks(const Codec& codec, const StoredWeight& weight, std::size_t component,
                             std::uint64_t bytes);

/// Decodes rows of a weight whose components are in memory, whole and in `order`; where that is not
/// rows1, through a buffer of some rows. `out` has their values. Throws as checked_row_blocks().
void decode_rows(const Codec& codec, const StoredWeight& weight, Order order,
                 std::span<const std::span<const std::byte>> components, std::uint64_t first_row,
                 std::uint64_t rows, std::span<float> out);

}  // namespace synps
