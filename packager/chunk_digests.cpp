#include "chunk_digests.h"

#include <algorithm>
#include <array>

#include "synps/artifact_layout.h"

namespace synps {

void ChunkDigests::start(WeightWriter& writer, std::size_t weight, std::size_t component,
                         const StoredComponent& stored, std::uint64_t offset) {
  writer_ = &writer;
  stored_ = &stored;
  weight_ = weight;
  component_ = component;
  offset_ = offset;
  chunk_ = stored.chunk_bytes == 0 ? 0 : offset / stored.chunk_bytes;
  // The padding may be longer than a chunk; no chunk begins in it.
  if (stored.chunks() != 0) chunk_ = std::min(chunk_, stored.chunks() - 1);
  whole_ = offset == stored.chunk_begin(chunk_);
  hasher_.reset();
}

void ChunkDigests::update(std::span<const std::byte> bytes) {
  // Of compressed components the frames are what is hashed, when there are any.
  if (stored_->compressed() || !writer_->takes_digests()) return;
  while (!bytes.empty()) {
    const std::uint64_t true_end = std::min(stored_->chunk_end(chunk_), stored_->component.bytes);
    const std::size_t size =
        static_cast<std::size_t>(std::min<std::uint64_t>(bytes.size(), true_end - offset_));
    if (size == 0) return;  // more bytes than the component has: write() has refused them
    if (whole_) hasher_.update(bytes.first(size));
    bytes = bytes.subspan(size);
    offset_ += size;
    if (offset_ == true_end) end_chunk();
  }
}

void ChunkDigests::end_chunk() {
  static constexpr std::array<std::byte, kPageAlignment> kZeros{};
  if (whole_) {
    for (std::uint64_t left = stored_->chunk_end(chunk_) - offset_; left != 0;) {
      const std::uint64_t size = std::min<std::uint64_t>(left, kZeros.size());
      hasher_.update(std::span(kZeros).first(static_cast<std::size_t>(size)));
      left -= size;
    }
    writer_->set_digest(weight_, component_, chunk_, hasher_.digest());
  }
  ++chunk_;
  whole_ = true;
  hasher_.reset();
}

}  // namespace synps
