#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/codec.h"
#include "synps/component_reader.h"
#include "synps/row_order.h"

namespace synps {

/// The rows of a stored component, and their blocks: the codec's; where it has none, the row is
/// one. The components are what component_fault() accepts.
RowBlocks row_blocks(const Codec& codec, const StoredWeight& weight, std::size_t component);

/// The bytes that hold rows [first, first + count) of a component, in whichever order: a range that
/// begins and ends with a group of rows8, or with the rows.
struct RowBytesRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const noexcept { return end - begin; }
};
RowBytesRange bytes_of_rows(const RowBlocks& shape, Order order, std::uint64_t first,
                            std::uint64_t count) noexcept;

/// Columns [begin, end) of a row.
struct ColumnRange {
  std::uint64_t begin = 0;
  std::uint64_t end = 0;

  std::uint64_t size() const noexcept { return end - begin; }
};
/// The columns, and as many beside them as end where a codec of that row_granule() cuts a row of
/// `columns`: at its multiples; of 0, nowhere.
ColumnRange whole_columns(ColumnRange wanted, std::uint64_t columns,
                          std::uint64_t granule) noexcept;

/// Bytes that a ComponentRows keeps for components that are not rows1.
inline constexpr std::uint64_t kRowGroupBuffer = 1u << 20;

/// Reads components as rows1, whatever order they are stored in, in bounded memory and fastest in
/// rising order. Digests are not compared. For one thread.
class ComponentRows {
 public:
  /// `artifact` outlives the reader.
  explicit ComponentRows(const ArtifactReader& artifact) : reader_(artifact) {}

  /// Goes on with another artifact, which outlives the reader.
  void read_from(const ArtifactReader& artifact) noexcept {
    if (reader_.read_from(artifact)) component_ = nullptr;
  }

  /// Fills `out` with bytes from `offset` of what the component is in rows1. Throws as
  /// ComponentReader::read().
  void read(const StoredWeight& weight, const StoredComponent& component, const RowBlocks& shape,
            std::uint64_t offset, std::span<std::byte> out);

  /// The same of the true bytes in the order in which they are stored.
  void read_as_stored(const StoredWeight& weight, const StoredComponent& component,
                      std::uint64_t offset, std::span<std::byte> out) {
    reader_.read(weight, component, offset, out);
  }

 private:
  void read_row(std::uint64_t row, std::uint64_t begin, std::span<std::byte> out);
  void hold(std::uint64_t begin, std::uint64_t size);

  ComponentReader reader_;
  const StoredWeight* weight_ = nullptr;
  const StoredComponent* component_ = nullptr;  ///< whose bytes are held; null: none
  RowBlocks shape_;
  std::uint64_t wanted_end_ = 0;  ///< of the present read, in rows1
  std::vector<std::byte> held_;   ///< grows to kRowGroupBuffer, or to eight blocks that are larger
  std::uint64_t held_begin_ = 0;
  std::uint64_t held_size_ = 0;
};

}  // namespace synps
