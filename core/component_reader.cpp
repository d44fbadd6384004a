#include "synps/component_reader.h"

#include <algorithm>
#include <utility>

#include "artifact_place.h"
#include "synps/error.h"

namespace synps {

void ComponentReader::read(const StoredWeight& weight, const StoredComponent& component,
                           std::uint64_t offset, std::span<std::byte> out) {
  if (!component.compressed()) {
    artifact_->file().read(artifact_->file_offset(component) + offset, out);
    return;
  }
  while (!out.empty()) {
    const std::uint64_t chunk = std::min(offset / component.chunk_bytes, component.chunks() - 1);
    const std::uint64_t begin = component.chunk_begin(chunk);
    const std::uint64_t left = component.chunk_end(chunk) - offset;
    const auto part = out.first(std::min<std::uint64_t>(out.size(), left));
    try {
      read_chunk(weight, component, chunk, offset - begin, part);
    } catch (const FrameFault& fault) {
      component_ = nullptr;
      throw Error(artifact_->bad_frame(weight, component, chunk, fault));
    }
    offset += part.size();
    out = out.subspan(part.size());
  }
}

void ComponentReader::check_frame(const StoredWeight& weight, const StoredComponent& component,
                                  std::uint64_t chunk) {
  try {
    begin_chunk(weight, component, chunk);
    while (inflater_->next_size() != 0) next_segment(buffer(inflater_->next_size()));
  } catch (const FrameFault& fault) {
    component_ = nullptr;
    throw Error(artifact_->bad_frame(weight, component, chunk, fault));
  }
}

std::span<std::byte> ComponentReader::buffer(std::uint64_t size) {
  if (segment_.size() < size) segment_.resize(size);
  return std::span(segment_).first(size);
}

void ComponentReader::begin_chunk(const StoredWeight& weight, const StoredComponent& component,
                                  std::uint64_t chunk) {
  component_ = nullptr;
  if (!inflater_) inflater_.emplace();
  const ArtifactReader::ChunkPlace place = artifact_->place_of(weight, component, chunk);
  inflater_->begin(
      frame_content(weight, component, chunk), place.size,
      [file = &artifact_->file(), begin = place.offset](
          std::uint64_t at, std::span<std::byte> out) { file->read(begin + at, out); });
  component_ = &component;
  chunk_ = chunk;
  end_ = 0;
  kept_ = 0;
}

void ComponentReader::next_segment(std::span<std::byte> out) {
  const StoredComponent* const component = std::exchange(component_, nullptr);
  inflater_->next(out);
  component_ = component;
  end_ += out.size();
  kept_ = out.data() == segment_.data() ? out.size() : 0;
}

/// Bytes of one chunk. Goes on from where the last call ended when it can, else starts the frame
/// again.
void ComponentReader::read_chunk(const StoredWeight& weight, const StoredComponent& component,
                                 std::uint64_t chunk, std::uint64_t offset,
                                 std::span<std::byte> out) {
  if (component_ != &component || chunk_ != chunk || offset < end_ - kept_)
    begin_chunk(weight, component, chunk);
  while (!out.empty()) {
    if (offset >= end_) {
      const std::uint64_t size = inflater_->next_size();
      // A segment that is wanted whole needs no copy.
      const bool whole = offset == end_ && out.size() >= size;
      next_segment(whole ? out.first(size) : buffer(size));
      if (!whole) continue;
      offset += size;
      out = out.subspan(size);
      continue;
    }
    const auto kept =
        std::span<const std::byte>(segment_).first(kept_).subspan(offset - (end_ - kept_));
    const std::size_t size = std::min(kept.size(), out.size());
    std::copy_n(kept.begin(), size, out.begin());
    offset += size;
    out = out.subspan(size);
  }
}

}  // namespace synps
