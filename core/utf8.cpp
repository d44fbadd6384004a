#include "utf8.h"

namespace synps {
namespace {

struct Lead {
  std::size_t size;
  std::uint32_t bits;
  std::uint32_t minimum;
};

Lead lead_of(std::uint8_t byte) noexcept {
  if (byte < 0x80) return {1, byte, 0};
  if (byte >= 0xC2 && byte <= 0xDF) return {2, byte & 0x1Fu, 0x80};
  if (byte >= 0xE0 && byte <= 0xEF) return {3, byte & 0x0Fu, 0x800};
  if (byte >= 0xF0 && byte <= 0xF4) return {4, byte & 0x07u, 0x10000};
  return {0, 0, 0};
}

}  // namespace

CodePoint code_point_at(std::string_view text, std::size_t at) noexcept {
  if (at >= text.size()) return {0, 0, true};
  const CodePoint invalid{static_cast<std::uint8_t>(text[at]), 1, false};
  const Lead lead = lead_of(static_cast<std::uint8_t>(text[at]));
  if (lead.size == 0 || lead.size > text.size() - at) return invalid;
  std::uint32_t value = lead.bits;
  for (std::size_t i = 1; i < lead.size; ++i) {
    const auto byte = static_cast<std::uint8_t>(text[at + i]);
    if ((byte & 0xC0u) != 0x80u) return invalid;
    value = value << 6 | (byte & 0x3Fu);
  }
  const bool surrogate = value >= 0xD800 && value <= 0xDFFF;
  if (value < lead.minimum || surrogate || value > 0x10FFFF) return invalid;
  return {value, lead.size, true};
}

}  // namespace synps
