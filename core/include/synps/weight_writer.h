#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "synps/file.h"
#include "synps/hash.h"

namespace synps {

/// Puts the bytes of weights at the places that a layout names, whatever kind of file it is.
/// Everything may be called from any number of threads, for ranges that do not overlap. `weight` is
/// an index into the layout's weights, `component` into the weight's components, and offsets are
/// counted in the component's true bytes.
class WeightWriter {
 public:
  virtual ~WeightWriter() = default;

  virtual void write(std::size_t weight, std::size_t component, std::uint64_t offset,
                     std::span<const std::byte> bytes) = 0;
  /// Reads back bytes that were written.
  virtual void read(std::size_t weight, std::size_t component, std::uint64_t offset,
                    std::span<std::byte> out) const = 0;

  /// Bytes of the blocks in which share() copies; 0 where it does not.
  virtual std::uint64_t shared_block_bytes() const noexcept = 0;
  /// Copies bytes of `from` without moving them, as AtomicFile::share().
  virtual std::uint64_t share(std::size_t weight, std::size_t component, std::uint64_t offset,
                              const InputFile& from, std::uint64_t from_offset,
                              std::uint64_t size) = 0;
  /// Offset in the file at which a component's true byte `offset` is written.
  virtual std::uint64_t file_offset(std::size_t weight, std::size_t component,
                                    std::uint64_t offset) const = 0;

  /// Whether set_digest() is of use: the file has checksums.
  virtual bool takes_digests() const noexcept = 0;
  /// Tells the digest of a chunk that the caller has hashed while writing it (for the last chunk:
  /// true bytes and padding).
  virtual void set_digest(std::size_t weight, std::size_t component, std::uint64_t chunk,
                          const Digest& digest) = 0;
};

}  // namespace synps
