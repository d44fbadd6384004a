#include "pattern_text.h"

#include <cstdint>

namespace synps::pattern {
namespace {

/// Bytes of the UTF-8 sequence that `lead` starts, 0 when it starts none.
std::size_t sequence_length(std::uint8_t lead) noexcept {
  if (lead < 0x80) return 1;
  if (lead >= 0xC2 && lead <= 0xDF) return 2;
  if (lead >= 0xE0 && lead <= 0xEF) return 3;
  if (lead >= 0xF0 && lead <= 0xF4) return 4;
  return 0;
}

/// Overlong forms, surrogates and what lies past U+10FFFF are not UTF-8.
bool allowed(char32_t code_point, std::size_t length) noexcept {
  if (length == 3) return code_point >= 0x800 && (code_point < 0xD800 || code_point > 0xDFFF);
  if (length == 4) return code_point >= 0x10000 && code_point <= 0x10FFFF;
  return true;
}

}  // namespace

char32_t next_code_point(std::string_view text, std::size_t& at) noexcept {
  const auto byte = [&](std::size_t i) { return static_cast<std::uint8_t>(text[i]); };
  const std::uint8_t lead = byte(at);
  const std::size_t length = sequence_length(lead);
  const std::size_t start = at++;
  if (length == 1) return lead;
  if (length == 0 || length > text.size() - start) return kStrayByte + lead;
  char32_t code_point = lead & (0x7Fu >> length);
  for (std::size_t i = 1; i < length; ++i) {
    if ((byte(start + i) & 0xC0u) != 0x80u) return kStrayByte + lead;
    code_point = (code_point << 6) | (byte(start + i) & 0x3Fu);
  }
  if (!allowed(code_point, length)) return kStrayByte + lead;
  at = start + length;
  return code_point;
}

std::u32string to_code_points(std::string_view text) {
  std::u32string out;
  for (std::size_t at = 0; at < text.size();) out += next_code_point(text, at);
  return out;
}

void append_code_point(std::string& out, char32_t code_point) {
  const auto put = [&out](char32_t byte) { out += static_cast<char>(byte); };
  const auto continuation = [&put](char32_t bits) { put(0x80u | (bits & 0x3Fu)); };
  if (code_point >= kStrayByte) {
    put(code_point - kStrayByte);
  } else if (code_point < 0x80) {
    put(code_point);
  } else if (code_point < 0x800) {
    put(0xC0u | (code_point >> 6));
    continuation(code_point);
  } else if (code_point < 0x10000) {
    put(0xE0u | (code_point >> 12));
    continuation(code_point >> 6);
    continuation(code_point);
  } else {
    put(0xF0u | (code_point >> 18));
    continuation(code_point >> 12);
    continuation(code_point >> 6);
    continuation(code_point);
  }
}

std::vector<std::string_view> split_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  for (;;) {
    const std::size_t dot = path.find('.');
    segments.push_back(path.substr(0, dot));
    if (dot == std::string_view::npos) return segments;
    path.remove_prefix(dot + 1);
  }
}

std::string escape_literal(std::string_view text, bool inside_braces) {
  const std::string_view special = inside_braces ? "*?{}\\," : "*?{}\\";
  std::string out;
  for (const char c : text) {
    if (special.find(c) != std::string_view::npos) out += '\\';
    out += c;
  }
  return out;
}

}  // namespace synps::pattern
