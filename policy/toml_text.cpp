#include "toml_text.h"

#include <algorithm>
#include <cstdint>

#include <fmt/format.h>

#include "synps/error.h"

namespace synps {
namespace {

bool continues(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

// Byte offset of the n-th code point (from 0), or the size.
std::size_t offset_of(std::string_view text, std::size_t n) noexcept {
  std::size_t at = 0;
  for (; n > 0 && at < text.size(); --n) {
    ++at;
    while (at < text.size() && continues(text[at])) ++at;
  }
  return at;
}

// The code point at `at`, which must start one; moves `at` past it. The text is valid UTF-8.
char32_t next_code_point(std::string_view text, std::size_t& at) noexcept {
  const auto first = static_cast<unsigned char>(text[at++]);
  if (first < 0x80) return first;
  char32_t value = first < 0xE0 ? first & 0x1FU : first < 0xF0 ? first & 0x0FU : first & 0x07U;
  while (at < text.size() && continues(text[at]))
    value = (value << 6) | (static_cast<unsigned char>(text[at++]) & 0x3FU);
  return value;
}

// Whether a message would escape the bytes of this code point, so that they could not be pasted.
bool shown_escaped(std::string_view bytes) {
  return escape_for_display(bytes) != bytes;
}

std::string basic_string(std::string_view text) {
  std::string out = "\"";
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t begin = at;
    const char32_t c = next_code_point(text, at);
    const std::string_view bytes = text.substr(begin, at - begin);
    if (c == U'"' || c == U'\\') {
      out += '\\';
      out += bytes;
    } else if (c < 0x20 || c == 0x7F || shown_escaped(bytes)) {
      const auto value = static_cast<std::uint32_t>(c);
      out += value > 0xFFFF ? fmt::format("\\U{:08X}", value) : fmt::format("\\u{:04X}", value);
    } else {
      out += bytes;
    }
  }
  return out += '"';
}

}  // namespace

TomlText::TomlText(std::string_view text) : text_(text), starts_{0} {
  for (std::size_t at = text.find('\n'); at != std::string_view::npos; at = text.find('\n', at + 1))
    starts_.push_back(at + 1);
}

std::string_view TomlText::line(std::size_t number) const noexcept {
  if (number == 0 || number > starts_.size()) return {};
  const std::size_t begin = starts_[number - 1];
  std::string_view rest = text_.substr(begin);
  rest = rest.substr(0, rest.find('\n'));
  if (rest.ends_with('\r')) rest.remove_suffix(1);
  return rest;
}

std::string_view TomlText::from(SourcePlace place) const noexcept {
  const std::string_view whole = line(place.line);
  if (place.column == 0) return whole;
  return whole.substr(offset_of(whole, place.column - 1));
}

std::string toml_key(std::string_view text) {
  std::string basic = basic_string(text);
  const bool escapes = basic.size() != text.size() + 2;
  const bool literal_fits =
      text.find('\'') == std::string_view::npos && escape_for_display(text) == text;
  if (escapes && literal_fits) return fmt::format("'{}'", text);
  return basic;
}

std::string toml_quoted_key(std::string_view text) {
  return toml_key(text);
}

std::string toml_key_for_display(std::string_view text, std::size_t limit) {
  if (code_points(text) <= limit) return toml_key(text);
  return toml_key(text.substr(0, offset_of(text, limit))) + "…";
}

std::size_t code_points(std::string_view text) noexcept {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); }));
}

}  // namespace synps
