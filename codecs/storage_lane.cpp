#include "storage_lane.h"

#include <algorithm>
#include <cstring>

#include "storage_steps.h"
#include "stored_rows.h"

namespace synps {
namespace {

std::vector<std::uint64_t> bytes_before(const std::vector<RowBlocks>& shapes, std::uint64_t row) {
  std::vector<std::uint64_t> bytes;
  bytes.reserve(shapes.size());
  for (const RowBlocks& shape : shapes) bytes.push_back(row * shape.row_bytes);
  return bytes;
}

bool is_per_weight(const StorageState& storage, std::size_t c) noexcept {
  return storage.stored.components[c].component.per_weight;
}

}  // namespace

std::vector<RowBlocks> shapes_of(const StorageState& storage) {
  std::vector<RowBlocks> shapes;
  for (std::size_t c = 0; c < storage.stored.components.size(); ++c)
    shapes.push_back(checked_rows(*storage.codec, storage.stored, c));
  return shapes;
}

std::uint64_t cut_granule(const StorageState& to, const std::vector<RowBlocks>& shapes) noexcept {
  if (to.order() == Order::rows8)
    for (std::size_t c = 0; c < shapes.size(); ++c)
      if (!is_per_weight(to, c) && !moves_blocks(shapes[c])) return 0;  // its rows follow whole
  return to.codec->row_granule();
}

std::uint64_t row_group(const StorageState& to) noexcept {
  return to.order() == Order::rows8 ? kOrderRows : 1;
}

StorageLane::StorageLane(const StorageState& from, const StorageState& to, StorageWriter& writer,
                         const Encoding& encoding, std::uint64_t first)
    : to_(to),
      encoding_(encoding),
      rows_(from),
      shapes_(shapes_of(to)),
      out_(writer, bytes_before(shapes_, first)),
      encoder_(to.codec->make_encoder()),
      row_(first),
      stage_(shapes_.size()),
      piece_(shapes_.size()) {}

template <typename Body>
void StorageLane::in_steps(std::uint64_t last, Body&& body) {
  const Shape& shape = to_.stored.weight.shape;
  for_each_step(shape, cut_granule(to_, shapes_), row_group(to_), row_, last,
                [&](const RowPart& step, std::uint64_t group) {
                  size_stage(step);
                  for_each_piece(shape, step, [&](const RowPart& piece, std::uint64_t offset) {
                    body(step, piece, offset);
                  });
                  put(step, group);
                });
  row_ = last;
}

void StorageLane::encode(std::uint64_t last) {
  in_steps(last, [this](const RowPart& step, const RowPart& piece, std::uint64_t offset) {
    encode_piece(step, piece, offset);
  });
}

void StorageLane::relay(std::uint64_t last) {
  in_steps(last, [this](const RowPart& step, const RowPart& piece, std::uint64_t offset) {
    relay_piece(step, piece, offset);
  });
}

void StorageLane::size_stage(const RowPart& step) {
  const bool whole = step.columns == to_.stored.weight.shape.columns();
  for (std::size_t c = 0; c < shapes_.size(); ++c) {
    const std::uint64_t width =
        whole ? shapes_[c].row_bytes
              : std::min(to_.codec->row_bytes(c, step.columns), shapes_[c].row_bytes);
    stage_[c].resize(step.rows * width);
  }
}

std::span<std::byte> StorageLane::staged(std::size_t c, const RowPart& step, const RowPart& piece,
                                         std::uint64_t offset) {
  const std::uint64_t width = stage_[c].size() / step.rows;
  return std::span(stage_[c]).subspan(offset / step.columns * width, piece.rows * width);
}

void StorageLane::encode_piece(const RowPart& step, const RowPart& piece, std::uint64_t offset) {
  const Weight& weight = to_.stored.weight;
  const std::uint64_t first = piece.first_row * weight.shape.columns() + piece.first_column;
  const Piece encoded{&weight, first, piece.rows, piece.columns};
  values_.resize(encoded.elements());
  rows_.values(piece, values_, report_);
  encoding_.scale->apply(encoded, values_, report_);
  for (std::size_t c = 0; c < piece_.size(); ++c)
    piece_[c] = is_per_weight(to_, c) ? std::span<std::byte>{} : staged(c, step, piece, offset);
  if (encoder_ != nullptr)
    encoder_->encode(encoded, values_, encoding_.analysis, piece_, report_);
  else
    to_.codec->encode(encoded, values_, encoding_.analysis, piece_, report_);
}

void StorageLane::relay_piece(const RowPart& step, const RowPart& piece, std::uint64_t offset) {
  for (std::size_t c = 0; c < stage_.size(); ++c) {
    if (is_per_weight(to_, c)) continue;
    const std::span<const std::byte> from = rows_.rows1(c, piece);
    const std::span<std::byte> to = staged(c, step, piece, offset);
    std::copy_n(from.begin(), std::min(from.size(), to.size()), to.begin());
  }
}

void StorageLane::put(const RowPart& step, std::uint64_t group) {
  for (std::size_t c = 0; c < stage_.size(); ++c) {
    if (is_per_weight(to_, c)) continue;
    if (group == 1 || !moves_blocks(shapes_[c])) {
      out_.put(c, stage_[c]);
      continue;
    }
    ordered_.resize(stage_[c].size());
    rows8_from_rows1({step.rows, stage_[c].size() / step.rows, shapes_[c].block_bytes}, stage_[c],
                     ordered_);
    out_.put(c, ordered_);
  }
}

}  // namespace synps
