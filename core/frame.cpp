#include "synps/frame.h"

#include <zstd.h>

#include <algorithm>

#include "synps/checked.h"

namespace synps {
namespace {

constexpr std::uint64_t kBlockBytes = 128 * 1024;  // the most that a block of a frame holds

}  // namespace

unsigned plane_width(DType dtype) noexcept {
  const unsigned bits = dtype_bits(dtype);
  return dtype_is_float(dtype) && bits > 8 ? bits / 8 : 1;
}

std::optional<std::uint64_t> frame_bound(std::uint64_t content) noexcept {
  const std::uint64_t small = content < kBlockBytes ? (kBlockBytes - content) >> 11 : 0;
  return checked_add(content, (content >> 8) + small);
}

std::uint64_t frame_floor(std::uint64_t content) noexcept {
  // Magic number, descriptor, window or size; blocks that repeat one byte; the checksum.
  return 6 + 4 * (content / kBlockBytes + (content % kBlockBytes != 0 ? 1 : 0)) + 4;
}

std::string zstd_version() {
  return ZSTD_versionString();
}

bool is_zstd_version(std::string_view text) noexcept {
  const auto is_digit = [](char c) { return c >= '0' && c <= '9'; };
  std::size_t dots = 0;
  char before = '.';
  for (const char c : text) {
    if (c == '.' ? before == '.' : !is_digit(c)) return false;
    dots += c == '.' ? 1 : 0;
    before = c;
  }
  return text.size() <= 32 && dots == 2 && before != '.';
}

}  // namespace synps
