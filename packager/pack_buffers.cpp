#include "pack_buffers.h"

#include <algorithm>
#include <map>

#include "pack_rows8.h"
#include "pieces.h"
#include "scale_reader.h"
#include "source_reader.h"
#include "synps/checked.h"
#include "synps/row_order.h"

namespace synps {
namespace {

constexpr std::uint64_t kWindowAlignment = 64;

/// Bytes of a step of rows8, of one component.
std::uint64_t step_bytes(const StoredWeight& stored, const Codec& codec, std::size_t c) {
  if (stored.form.order != Order::rows8 || stored.components[c].component.per_weight) return 0;
  const Rows8Step step = rows8_step(stored.weight, codec.row_granule());
  const std::uint64_t rows = std::min(step.rows, stored.weight.shape.rows());
  return piece_size(codec, stored, c, {&stored.weight, 0, rows, step.columns}, ~std::uint64_t{0});
}

/// A window holds the largest piece's bytes, and as many as make a write worth its call.
std::uint64_t window_bytes(const StoredWeight& stored, const Codec& codec, std::size_t c,
                           std::uint64_t unit, const Piece& largest) {
  if (stored.components[c].component.per_weight) return stored.components[c].component.bytes;
  const std::uint64_t piece = piece_size(codec, stored, c, largest, ~std::uint64_t{0});
  const std::uint64_t all = unit_byte(stored, codec, c, unit);
  return std::max({piece, step_bytes(stored, codec, c), std::min(kWriteBytes, all)});
}

/// What copying a component takes: bytes that are moved, or a step of copying block columns.
std::uint64_t copied_bytes(const StoredComponent& stored, const PlannedWeight& planned,
                           std::size_t c) {
  const bool steps = planned.blocks != nullptr && stored.order == Order::rows8;
  const std::uint64_t step = steps ? kOrderRows * planned.blocks->block_bytes(c) : 0;
  return std::min(std::max(kCopyBytes, step), stored.component.bytes);
}

PackBuffers copying_buffers(const StoredWeight& stored, const PlannedWeight& planned) {
  PackBuffers buffers;
  for (std::size_t c = 0; c < stored.components.size(); ++c)
    buffers.source = std::max(buffers.source, copied_bytes(stored.components[c], planned, c));
  if (planned.blocks != nullptr && stored.form.order == Order::rows8)
    buffers.stage = buffers.source;
  if (planned.source != nullptr) buffers.stored = tensor_reader_bytes(*planned.source);
  return buffers;
}

/// What reading pieces of the source takes.
void add_source_buffers(const StoredWeight& stored, const PlannedWeight& planned,
                        std::uint64_t elements, PackBuffers& buffers) {
  const Codec& codec = *planned.source_codec;
  if (planned.source != nullptr)
    buffers.stored = stored_source_bytes(*planned.source, codec, elements);
  if (codec.stores_native_f32()) return;
  if (planned.source == nullptr)
    buffers.source = dense_bytes(stored.weight.dtype, elements);
  else if (codec.info().dense)
    buffers.source = dense_bytes(*codec.info().dense_dtype, elements);
}

/// Of one weight, and without the encoders' memory.
PackBuffers buffers_of(const StoredWeight& stored, const PlannedWeight& planned,
                       std::vector<std::uint64_t>& places) {
  if (planned.copied) return copying_buffers(stored, planned);
  PackBuffers buffers;
  const Codec& codec = *planned.codec;
  const std::uint64_t elements = stored.weight.shape.elements();
  const std::uint64_t piece =
      largest_piece(stored.weight, unit_elements(stored, codec), codec.row_granule());
  // An analysis takes any piece, perhaps larger ones than the codec.
  const std::uint64_t most = std::max(piece, std::min(elements, kPieceElements));
  add_source_buffers(stored, planned, most, buffers);
  buffers.values = saturating_mul(most, sizeof(float));
  if (planned.scale) buffers.scales = scale_numbers(stored.weight.shape, planned.scale->form, most);
  if (planned.scale && planned.scale->tensor->stored != nullptr)
    buffers.stored =
        saturating_add(buffers.stored, tensor_reader_bytes(*planned.scale->tensor->stored));
  place_windows(stored, codec, places);
  buffers.windows = places.back();
  for (std::size_t c = 0; c < stored.components.size(); ++c)
    buffers.stage = saturating_add(buffers.stage, step_bytes(stored, codec, c));
  // A package's codec gets copies of what it reads and writes.
  if (!codec.info().file.empty())
    buffers.codecs = saturating_add(saturating_mul(piece, sizeof(float)), buffers.windows);
  return buffers;
}

}  // namespace

std::uint64_t PackBuffers::total() const noexcept {
  return saturating_add(saturating_add(saturating_add(saturating_add(source, stored), values),
                                       saturating_add(windows, codecs)),
                        saturating_add(stage, saturating_mul(scales, kScaleNumberBytes)));
}

void place_windows(const StoredWeight& stored, const Codec& codec,
                   std::vector<std::uint64_t>& places) {
  const std::uint64_t unit = unit_elements(stored, codec);
  const Piece largest = next_piece(stored.weight, 0, unit, codec.row_granule());
  places.clear();
  std::uint64_t at = 0;
  for (std::size_t c = 0; c < stored.components.size(); ++c) {
    places.push_back(at);
    const std::uint64_t size = window_bytes(stored, codec, c, unit, largest);
    at = saturating_add(at, checked_round_up(size, kWindowAlignment).value_or(~std::uint64_t{0}));
  }
  places.push_back(at);
}

PackBuffers pack_buffers(const Plan& plan) {
  PackBuffers all;
  std::map<const Codec*, std::uint64_t> encoders;
  std::vector<std::uint64_t> places;
  std::uint64_t longest = kPieceElements;
  for (const PlannedWeight& planned : plan.weights) {
    const StoredWeight& stored = plan.stored(planned);
    const PackBuffers buffers = buffers_of(stored, planned, places);
    all.source = std::max(all.source, buffers.source);
    all.stored = std::max(all.stored, buffers.stored);
    all.values = std::max(all.values, buffers.values);
    all.scales = std::max(all.scales, buffers.scales);
    all.windows = std::max(all.windows, buffers.windows);
    all.stage = std::max(all.stage, buffers.stage);
    all.codecs = std::max(all.codecs, buffers.codecs);
    if (planned.codec == nullptr) continue;
    std::uint64_t& encoder = encoders[planned.codec];
    encoder = std::max(encoder, planned.codec->encoder_bytes(stored.weight.shape.columns()));
    const std::uint64_t columns = stored.weight.shape.columns();
    const bool reads_rows = planned.source != nullptr && planned.source_codec->row_granule() == 0;
    const bool whole_rows = reads_rows || planned.codec->row_granule() == 0;
    if (!whole_rows || columns <= longest) continue;
    longest = columns;
    all.long_rows_in = stored.weight.path;
  }
  for (const auto& [codec, bytes] : encoders) all.codecs = saturating_add(all.codecs, bytes);
  return all;
}

}  // namespace synps
