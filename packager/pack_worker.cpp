#include "pack_worker.h"

#include <algorithm>

namespace synps {
namespace {

std::uint64_t source_size(const SourceTensor& tensor, const Piece& piece) {
  return tensor.bytes_of(piece.elements());
}

}  // namespace

void PackWorker::copy(const PlannedWeight& planned, std::uint64_t chunk) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const StoredComponent& component = target_.plan.stored(planned).components.front();
  const std::uint64_t begin = component.chunk_begin(chunk);
  const std::uint64_t end = std::min(component.chunk_end(chunk), component.component.bytes);
  digests_.resize(std::max<std::size_t>(digests_.size(), 1));
  digests_[0].start(target_.writer, planned.stored, 0, component, begin);
  for (std::uint64_t at = begin; at < end;) {
    const std::span<std::byte> bytes = copied_.take(std::min(kCopyBytes, end - at));
    target_.checkpoint.read(tensor, at, bytes);
    target_.writer.write(planned.stored, 0, at, bytes);
    digests_[0].update(bytes);
    at += bytes.size();
    target_.progress.advance(bytes.size());
  }
}

std::span<float> PackWorker::read_piece(const PlannedWeight& planned, const Piece& piece,
                                        ValueReport& values) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const std::span<float> out = values_.take(piece.elements());
  source_.read(target_.checkpoint, tensor, *planned.source_codec, piece, out, values);
  return out;
}

void PackWorker::encode(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                        const Analysis* analysis, ValueReport& values) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const StoredWeight& stored = target_.plan.stored(planned);
  const std::size_t components = stored.components.size();
  const std::uint64_t granule = planned.codec->row_granule();
  encoded_.resize(std::max(encoded_.size(), components));
  digests_.resize(std::max(digests_.size(), components));
  out_.assign(components, {});
  places_.assign(components, {});
  for (std::size_t c = 0; c < components; ++c) {
    if (stored.components[c].component.per_weight) continue;
    places_[c] = {unit_byte(stored, *planned.codec, c, begin),
                  unit_byte(stored, *planned.codec, c, end)};
    digests_[c].start(target_.writer, planned.stored, c, stored.components[c], places_[c].at);
  }
  for (std::uint64_t at = begin; at < end;) {
    const Piece piece = next_piece(stored.weight, at, end, granule);
    const std::span<float> read = read_piece(planned, piece, values);
    for (std::size_t c = 0; c < components; ++c) {
      if (stored.components[c].component.per_weight) continue;
      const std::uint64_t left = places_[c].end - places_[c].at;
      out_[c] = encoded_[c].take(piece_size(*planned.codec, stored, c, piece, left));
    }
    planned.codec->encode(piece, read, analysis, out_, values);
    write_piece(planned);
    at += piece.elements();
    target_.progress.advance(source_size(tensor, piece));
  }
  // Every byte of the unit, or a codec's sizes have changed since the plan.
  for (std::size_t c = 0; c < components; ++c)
    if (places_[c].at != places_[c].end) throw_size_fault(*planned.codec, stored, c);
}

void PackWorker::write_piece(const PlannedWeight& planned) {
  const StoredWeight& stored = target_.plan.stored(planned);
  for (std::size_t c = 0; c < out_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    target_.writer.write(planned.stored, c, places_[c].at, out_[c]);
    digests_[c].update(out_[c]);
    places_[c].at += out_[c].size();
  }
}

void PackWorker::analyse(const PlannedWeight& planned, Analysis& analysis) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const StoredWeight& stored = target_.plan.stored(planned);
  const std::uint64_t elements = stored.weight.shape.elements();
  for (std::uint64_t at = 0; at < elements;) {
    // The analysis takes any cut, so that not even one row need fit.
    const Piece piece = next_piece(stored.weight, at, elements, 1);
    ValueReport seen_again_by_encode;
    analysis.add(read_piece(planned, piece, seen_again_by_encode));
    at += piece.elements();
    target_.progress.advance(source_size(tensor, piece));
  }
  for (std::size_t c = 0; c < stored.components.size(); ++c) {
    const Component& component = stored.components[c].component;
    if (!component.per_weight) continue;
    std::vector<std::byte> bytes(static_cast<std::size_t>(component.bytes));
    analysis.store(c, bytes);
    target_.writer.write(planned.stored, c, 0, bytes);
  }
}

}  // namespace synps
