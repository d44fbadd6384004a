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

  /// Bytes of the blocks in which share() copies; 0 where it does not.
  std::uint64_t shared_block_bytes() const noexcept { return file_.shared_block_bytes(); }
  /// Copies bytes of `from` to `offset` in a component without moving them, as AtomicFile::share().
  std::uint64_t share(std::size_t weight, std::size_t component, std::uint64_t offset,
                      const InputFile& from, std::uint64_t from_offset, std::uint64_t size);
  /// Offset in the file of a component's first byte.
  std::uint64_t file_offset(std::size_t weight, std::size_t component) const noexcept;
  /// Reads back true bytes of a component.
  void read(std::size_t weight, std::size_t component, std::uint64_t offset,
            std::span<std::byte> out) const;

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
  std::vector<std::byte> sums_;  ///< the digests, as they will be written
  std::vector<std::uint8_t> known_;
};

}  // namespace synps
