#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "storage_state.h"
#include "synps/codec.h"
#include "synps/frame_inflater.h"
#include "synps/row_order.h"

namespace synps {

/// Some columns of some rows: all columns, or where `rows` is 1 a part of them.
struct RowPart {
  std::uint64_t first_row = 0;
  std::uint64_t rows = 0;
  std::uint64_t first_column = 0;
  std::uint64_t columns = 0;
};

/// Reads the rows of a storage, whatever order they are in, inflating them where they are
/// compressed: fastest in rising order. Spans that it gives hold until the next call for the
/// component. For one thread.
class StorageRows {
 public:
  /// `storage` outlives the reader. Throws Error(package) when the codec contradicts itself.
  explicit StorageRows(const StorageState& storage);

  /// True bytes [begin, end) of a component, as they lie.
  std::span<const std::byte> bytes(std::size_t c, std::uint64_t begin, std::uint64_t end);

  /// Bytes of a part of the rows, as rows1; of a component with one value set a weight all of it.
  std::span<const std::byte> rows1(std::size_t c, const RowPart& part);

  /// Decodes a part that may be cut anywhere. `out` has rows × columns values. What f32 cannot hold
  /// goes into `report`.
  void values(const RowPart& part, std::span<float> out, ValueReport& report);

 private:
  struct Held {
    std::optional<std::uint64_t> chunk{};  ///< that `inflated` has
    std::vector<std::byte> inflated{};
    std::vector<std::byte> joined{};    ///< of a range that lies in several chunks
    std::vector<std::byte> gathered{};  ///< rows1
  };
  void inflate(std::size_t c, std::uint64_t chunk);
  std::span<const std::byte> gather(std::size_t c, const RowPart& part, std::uint64_t begin,
                                    std::uint64_t width);
  void decode(const RowPart& part, std::span<float> out, ValueReport& report);
  std::span<const float> whole_row(std::uint64_t row, ValueReport& report);

  const StorageState& storage_;
  std::vector<RowBlocks> shapes_{};  ///< by component; none without a codec
  std::vector<Held> held_;           ///< by component
  std::vector<std::span<const std::byte>> in_{};
  std::optional<FrameInflater> inflater_{};    ///< made for the first frame
  std::vector<float> values_{};                ///< of whole blocks, or of a row
  std::optional<std::uint64_t> values_row_{};  ///< that `values_` has, of a codec that cuts none
};

}  // namespace synps
