#include "frame_header.h"

#include <fmt/format.h>

#include <array>

namespace synps {
namespace {

// RFC 8878, sections 3.1.1 and 3.1.2.
constexpr std::uint64_t kMagic = 0xFD2FB528;
constexpr std::uint64_t kSkippableMagic = 0x184D2A50;  // and the 15 numbers after it

/// Takes little-endian fields from the front.
class Fields {
 public:
  explicit Fields(std::span<const std::byte> bytes) : bytes_(bytes) {}

  std::uint64_t take(std::size_t count) {
    if (bytes_.size() < count) throw FrameFault("the zstd frame is cut short in its header");
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < count; ++i)
      value |= std::to_integer<std::uint64_t>(bytes_[i]) << (8 * i);
    bytes_ = bytes_.subspan(count);
    return value;
  }

 private:
  std::span<const std::byte> bytes_;
};

struct Descriptor {
  explicit Descriptor(std::uint64_t byte)
      : size_flag(byte >> 6),
        single_segment((byte >> 5 & 1) != 0),
        reserved((byte >> 3 & 1) != 0),
        checksum((byte >> 2 & 1) != 0),
        dictionary((byte & 3) != 0) {}

  std::uint64_t size_flag;
  bool single_segment;
  bool reserved;
  bool checksum;
  bool dictionary;
};

void check_magic(std::uint64_t magic) {
  if (magic == kMagic) return;
  if ((magic & ~std::uint64_t{15}) == kSkippableMagic)
    throw FrameFault("a skippable zstd frame stands where a chunk's frame should");
  throw FrameFault("the chunk is not a zstd frame", fmt::format("magic number {:08x}", magic),
                   fmt::format("{:08x}", kMagic));
}

void check_descriptor(const Descriptor& descriptor) {
  if (descriptor.reserved) throw FrameFault("the zstd frame sets a reserved bit");
  if (descriptor.dictionary)
    throw FrameFault("the zstd frame needs a dictionary", "", "no dictionary");
  if (!descriptor.checksum) throw FrameFault("the zstd frame has no checksum");
  if (descriptor.size_flag == 0 && !descriptor.single_segment)
    throw FrameFault("the zstd frame does not tell the size of its content");
}

std::uint64_t window_size(std::uint64_t byte) noexcept {
  const std::uint64_t base = std::uint64_t{1} << (10 + (byte >> 3));
  return base + base / 8 * (byte & 7);
}

std::uint64_t content_size(Fields& fields, std::uint64_t size_flag) {
  constexpr std::array<std::size_t, 4> kSizes = {1, 2, 4, 8};
  const std::uint64_t size = fields.take(kSizes[size_flag]);
  return size_flag == 1 ? size + 256 : size;
}

}  // namespace

void check_frame_header(std::span<const std::byte> bytes, std::uint64_t content) {
  Fields fields(bytes);
  check_magic(fields.take(4));
  const Descriptor descriptor(fields.take(1));
  check_descriptor(descriptor);
  std::uint64_t window = descriptor.single_segment ? 0 : window_size(fields.take(1));
  const std::uint64_t size = content_size(fields, descriptor.size_flag);
  if (size != content)
    throw FrameFault("the zstd frame announces another size than its chunk has",
                     fmt::format("{} bytes", size), fmt::format("{} bytes", content));
  if (descriptor.single_segment) window = size;
  if (constexpr std::uint64_t kMost = std::uint64_t{1} << kFrameWindowLog; window > kMost)
    throw FrameFault("the zstd frame needs a larger window than the format allows",
                     fmt::format("{} bytes", window), fmt::format("at most {} bytes", kMost));
}

}  // namespace synps
