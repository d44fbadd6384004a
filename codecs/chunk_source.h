#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "synps/artifact_reader.h"
#include "synps/component_reader.h"

namespace synps {

/// Gives the bytes of a file's components chunk by chunk, in the stored order: read with pread, so
/// that a file that is cut meanwhile is an error, compared with their digests, and inflated. For
/// one thread.
class ChunkSource {
 public:
  /// `verify`: whether digests are compared.
  explicit ChunkSource(bool verify) : verify_(verify) {}

  /// Reads from `file`, which outlives the source, from now on.
  void read_from(const ArtifactReader& file);

  /// Gives back the memory that inflating has taken.
  void release() noexcept;

  /// Fills `out`, of chunk_end − chunk_begin bytes: with the padding, for the last chunk of a
  /// component that is not compressed. Throws Error(artifact), naming weight, component and chunk,
  /// and Error(io).
  void read(const StoredWeight& weight, const StoredComponent& component, std::uint64_t chunk,
            std::span<std::byte> out);

 private:
  const ArtifactReader* file_ = nullptr;
  bool verify_;
  std::optional<ComponentReader> inflater_;  ///< made for the first compressed component
  std::vector<std::byte> piece_;             ///< of a frame that is compared
};

}  // namespace synps
