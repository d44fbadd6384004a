#include "chunk_checks.h"

#include <algorithm>

namespace synps {

ChunkChecks::ChunkChecks(const std::vector<StoredWeight>& weights, bool on) {
  if (!on) return;
  std::size_t chunks = 0;
  for (const StoredWeight& weight : weights)
    for (const StoredComponent& component : weight.components) {
      first_chunk_.push_back(chunks);
      chunks += component.chunks();
    }
  sound_ = std::make_unique<std::atomic<bool>[]>(first_chunk_.size());
  chunks_ = std::make_unique<std::atomic<bool>[]>(chunks);
}

void ChunkChecks::set_sound(std::size_t number) noexcept {
  if (sound_ != nullptr) sound_[number].store(true, std::memory_order_release);
}

void ChunkChecks::check_chunks(std::size_t number, const ArtifactReader& file,
                               const StoredWeight& weight, const StoredComponent& component,
                               std::uint64_t begin, std::uint64_t end) const {
  if (begin == end) return;
  const std::uint64_t last_chunk = component.chunks() - 1;
  const std::uint64_t first = std::min(begin / component.chunk_bytes, last_chunk);
  const std::uint64_t last = std::min((end - 1) / component.chunk_bytes, last_chunk);
  for (std::uint64_t chunk = first; chunk <= last; ++chunk) {
    std::atomic<bool>& flag = chunks_[first_chunk_[number] + chunk];
    if (flag.load(std::memory_order_acquire)) continue;
    file.check_chunk(weight, component, chunk);
    flag.store(true, std::memory_order_release);
  }
  if (first == 0 && last == last_chunk) sound_[number].store(true, std::memory_order_release);
}

}  // namespace synps
