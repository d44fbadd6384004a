// Frames of compressed components: a byte that picks the planes, three bytes of content size, and
// the stored frame. What is inflated has that size; all else is a fault in words.

#include <algorithm>
#include <array>
#include <span>
#include <vector>

#include "fuzz_support.h"
#include "synps/frame_compressor.h"
#include "synps/frame_inflater.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr std::size_t kPrefix = 4;

std::vector<std::byte> inflate(const FrameContent& content, std::span<const std::byte> frame) {
  FrameInflater inflater;
  inflater.begin(content, frame.size(), [&](std::uint64_t at, std::span<std::byte> out) {
    require(at <= frame.size() && out.size() <= frame.size() - at, "reads stay in the frame");
    std::copy_n(frame.begin() + std::ptrdiff_t(at), out.size(), out.begin());
  });
  std::vector<std::byte> bytes(content.bytes);
  for (std::size_t at = 0; at < bytes.size();) {
    const std::size_t size = inflater.next_size();
    require(size != 0 && size <= bytes.size() - at, "segments fill the content");
    inflater.next(std::span(bytes).subspan(at, size));
    at += size;
  }
  require(inflater.next_size() == 0, "nothing follows the content");
  return bytes;
}

/// What was inflated once can be compressed and inflated again.
void check_round_trip(const FrameContent& content, const std::vector<std::byte>& bytes) {
  FrameCompressor compressor;
  std::vector<std::byte> frame;
  compressor.begin(content, 1);
  compressor.add(bytes, [&](std::span<const std::byte> piece) {
    frame.insert(frame.end(), piece.begin(), piece.end());
  });
  require(compressor.complete(), "all of the content was taken");
  require(frame.size() <= frame_bound(content.bytes), "a frame keeps to its bound");
  require(frame.size() >= frame_floor(content.bytes), "a frame keeps to its floor");
  require(inflate(content, frame) == bytes, "the content comes back");
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size < kPrefix) return 0;
  constexpr std::array<unsigned, 4> kWidths = {1, 2, 4, 8};
  const unsigned width = kWidths[data[0] % kWidths.size()];
  const std::uint64_t bytes = data[1] | std::uint64_t{data[2]} << 8 | std::uint64_t{data[3]} << 16;
  const FrameContent content{(bytes / width + 1) * width, width};
  const auto frame = std::as_bytes(std::span(data, size)).subspan(kPrefix);
  // As a reader does, before it takes memory.
  if (frame.size() < frame_floor(content.bytes)) return 0;
  try {
    check_round_trip(content, inflate(content, frame));
  } catch (const FrameFault& fault) {
    require(fault.what()[0] != '\0', "a fault says what is wrong");
  }
  return 0;
}
