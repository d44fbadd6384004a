#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "synps/artifact_reader.h"

namespace synps {

/// Compares chunks of mapped components with their digests, each once, when something first reads
/// them. Components have numbers: those of the first weight, then those of the second, and so on.
/// Two threads that meet the same chunk first may both compare it, which is harmless and needs no
/// lock.
class ChunkChecks {
 public:
  /// `on`: false: nothing is ever compared.
  ChunkChecks(const std::vector<StoredWeight>& weights, bool on);

  /// Says that a component has been compared, or is not the file's any more.
  void set_sound(std::size_t number) noexcept;

  /// Compares the chunks that hold bytes [begin, end) of component `number`. Costs one look at a
  /// flag once all its chunks have been compared. Throws Error(artifact), Error(io).
  void check(std::size_t number, const ArtifactReader& file, const StoredWeight& weight,
             const StoredComponent& component, std::uint64_t begin, std::uint64_t end) const {
    if (sound_ == nullptr || sound_[number].load(std::memory_order_acquire)) return;
    check_chunks(number, file, weight, component, begin, end);
  }

 private:
  void check_chunks(std::size_t number, const ArtifactReader& file, const StoredWeight& weight,
                    const StoredComponent& component, std::uint64_t begin, std::uint64_t end) const;

  std::unique_ptr<std::atomic<bool>[]> sound_;   ///< by component: all of it
  std::unique_ptr<std::atomic<bool>[]> chunks_;  ///< by chunk
  std::vector<std::size_t> first_chunk_;         ///< by component: its first in chunks_
};

}  // namespace synps
