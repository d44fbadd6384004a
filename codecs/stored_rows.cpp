#include "stored_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "synps/checked.h"
#include "synps/codec_package.h"
#include "synps/component_rows.h"
#include "synps/error.h"
#include "synps/load_memory.h"

namespace synps {
namespace {

/// Gives rows to a codec, in the order that it knows.
class RowDecoder {
 public:
  RowDecoder(const Codec& codec, const StoredWeight& weight, Order order,
             std::span<const RowSlab> slabs)
      : codec_(codec), weight_(weight), order_(order), slabs_(slabs), in_(slabs.size()) {
    for (const RowSlab& slab : slabs)
      if (moves(slab)) moved_bytes_ += slab.shape.row_bytes;
  }

  void decode(std::uint64_t first, std::uint64_t count, std::span<float> out) {
    const std::uint64_t columns = weight_.weight.shape.columns();
    const std::uint64_t most =
        moved_bytes_ == 0 ? count : std::max<std::uint64_t>(1, kRowPieceBytes / moved_bytes_);
    buffer_.resize(std::min(most, count) * moved_bytes_);
    for (std::uint64_t done = 0; done < count; done += most) {
      const std::uint64_t rows = std::min(most, count - done);
      gather(first + done, rows);
      codec_.decode({&weight_.weight, (first + done) * columns, rows, columns}, in_,
                    out.subspan(done * columns, rows * columns));
    }
  }

 private:
  bool moves(const RowSlab& slab) const noexcept {
    return order_ == Order::rows8 && moves_blocks(slab.shape);
  }

  void gather(std::uint64_t first, std::uint64_t rows) {
    std::span<std::byte> free = buffer_;
    for (std::size_t c = 0; c < slabs_.size(); ++c) {
      const RowSlab& slab = slabs_[c];
      const std::uint64_t at = first - slab.first_row;
      const std::uint64_t bytes = rows * slab.shape.row_bytes;
      if (weight_.components[c].component.per_weight) {
        in_[c] = slab.bytes;
      } else if (!moves(slab)) {
        in_[c] = slab.bytes.subspan(at * slab.shape.row_bytes, bytes);
      } else {
        const std::uint64_t blocks = slab.shape.row_bytes / slab.shape.block_bytes;
        copy_as_rows1(slab.shape, order_, slab.bytes, {at, rows, 0, blocks}, free.first(bytes));
        in_[c] = free.first(bytes);
        free = free.subspan(bytes);
      }
    }
  }

  const Codec& codec_;
  const StoredWeight& weight_;
  Order order_;
  std::span<const RowSlab> slabs_;
  std::uint64_t moved_bytes_ = 0;  ///< of a row, in components whose blocks are to be put in order
  std::vector<std::span<const std::byte>> in_;
  std::vector<std::byte> buffer_;
};

}  // namespace

RowBlocks checked_rows(const Codec& codec, const StoredWeight& weight, std::size_t component) {
  const Component& stored = weight.components[component].component;
  if (stored.per_weight) return {weight.weight.shape.rows(), 0, 0};
  const RowBlocks blocks = row_blocks(codec, weight, component);
  if (checked_mul(blocks.row_bytes, blocks.rows) == stored.bytes) return blocks;
  throw_codec_fault(
      codec.info(), weight.weight.path,
      fmt::format("row_bytes contradicts the size of component {}", stored.name),
      fmt::format("{} bytes for {} elements", blocks.row_bytes, weight.weight.shape.columns()),
      fmt::format("{} bytes in all", stored.bytes));
}

bool moves_blocks(const RowBlocks& shape) noexcept {
  return shape.block_bytes != 0 && shape.row_bytes > shape.block_bytes && shape.rows >= kOrderRows;
}

std::vector<RowSlab> whole_slabs(const Codec& codec, const StoredWeight& weight,
                                 std::span<const std::span<const std::byte>> components) {
  std::vector<RowSlab> slabs;
  slabs.reserve(components.size());
  for (std::size_t c = 0; c < components.size(); ++c)
    slabs.push_back({checked_rows(codec, weight, c), 0, components[c]});
  return slabs;
}

RowSlab slab_of_chunk(const std::string& file, const StoredWeight& weight, std::size_t component,
                      const RowBlocks& whole, std::uint64_t chunk,
                      std::span<const std::byte> bytes) {
  const StoredComponent& stored = weight.components[component];
  if (stored.chunks() <= 1) return {whole, 0, bytes.first(stored.component.bytes)};
  if (stored.component.per_weight || stored.chunk_rows % kOrderRows != 0 ||
      checked_mul(stored.chunk_rows, whole.row_bytes) != stored.chunk_bytes)
    throw Error({.code = ErrorCode::artifact,
                 .file = file,
                 .what = "the chunks of a component are no whole groups of rows",
                 .field = stored.entry,
                 .hint = "the file is damaged; make or copy it again"});
  RowSlab slab{whole, chunk * stored.chunk_rows, {}};
  slab.shape.rows = std::min(stored.chunk_rows, whole.rows - slab.first_row);
  slab.bytes = bytes.first(slab.shape.rows * whole.row_bytes);
  return slab;
}

void decode_rows(const Codec& codec, const StoredWeight& weight, Order order,
                 std::span<const RowSlab> slabs, std::uint64_t first, std::uint64_t count,
                 std::span<float> out) {
  RowDecoder(codec, weight, order, slabs).decode(first, count, out);
}

}  // namespace synps
