#include "weight_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "synps/checked.h"
#include "synps/codec_package.h"

namespace synps {
namespace {

/// Bytes that are put into rows1 at a time, of all components: they stay in a core's own cache.
constexpr std::uint64_t kBufferBytes = 256 * 1024;

/// Takes rows of components one after the other out of memory, as rows1.
class RowSource {
 public:
  RowSource(const Codec& codec, const StoredWeight& weight, Order order,
            std::span<const std::span<const std::byte>> components)
      : order_(order), components_(components) {
    for (std::size_t c = 0; c < components.size(); ++c) {
      const bool per_weight = weight.components[c].component.per_weight;
      shapes_.push_back(per_weight ? RowBlocks{}
                                   : checked_row_blocks(codec, weight, c, components[c].size()));
      row_bytes_ += shapes_.back().row_bytes;
    }
  }

  /// Rows that the buffer takes at least one of; all, where none is needed.
  std::uint64_t rows_at_once(std::uint64_t rows) const noexcept {
    if (order_ == Order::rows1) return rows;
    return std::clamp<std::uint64_t>(kBufferBytes / std::max<std::uint64_t>(1, row_bytes_), 1,
                                     rows);
  }

  /// Valid until the next call.
  std::span<const std::span<const std::byte>> take(std::uint64_t first, std::uint64_t rows) {
    in_.assign(components_.begin(), components_.end());
    if (order_ != Order::rows1 && buffer_.size() < rows * row_bytes_)
      buffer_.resize(rows * row_bytes_);
    std::span<std::byte> free(buffer_);
    for (std::size_t c = 0; c < in_.size(); ++c) {
      const RowBlocks& shape = shapes_[c];
      if (shape.block_bytes == 0) continue;  // of the whole weight
      const std::uint64_t size = rows * shape.row_bytes;
      if (order_ == Order::rows1) {
        in_[c] = components_[c].subspan(first * shape.row_bytes, size);
        continue;
      }
      copy_as_rows1(shape, order_, components_[c],
                    {first, rows, 0, shape.row_bytes / shape.block_bytes}, free.first(size));
      in_[c] = free.first(size);
      free = free.subspan(size);
    }
    return in_;
  }

 private:
  Order order_;
  std::span<const std::span<const std::byte>> components_;
  std::vector<RowBlocks> shapes_;
  std::uint64_t row_bytes_ = 0;  // of all components
  std::vector<std::byte> buffer_;
  std::vector<std::span<const std::byte>> in_;
};

}  // namespace

RowBlocks checked_row_blocks(const Codec& codec, const StoredWeight& weight, std::size_t component,
                             std::uint64_t bytes) {
  const RowBlocks blocks = row_blocks(codec, weight, component);
  if (checked_mul(blocks.row_bytes, blocks.rows) != bytes)
    throw_codec_fault(
        codec.info(), weight.weight.path,
        fmt::format("row_bytes contradicts the size of component {}",
                    weight.components[component].component.name),
        fmt::format("{} bytes for {} elements", blocks.row_bytes, weight.weight.shape.columns()),
        fmt::format("{} bytes in all", bytes));
  return blocks;
}

void decode_rows(const Codec& codec, const StoredWeight& weight, Order order,
                 std::span<const std::span<const std::byte>> components, std::uint64_t first_row,
                 std::uint64_t rows, std::span<float> out) {
  const std::uint64_t columns = weight.weight.shape.columns();
  RowSource source(codec, weight, order, components);
  const std::uint64_t step = source.rows_at_once(rows);
  for (std::uint64_t done = 0; done < rows;) {
    const std::uint64_t count = std::min(step, rows - done);
    const std::uint64_t first = first_row + done;
    codec.decode({&weight.weight, first * columns, count, columns}, source.take(first, count),
                 out.subspan(done * columns, count * columns));
    done += count;
  }
}

}  // namespace synps
