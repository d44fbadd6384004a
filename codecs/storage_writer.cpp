#include "storage_writer.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <new>

#include "load_trace.h"
#include "synps/artifact_layout.h"
#include "synps/codec_package.h"
#include "synps/error.h"

namespace synps {
namespace {

Error no_memory(const StorageState& state) {
  return Error({.code = ErrorCode::limit,
                .what = "no memory for a weight that is to be on the heap",
                .field = state.stored.weight.path,
                .found = fmt::format("{} bytes", true_bytes(state.stored))});
}

[[noreturn]] void throw_size_fault(const StorageState& state, std::size_t c) {
  const Component& component = state.stored.components[c].component;
  throw_codec_fault(state.codec->info(), state.stored.weight.path,
                    fmt::format("row_bytes contradicts the size of component {}", component.name),
                    {}, fmt::format("{} bytes in all", component.bytes));
}

}  // namespace

StorageWriter::StorageWriter(StorageState& state)
    : state_(state), missing_(state.stored.components.size()) {
  std::vector<std::uint64_t> sizes;
  std::vector<std::uint64_t> chunks;
  for (std::size_t c = 0; c < missing_.size(); ++c) {
    const StoredComponent& stored = state.stored.components[c];
    missing_[c] = stored.component.bytes;
    sizes.push_back(stored.component.bytes);
    chunks.push_back(stored.chunks());
  }
  try {
    if (state.compressed())
      frames_ = std::make_shared<OwnedFrames>(chunks);
    else
      bytes_ = std::make_shared<OwnedBytes>(sizes);
  } catch (const std::bad_alloc&) {
    throw no_memory(state);
  }
}

void StorageWriter::finish() {
  for (std::size_t c = 0; c < missing_.size(); ++c)
    if (missing_[c] != 0) throw_size_fault(state_, c);
  for (std::size_t c = 0; frames_ != nullptr && c < missing_.size(); ++c)
    state_.stored.components[c].stored_bytes = frames_->bytes(c);
  if (frames_ != nullptr)
    state_.bytes = frames_;
  else
    state_.bytes = bytes_;
}

StorageWriter::Lane::Lane(StorageWriter& writer, const std::vector<std::uint64_t>& begin)
    : writer_(writer), at_(begin), frames_(begin.size()) {}

void StorageWriter::Lane::put(std::size_t c, std::span<const std::byte> bytes) {
  const std::uint64_t size = writer_.state_.stored.components[c].component.bytes;
  if (bytes.size() > size - at_[c]) throw_size_fault(writer_.state_, c);
  if (writer_.frames_ != nullptr)
    compress(c, bytes);
  else if (!bytes.empty())
    std::memcpy(writer_.bytes_->writable(c).data() + at_[c], bytes.data(), bytes.size());
  at_[c] += bytes.size();
  writer_.missing_[c] -= bytes.size();
}

void StorageWriter::Lane::compress(std::size_t c, std::span<const std::byte> bytes) {
  const StorageState& state = writer_.state_;
  const StoredComponent& stored = state.stored.components[c];
  if (frames_[c] == nullptr) {
    frames_[c] = std::make_unique<Frame>();
    frames_[c]->chunk = stored.chunk_bytes == 0 ? 0 : at_[c] / stored.chunk_bytes;
  }
  Frame& frame = *frames_[c];
  std::uint64_t at = at_[c];
  const FrameCompressor::Sink sink = [&frame](std::span<const std::byte> made) {
    frame.bytes.insert(frame.bytes.end(), made.begin(), made.end());
  };
  while (!bytes.empty()) {
    if (!frame.begun) {
      frame.bytes.clear();
      frame.compressor.begin(frame_content(state.stored, stored, frame.chunk),
                             state.compression().level);
      frame.begun = true;
    }
    const auto part =
        bytes.first(std::min<std::uint64_t>(bytes.size(), stored.chunk_end(frame.chunk) - at));
    frame.compressor.add(part, sink);
    at += part.size();
    bytes = bytes.subspan(part.size());
    if (!frame.compressor.complete()) continue;
    writer_.frames_->set(c, frame.chunk, {frame.bytes.begin(), frame.bytes.end()});
    frame.begun = false;
    ++frame.chunk;
  }
}

}  // namespace synps
