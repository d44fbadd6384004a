#include "stored_reader.h"

#include <algorithm>
#include <utility>

#include "memory_model.h"
#include "pieces.h"
#include "synps/checked.h"
#include "synps/error.h"
#include "synps/stored_codec.h"

namespace synps {

const Codec* require_stored_codec(const CodecRegistry& codecs, const StoredWeight& weight,
                                  const std::string& file) {
  const Codec* codec = stored_codec(codecs, weight);
  if (codec != nullptr || weight.codec.is_keep()) return codec;
  throw Error(missing_codecs(file, {&weight, 1}, codecs));
}

bool stored_as_source(const StoredWeight& weight) noexcept {
  if (weight.components.size() != 1) return false;
  const Component& component = weight.components.front().component;
  return weight.components.front().order == Order::rows1 && component.name == "values" &&
         component.dtype == weight.weight.dtype && component.shape == weight.weight.shape &&
         component.bytes == component.shape.bytes(component.dtype);
}

void require_components(const ArtifactReader& artifact, const StoredWeight& weight,
                        const Codec& codec) {
  if (std::string fault = component_fault(weight, &codec); !fault.empty())
    throw Error({.code = ErrorCode::artifact,
                 .file = artifact.path(),
                 .what = std::move(fault),
                 .field = weight.weight.path});
}

std::uint64_t rows_buffer(const StoredComponent& component) noexcept {
  return component.order == Order::rows1 ? 0 : std::min(kRowGroupBuffer, component.component.bytes);
}

void raise_stored_buffers(const StoredWeight& weight, const Codec& codec,
                          std::vector<std::uint64_t>& buffers) {
  const std::uint64_t elements = weight.weight.shape.elements();
  if (elements == 0) return;
  if (buffers.size() < weight.components.size()) buffers.resize(weight.components.size());
  const Piece largest = next_piece(weight.weight, 0, elements, codec.row_granule());
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const Component& component = weight.components[c].component;
    const std::uint64_t bytes = component.per_weight
                                    ? component.bytes
                                    : piece_size(codec, weight, c, largest, component.bytes);
    const std::uint64_t inflater = weight.components[c].compressed() ? kInflaterBytes : 0;
    const std::uint64_t groups = rows_buffer(weight.components[c]);
    buffers[c] = std::max(buffers[c], saturating_add(bytes, saturating_add(inflater, groups)));
  }
}

void StoredReader::start(const ArtifactReader& artifact, const StoredWeight& weight,
                         const Codec& codec) {
  weight_ = &weight;
  codec_ = &codec;
  if (buffers_.size() < weight.components.size()) buffers_.resize(weight.components.size());
  while (readers_.size() < weight.components.size()) readers_.emplace_back(artifact);
  for (ComponentRows& reader : readers_) reader.read_from(artifact);
  in_.assign(weight.components.size(), {});
  shapes_.clear();
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const StoredComponent& component = weight.components[c];
    shapes_.push_back(component.component.per_weight
                          ? RowBlocks{1, component.component.bytes, component.component.bytes}
                          : row_blocks(codec, weight, c));
    if (!component.component.per_weight) continue;
    const std::span<std::byte> bytes = buffers_[c].take(component.component.bytes);
    readers_[c].read(weight, component, shapes_[c], 0, bytes);
    in_[c] = bytes;
  }
}

void StoredReader::read(const Piece& piece, std::span<float> out) {
  for (std::size_t c = 0; c < in_.size(); ++c) {
    const StoredComponent& component = weight_->components[c];
    if (component.component.per_weight) continue;
    const ByteRange range = piece_bytes(*codec_, *weight_, c, piece);
    const std::span<std::byte> bytes = buffers_[c].take(range.size);
    readers_[c].read(*weight_, component, shapes_[c], range.begin, bytes);
    in_[c] = bytes;
  }
  codec_->decode(piece, in_, out);
}

}  // namespace synps
