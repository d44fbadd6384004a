#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/file.h"

namespace synps {

/// Puts an artifact's bytes at the places its layout names. write() and set_digest() may be called
/// from any number of threads, for ranges that do not overlap.
class ArtifactWriter {
 public:
  /// `file` outlives the writer. Allocates the whole file.
  ArtifactWriter(AtomicFile& file, const ArtifactLayout& layout);

  /// Writes true bytes of a component, `offset` counted in the component.
  void write(std::size_t weight, std::size_t component, std::uint64_t offset,
             std::span<const std::byte> bytes);

  /// Tells the digest of a chunk that the caller has hashed while writing it (for the last chunk:
  /// true bytes and padding). Chunks that nobody tells are read back by finish().
  void set_digest(std::size_t weight, std::size_t component, std::uint64_t chunk,
                  const Digest& digest);

  /// Writes sums, index and header. Every true byte must have been written. Does not commit the
  /// file.
  void finish();

 private:
  void read_back_digests();

  AtomicFile& file_;
  const ArtifactLayout& layout_;
  std::vector<Digest> digests_;
  std::vector<std::uint8_t> known_;
};

}  // namespace synps
