#include "storage_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>

#include "stored_rows.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/codec_package.h"
#include "synps/component_rows.h"
#include "synps/value_problems.h"

namespace synps {

StorageRows::StorageRows(const StorageState& storage)
    : storage_(storage),
      held_(storage.stored.components.size()),
      in_(storage.stored.components.size()) {
  if (storage.codec == nullptr) return;
  for (std::size_t c = 0; c < held_.size(); ++c)
    shapes_.push_back(checked_rows(*storage.codec, storage.stored, c));
}

void StorageRows::inflate(std::size_t c, std::uint64_t chunk) {
  Held& held = held_[c];
  if (held.chunk == chunk) return;
  held.chunk.reset();
  const StoredComponent& stored = storage_.stored.components[c];
  const std::span<const std::byte> frame = storage_.bytes->frame(c, chunk);
  if (!inflater_) inflater_.emplace();
  inflater_->begin(frame_content(storage_.stored, stored, chunk), frame.size(),
                   [frame](std::uint64_t at, std::span<std::byte> out) {
                     std::memcpy(out.data(), frame.data() + at, out.size());
                   });
  held.inflated.resize(stored.chunk_end(chunk) - stored.chunk_begin(chunk));
  std::span<std::byte> left = held.inflated;
  while (const std::uint64_t size = inflater_->next_size()) {
    inflater_->next(left.first(size));
    left = left.subspan(size);
  }
  held.chunk = chunk;
}

std::span<const std::byte> StorageRows::bytes(std::size_t c, std::uint64_t begin,
                                              std::uint64_t end) {
  const StoredComponent& stored = storage_.stored.components[c];
  if (begin == end) return {};
  if (!stored.compressed()) return storage_.bytes->component(c).subspan(begin, end - begin);
  Held& held = held_[c];
  std::uint64_t chunk = begin / stored.chunk_bytes;
  if (end <= stored.chunk_end(chunk)) {
    inflate(c, chunk);
    return std::span(held.inflated).subspan(begin - stored.chunk_begin(chunk), end - begin);
  }
  held.joined.resize(end - begin);
  for (std::uint64_t at = begin; at < end; ++chunk) {
    inflate(c, chunk);
    const std::uint64_t part = std::min(end, stored.chunk_end(chunk)) - at;
    std::memcpy(held.joined.data() + (at - begin),
                held.inflated.data() + (at - stored.chunk_begin(chunk)), part);
    at += part;
  }
  return held.joined;
}

std::span<const std::byte> StorageRows::rows1(std::size_t c, const RowPart& part) {
  const Component& component = storage_.stored.components[c].component;
  if (component.per_weight) return bytes(c, 0, component.bytes);
  const RowBlocks& shape = shapes_[c];
  std::uint64_t begin = 0;
  std::uint64_t width = shape.row_bytes;
  if (part.columns != storage_.stored.weight.shape.columns()) {
    begin = part.first_column == 0 ? 0 : storage_.codec->row_bytes(c, part.first_column);
    width = storage_.codec->row_bytes(c, part.columns);
    if (!range_fits(begin, width, shape.row_bytes))
      throw_codec_fault(storage_.codec->info(), storage_.stored.weight.path,
                        "row_bytes of a part is more than of its row",
                        fmt::format("{} bytes from {}", width, begin),
                        fmt::format("{} bytes in all", shape.row_bytes));
  }
  if (storage_.order() == Order::rows8 && moves_blocks(shape)) return gather(c, part, begin, width);
  const std::uint64_t first = part.first_row * shape.row_bytes + begin;
  return bytes(c, first, first + (part.rows - 1) * shape.row_bytes + width);
}

/// Group by group, so that not more than one is inflated at a time.
std::span<const std::byte> StorageRows::gather(std::size_t c, const RowPart& part,
                                               std::uint64_t begin, std::uint64_t width) {
  const RowBlocks& shape = shapes_[c];
  const std::uint64_t in_groups = shape.rows / kOrderRows * kOrderRows;
  std::vector<std::byte>& out = held_[c].gathered;
  out.resize(part.rows * width);
  std::span<std::byte> left = out;
  const std::uint64_t last = part.first_row + part.rows;
  for (std::uint64_t row = part.first_row; row < last;) {
    const std::uint64_t group = row / kOrderRows * kOrderRows;
    const std::uint64_t group_end = row < in_groups ? group + kOrderRows : shape.rows;
    const std::uint64_t rows = std::min(last, group_end) - row;
    const auto from = bytes(c, group * shape.row_bytes, group_end * shape.row_bytes);
    copy_as_rows1({group_end - group, shape.row_bytes, shape.block_bytes},
                  row < in_groups ? Order::rows8 : Order::rows1, from,
                  {row - group, rows, begin / shape.block_bytes, width / shape.block_bytes},
                  left.first(rows * width));
    left = left.subspan(rows * width);
    row += rows;
  }
  return out;
}

void StorageRows::decode(const RowPart& part, std::span<float> out, ValueReport& report) {
  const Weight& weight = storage_.stored.weight;
  for (std::size_t c = 0; c < in_.size(); ++c) in_[c] = rows1(c, part);
  const std::uint64_t first = part.first_row * weight.shape.columns() + part.first_column;
  storage_.codec->decode({&weight, first, part.rows, part.columns}, in_, out);
  if (storage_.codec->info().dense_dtype == DType::f64)
    report_narrowing(in_[0], out, first, report);
}

std::span<const float> StorageRows::whole_row(std::uint64_t row, ValueReport& report) {
  const std::uint64_t columns = storage_.stored.weight.shape.columns();
  if (values_row_ == row) return values_;
  values_row_.reset();
  values_.resize(columns);
  decode({row, 1, 0, columns}, values_, report);
  values_row_ = row;
  return values_;
}

void StorageRows::values(const RowPart& part, std::span<float> out, ValueReport& report) {
  const std::uint64_t columns = storage_.stored.weight.shape.columns();
  if (part.columns == columns) return decode(part, out, report);
  const std::uint64_t granule = storage_.codec->row_granule();
  std::span<const float> from;
  std::uint64_t begin = 0;
  if (granule == 0) {
    from = whole_row(part.first_row, report);
  } else {
    const ColumnRange cut =
        whole_columns({part.first_column, part.first_column + part.columns}, columns, granule);
    begin = cut.begin;
    const RowPart blocks{part.first_row, 1, begin, cut.size()};
    if (blocks.columns == part.columns) return decode(part, out, report);
    values_.resize(blocks.columns);
    decode(blocks, values_, report);
    from = values_;
  }
  std::copy_n(from.begin() + static_cast<std::ptrdiff_t>(part.first_column - begin), out.size(),
              out.begin());
}

}  // namespace synps
