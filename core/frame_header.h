#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "synps/frame.h"

namespace synps {

/// Bytes of the longest header that a frame can have.
inline constexpr std::size_t kLongestFrameHeader = 18;

/// Throws FrameFault unless `bytes` start with the header of a zstd frame as the format wants it:
/// with the content size `content`, a checksum, no dictionary, and a window of at most
/// 2^kFrameWindowLog bytes. `bytes` are the frame, or its first kLongestFrameHeader bytes.
void check_frame_header(std::span<const std::byte> bytes, std::uint64_t content);

}  // namespace synps
