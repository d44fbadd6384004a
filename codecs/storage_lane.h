#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "storage_rows.h"
#include "storage_scale.h"
#include "storage_writer.h"
#include "synps/codec.h"

namespace synps {

/// Converts rows of a weight, one after the other, from one storage to another. For one thread.
class StorageLane {
 public:
  /// What encoding takes besides the rows.
  struct Encoding {
    const StorageScale* scale = nullptr;
    const Analysis* analysis = nullptr;  ///< of the values; null: the codec needs none
  };
  /// Begins with row `first`, where frames are made one that begins a chunk. All outlive the lane.
  StorageLane(const StorageState& from, const StorageState& to, StorageWriter& writer,
              const Encoding& encoding, std::uint64_t first);

  /// Rows up to `last`, encoded anew.
  void encode(std::uint64_t last);
  /// The same in the same codec: their blocks in another order.
  void relay(std::uint64_t last);

  const ValueReport& report() const noexcept { return report_; }

 private:
  template <typename Body>
  void in_steps(std::uint64_t last, Body&& body);
  void size_stage(const RowPart& step);
  std::span<std::byte> staged(std::size_t c, const RowPart& step, const RowPart& piece,
                              std::uint64_t offset);
  void encode_piece(const RowPart& step, const RowPart& piece, std::uint64_t offset);
  void relay_piece(const RowPart& step, const RowPart& piece, std::uint64_t offset);
  void put(const RowPart& step, std::uint64_t group);

  const StorageState& to_;
  Encoding encoding_;
  StorageRows rows_;
  std::vector<RowBlocks> shapes_;  ///< of `to`, by component
  StorageWriter::Lane out_;
  std::unique_ptr<Encoder> encoder_;
  std::uint64_t row_;
  std::vector<float> values_{};
  std::vector<std::vector<std::byte>> stage_;  ///< rows1 of a step, by component
  std::vector<std::span<std::byte>> piece_;    ///< of the stage, by component
  std::vector<std::byte> ordered_{};
  ValueReport report_{};
};

/// How the rows of a storage's components lie.
std::vector<RowBlocks> shapes_of(const StorageState& storage);

/// Elements at whose multiples the rows of a storage that is made may be cut; 0: nowhere.
std::uint64_t cut_granule(const StorageState& to, const std::vector<RowBlocks>& shapes) noexcept;

/// Rows that are made together: eight of the order rows8.
std::uint64_t row_group(const StorageState& to) noexcept;

}  // namespace synps
