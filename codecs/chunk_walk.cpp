#include "chunk_walk.h"

#include <algorithm>
#include <utility>

#include "synps/load_memory.h"

namespace synps {

ChunkWalk::ChunkWalk(const std::string& file, const StoredWeight& weight, const Codec& codec,
                     std::span<std::byte> buffer, Read read)
    : file_(file), weight_(weight), read_(std::move(read)), slabs_(weight.components.size()) {
  for (std::size_t c = 0; c < weight.components.size(); ++c) {
    const std::uint64_t size = chunk_room(weight.components[c]);
    parts_.push_back({checked_rows(codec, weight, c), buffer.first(size), 0});
    buffer = buffer.subspan(size);
  }
}

void ChunkWalk::read_next(std::size_t component) {
  Part& part = parts_[component];
  const StoredComponent& stored = weight_.components[component];
  const std::uint64_t chunk = part.next_chunk++;
  const auto bytes = part.room.first(stored.chunk_end(chunk) - stored.chunk_begin(chunk));
  read_(component, chunk, bytes);
  slabs_[component] = slab_of_chunk(file_, weight_, component, part.whole, chunk, bytes);
}

bool ChunkWalk::next() {
  first_ = end_;
  end_ = weight_.weight.shape.rows();
  if (first_ == end_) return false;
  for (std::size_t c = 0; c < parts_.size(); ++c) {
    if (first_ == slabs_[c].first_row + slabs_[c].shape.rows) read_next(c);
    end_ = std::min(end_, slabs_[c].first_row + slabs_[c].shape.rows);
  }
  return true;
}

}  // namespace synps
