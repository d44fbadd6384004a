#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "chunk_digests.h"
#include "synps/weight_writer.h"

namespace synps {

/// Gathers a component's bytes of one unit, which come in sequence and in pieces, and hashes and
/// writes them a window at a time. For one thread.
class OutputWindow {
 public:
  /// The next bytes are those of [begin, end) of a component. `memory` is the window; everything
  /// referred to stays valid until finish().
  void start(WeightWriter& writer, std::size_t weight, std::size_t component,
             const StoredComponent& stored, std::uint64_t begin, std::uint64_t end,
             std::span<std::byte> memory);

  /// Bytes of the unit that have not been taken.
  std::uint64_t left() const noexcept { return end_ - at_ - filled_; }

  /// Room for the next `size` bytes, for the caller to fill before the next call; they are no more
  /// than are left, and than the window has. Writes what was taken before, where that makes room.
  std::span<std::byte> take(std::uint64_t size);
  std::size_t capacity() const noexcept { return memory_.size(); }

  /// Writes what has been taken.
  void flush();

 private:
  WeightWriter* writer_ = nullptr;
  std::size_t weight_ = 0;
  std::size_t component_ = 0;
  std::span<std::byte> memory_;
  std::uint64_t at_ = 0;  ///< of the window's first byte, in the component
  std::uint64_t end_ = 0;
  std::size_t filled_ = 0;
  ChunkDigests digests_;
};

}  // namespace synps
