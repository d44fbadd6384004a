#include "stored_reader.h"

#include <utility>

#include "pieces.h"
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
  return component.name == "values" && component.dtype == weight.weight.dtype &&
         component.shape == weight.weight.shape &&
         component.bytes == component.shape.bytes(component.dtype);
}

StoredReader::StoredReader(const ArtifactReader& artifact, const StoredWeight& weight,
                           const Codec& codec)
    : weight_(weight), codec_(codec) {
  if (std::string fault = component_fault(weight, &codec); !fault.empty())
    throw Error({.code = ErrorCode::artifact,
                 .file = artifact.path(),
                 .what = std::move(fault),
                 .field = weight.weight.path});
  for (std::size_t c = 0; c < weight.components.size(); ++c) readers_.emplace_back(artifact);
  buffers_.resize(weight.components.size());
  in_.resize(weight.components.size());
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const StoredComponent& component = weight.components[c];
    if (!component.component.per_weight) continue;
    const std::span<std::byte> bytes = buffers_[c].take(component.component.bytes);
    readers_[c].read(weight, component, 0, bytes);
    in_[c] = bytes;
  }
}

void StoredReader::read(const Piece& piece, std::span<float> out) {
  for (std::size_t c = 0; c < in_.size(); ++c) {
    const StoredComponent& component = weight_.components[c];
    if (component.component.per_weight) continue;
    const ByteRange range = piece_bytes(codec_, weight_, c, piece);
    const std::span<std::byte> bytes = buffers_[c].take(range.size);
    readers_[c].read(weight_, component, range.begin, bytes);
    in_[c] = bytes;
  }
  codec_.decode(piece, in_, out);
}

}  // namespace synps
