#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "synps/artifact_index.h"
#include "synps/hash.h"
#include "synps/weight_writer.h"

namespace synps {

/// Hashes a component's bytes as they are written in sequence, and tells the writer the digest of
/// every chunk that it saw from its first byte to its last. Chunks it saw in part are left to
/// ArtifactWriter::finish(). Hashes nothing for a file without checksums.
class ChunkDigests {
 public:
  /// The next bytes are those of `component` from `offset` in it. Both references stay valid while
  /// update() is called.
  void start(WeightWriter& writer, std::size_t weight, std::size_t component,
             const StoredComponent& stored, std::uint64_t offset);

  /// Takes the next true bytes. Those of compressed components are not hashed.
  void update(std::span<const std::byte> bytes);

 private:
  void end_chunk();

  WeightWriter* writer_ = nullptr;
  const StoredComponent* stored_ = nullptr;
  std::size_t weight_ = 0;
  std::size_t component_ = 0;
  std::uint64_t offset_ = 0;
  std::uint64_t chunk_ = 0;
  bool whole_ = false;  ///< the chunk has been seen from its first byte
  Hasher hasher_;
};

}  // namespace synps
