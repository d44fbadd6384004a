#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

#include "synps/dtype.h"

namespace synps {

/// Bytes of a chunk that are split into byte planes and go through a buffer at a time. A chunk of
/// no more is one segment.
inline constexpr std::uint64_t kSegmentBytes = 1u << 20;
/// The most bytes a frame may look back. With the segment it bounds the memory of both directions.
inline constexpr unsigned kFrameWindowLog = 20;

/// What one frame holds: a chunk.
struct FrameContent {
  std::uint64_t bytes = 0;   ///< true bytes of the chunk, not 0
  unsigned plane_width = 1;  ///< bytes of an element whose planes are split; 1: nothing is split
};

/// Bytes of the elements that byte planes are made of: 2, 4 or 8 for floats of that size, else 1.
unsigned plane_width(DType dtype) noexcept;

/// Bytes of the segment of a chunk that starts at `offset` in it.
constexpr std::uint64_t segment_size(std::uint64_t chunk_bytes, std::uint64_t offset) noexcept {
  const std::uint64_t left = chunk_bytes - offset;
  return left < kSegmentBytes ? left : kSegmentBytes;
}

/// The most bytes that a frame of `content` bytes has: the formula of zstd's compressBound. Nothing
/// when that does not fit 64 bits.
std::optional<std::uint64_t> frame_bound(std::uint64_t content) noexcept;
/// The fewest that it can have: a header, four bytes a block of 128 KiB, a checksum.
std::uint64_t frame_floor(std::uint64_t content) noexcept;

/// The version of zstd that compresses here: "1.5.4".
std::string zstd_version();
/// Whether the text is such a version.
bool is_zstd_version(std::string_view text) noexcept;

/// A frame that is not what the format wants; whoever knows the place makes an Error of it.
class FrameFault : public std::runtime_error {
 public:
  explicit FrameFault(const std::string& what, std::string found_text = {},
                      std::string want_text = {})
      : std::runtime_error(what), found(std::move(found_text)), want(std::move(want_text)) {}

  std::string found;
  std::string want;
};

}  // namespace synps
