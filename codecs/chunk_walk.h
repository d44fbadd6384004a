#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <vector>

#include "stored_rows.h"

namespace synps {

/// Goes through the rows of a stored matrix from the first to the last, with one chunk of every
/// component in memory.
class ChunkWalk {
 public:
  /// Fills `out` with the bytes of a chunk, padding included.
  using Read =
      std::function<void(std::size_t component, std::uint64_t chunk, std::span<std::byte> out)>;

  /// `buffer` has chunk_room() bytes for every component. All but `read` outlive the walk.
  ChunkWalk(const std::string& file, const StoredWeight& weight, const Codec& codec,
            std::span<std::byte> buffer, Read read);

  /// Goes on to the next rows: as many as the chunks at hand have in common. False after the last.
  /// Throws as slab_of_chunk(), and what `read` throws.
  bool next();

  std::uint64_t first() const noexcept { return first_; }
  std::uint64_t count() const noexcept { return end_ - first_; }
  /// Of every component the chunk that has these rows.
  std::span<const RowSlab> slabs() const noexcept { return slabs_; }

 private:
  struct Part {
    RowBlocks whole{};
    std::span<std::byte> room{};
    std::uint64_t next_chunk = 0;
  };
  void read_next(std::size_t component);

  const std::string& file_;
  const StoredWeight& weight_;
  Read read_;
  std::vector<Part> parts_;     ///< by component
  std::vector<RowSlab> slabs_;  ///< by component
  std::uint64_t first_ = 0;
  std::uint64_t end_ = 0;
};

}  // namespace synps
