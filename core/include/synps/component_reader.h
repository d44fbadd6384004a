#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "synps/artifact_reader.h"
#include "synps/frame_inflater.h"

namespace synps {

/// Reads true bytes of components, inflating compressed ones, in bounded memory and fastest in
/// rising order. Bytes are read, not mapped, so that a file that is cut meanwhile is an error.
/// Digests are not compared. For one thread.
class ComponentReader {
 public:
  /// `artifact` outlives the reader.
  explicit ComponentReader(const ArtifactReader& artifact) : artifact_(&artifact) {}

  /// Goes on with another artifact, which outlives the reader. Returns whether it is another.
  bool read_from(const ArtifactReader& artifact) noexcept {
    const bool other = artifact_ != &artifact;
    if (other) component_ = nullptr;
    artifact_ = &artifact;
    return other;
  }

  /// Fills `out` with true bytes of the component from `offset` in it. Throws Error(artifact) for a
  /// frame that is not what the format wants, naming weight, component and chunk; Error(io).
  void read(const StoredWeight& weight, const StoredComponent& component, std::uint64_t offset,
            std::span<std::byte> out);

  /// Inflates a chunk of a compressed component and lets go of it. Throws as read().
  void check_frame(const StoredWeight& weight, const StoredComponent& component,
                   std::uint64_t chunk);

 private:
  void begin_chunk(const StoredWeight& weight, const StoredComponent& component,
                   std::uint64_t chunk);
  void next_segment(std::span<std::byte> out);
  void read_chunk(const StoredWeight& weight, const StoredComponent& component, std::uint64_t chunk,
                  std::uint64_t offset, std::span<std::byte> out);
  std::span<std::byte> buffer(std::uint64_t size);

  const ArtifactReader* artifact_;
  std::optional<FrameInflater> inflater_;       ///< made for the first compressed component
  const StoredComponent* component_ = nullptr;  ///< whose chunk is being inflated; null: none
  std::uint64_t chunk_ = 0;
  std::uint64_t end_ = 0;           ///< bytes of the chunk that were inflated
  std::uint64_t kept_ = 0;          ///< how many of them, the last, `segment_` holds
  std::vector<std::byte> segment_;  ///< grows to the largest use, kSegmentBytes
};

}  // namespace synps
