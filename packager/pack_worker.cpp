#include "pack_worker.h"

#include <algorithm>

#include "synps/artifact_set.h"

namespace synps {
namespace {

std::uint64_t source_size(const SourceTensor& tensor, const Piece& piece) {
  return tensor.bytes_of(piece.elements());
}

std::uint64_t round_up(std::uint64_t value, std::uint64_t unit) noexcept {
  return (value + unit - 1) / unit * unit;
}

}  // namespace

PackWorker::PackWorker(const PackContext& target, const PackBuffers& buffers) : target_(target) {
  source_.buffer().take(buffers.source);
  source_.scales().reserve(buffers.scales);
  values_.take(buffers.values / sizeof(float));
  windows_memory_.take(buffers.windows);
  stage_memory_.take(buffers.stage);
}

Encoder* PackWorker::encoder_of(const Codec& codec) {
  for (const auto& [known, encoder] : encoders_)
    if (known == &codec) return encoder.get();
  return encoders_.emplace_back(&codec, codec.make_encoder()).second.get();
}

std::span<float> PackWorker::read_piece(const PlannedWeight& planned, const Piece& piece,
                                        ValueReport& values) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const std::span<float> out = values_.take(piece.elements());
  {
    const Stopwatch watch(time_ != nullptr && tensor.stored != nullptr ? &time_->read : nullptr);
    source_.read(target_.checkpoint, tensor, *planned.source_codec, piece, out, values);
  }
  if (planned.scale) {
    const Stopwatch watch(time_ != nullptr ? &time_->fold : nullptr);
    source_.scales().fold(target_.checkpoint, tensor.weight, *planned.scale, piece, out, values);
  }
  return out;
}

void PackWorker::encode(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                        const Analysis* analysis, ValueReport& values) {
  start_windows(planned, begin, end);
  if (target_.plan.stored(planned).form.order == Order::rows8)
    encode_rows8(planned, begin, end, analysis, values);
  else
    encode_rows1(planned, begin, end, analysis, values);
  finish_windows(planned);
}

void PackWorker::encode_rows1(const PlannedWeight& planned, std::uint64_t begin, std::uint64_t end,
                              const Analysis* analysis, ValueReport& values) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  for (std::uint64_t at = begin; at < end;) {
    const Piece piece =
        next_piece(target_.plan.stored(planned).weight, at, end, planned.codec->row_granule());
    encode_piece(planned, piece, read_piece(planned, piece, values), analysis, values);
    at += piece.elements();
    target_.progress.advance(source_size(tensor, piece));
  }
}

void PackWorker::encode_whole(const PlannedWeight& planned, ValueReport& values) {
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const Weight& weight = target_.plan.stored(planned).weight;
  const std::uint64_t elements = weight.shape.elements();
  const Piece piece = next_piece(weight, 0, elements, planned.codec->row_granule());
  const std::span<const float> read = read_piece(planned, piece, values);
  const std::unique_ptr<Analysis> analysis = planned.codec->begin_analysis(weight);
  if (analysis != nullptr) {
    analysis->add(read);
    store_analysis(planned, *analysis);
  }
  start_windows(planned, 0, elements);
  encode_piece(planned, piece, read, analysis.get(), values);
  finish_windows(planned);
  target_.progress.advance(source_size(tensor, piece));
}

void PackWorker::start_windows(const PlannedWeight& planned, std::uint64_t begin,
                               std::uint64_t end) {
  const StoredWeight& stored = target_.plan.stored(planned);
  const std::size_t components = stored.components.size();
  place_windows(stored, *planned.codec, places_);
  const std::span<std::byte> memory = windows_memory_.take(places_.back());
  if (windows_.size() < components) windows_.resize(components);
  out_.assign(components, {});
  for (std::size_t c = 0; c < components; ++c) {
    if (stored.components[c].component.per_weight) continue;
    windows_[c].start(target_.writer, planned.stored, c, stored.components[c],
                      unit_byte(stored, *planned.codec, c, begin),
                      unit_byte(stored, *planned.codec, c, end),
                      memory.subspan(static_cast<std::size_t>(places_[c]),
                                     static_cast<std::size_t>(places_[c + 1] - places_[c])));
  }
}

void PackWorker::encode_piece(const PlannedWeight& planned, const Piece& piece,
                              std::span<const float> read, const Analysis* analysis,
                              ValueReport& values) {
  const StoredWeight& stored = target_.plan.stored(planned);
  const Codec& codec = *planned.codec;
  for (std::size_t c = 0; c < out_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    const std::uint64_t size = piece_size(codec, stored, c, piece, windows_[c].left());
    if (size > windows_[c].capacity()) throw_size_fault(codec, stored, c);
    out_[c] = windows_[c].take(size);
  }
  encode_values(codec, piece, read, analysis, values);
}

/// To out_.
void PackWorker::encode_values(const Codec& codec, const Piece& piece, std::span<const float> read,
                               const Analysis* analysis, ValueReport& values) {
  if (Encoder* encoder = encoder_of(codec))
    encoder->encode(piece, read, analysis, out_, values);
  else
    codec.encode(piece, read, analysis, out_, values);
}

void PackWorker::finish_windows(const PlannedWeight& planned) {
  const StoredWeight& stored = target_.plan.stored(planned);
  for (std::size_t c = 0; c < out_.size(); ++c) {
    if (stored.components[c].component.per_weight) continue;
    windows_[c].flush();
    // Every byte of the unit, or a codec's sizes have changed since the plan.
    if (windows_[c].left() != 0) throw_size_fault(*planned.codec, stored, c);
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
  store_analysis(planned, analysis);
}

void PackWorker::store_analysis(const PlannedWeight& planned, const Analysis& analysis) {
  const StoredWeight& stored = target_.plan.stored(planned);
  for (std::size_t c = 0; c < stored.components.size(); ++c) {
    const Component& component = stored.components[c].component;
    if (!component.per_weight) continue;
    const std::span<std::byte> bytes = windows_memory_.take(component.bytes);
    analysis.store(c, bytes);
    target_.writer.write(planned.stored, c, 0, bytes);
  }
}

void PackWorker::copy(const PlannedWeight& planned, std::uint64_t unit) {
  const StoredWeight& stored = target_.plan.stored(planned);
  std::size_t c = 0;
  for (; unit >= stored.components[c].chunks(); ++c) unit -= stored.components[c].chunks();
  const StoredComponent& component = stored.components[c];
  const SourceTensor& tensor = target_.checkpoint.tensors()[planned.tensor];
  const std::uint64_t begin = component.chunk_begin(unit);
  const std::uint64_t end = std::min(component.chunk_end(unit), component.component.bytes);
  copied_.start(target_.writer, planned.stored, c, component, begin);
  const bool relaid = planned.blocks != nullptr;
  const Copied copied{planned, tensor, c, relaid && component.order == Order::rows1};
  if (relaid && component.order == Order::rows8) return copy_rows8(copied, begin, end);
  move_bytes(copied, move_shared(copied, begin, end), end);
}

/// Moves whole blocks without reading them, where both files have the bytes as they are, at the
/// same places. Returns where it stopped.
std::uint64_t PackWorker::move_shared(const Copied& copied, std::uint64_t begin,
                                      std::uint64_t end) {
  std::uint64_t source = copied.tensor.offset;
  if (const StoredWeight* stored = copied.tensor.stored) {
    const StoredComponent& component = stored->components[copied.component];
    if (component.compressed() || copied.from_rows8) return begin;
    source = target_.checkpoint.artifact()->files()[copied.tensor.file]->file_offset(component);
  }
  const std::uint64_t output =
      target_.writer.file_offset(copied.planned.stored, copied.component, begin) - begin;
  const std::uint64_t block = target_.writer.shared_block_bytes();
  if (block == 0 || source % block != output % block) return begin;
  const std::uint64_t first = round_up(source + begin, block) - source;
  const std::uint64_t last = (source + end) / block * block;
  if (first >= end || last <= source + first) return begin;
  move_bytes(copied, begin, first);
  return share_bytes(copied, source, first, last - source);
}

/// Of a component as it is copied: in rows1, where that is what it comes into.
void PackWorker::read_bytes(const Copied& copied, std::uint64_t offset, std::span<std::byte> out) {
  const Stopwatch watch(time_ != nullptr && copied.tensor.stored != nullptr ? &time_->read
                                                                            : nullptr);
  if (copied.from_rows8)
    source_.tensors().read_rows1(target_.checkpoint, copied.tensor, *copied.planned.blocks,
                                 copied.component, offset, out);
  else
    source_.tensors().read(target_.checkpoint, copied.tensor, copied.component, offset, out);
}

void PackWorker::move_bytes(const Copied& copied, std::uint64_t begin, std::uint64_t end) {
  for (std::uint64_t at = begin; at < end;) {
    const std::span<std::byte> bytes = source_.buffer().take(std::min(kCopyBytes, end - at));
    read_bytes(copied, at, bytes);
    copied_.update(bytes);
    target_.writer.write(copied.planned.stored, copied.component, at, bytes);
    at += bytes.size();
    target_.progress.advance(bytes.size());
  }
}

/// Returns where it stopped. What is hashed is what the output has, whatever became of the source.
std::uint64_t PackWorker::share_bytes(const Copied& copied, std::uint64_t source,
                                      std::uint64_t begin, std::uint64_t end) {
  const std::size_t weight = copied.planned.stored;
  const InputFile& file = target_.checkpoint.file_of(copied.tensor);
  const std::uint64_t shared = begin + target_.writer.share(weight, copied.component, begin, file,
                                                            source + begin, end - begin);
  if (!target_.writer.takes_digests()) {
    target_.progress.advance(shared - begin);
    return shared;
  }
  for (std::uint64_t at = begin; at < shared;) {
    const std::span<std::byte> bytes = source_.buffer().take(std::min(kCopyBytes, shared - at));
    target_.writer.read(weight, copied.component, at, bytes);
    copied_.update(bytes);
    at += bytes.size();
    target_.progress.advance(bytes.size());
  }
  return shared;
}

}  // namespace synps
