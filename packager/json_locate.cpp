#include "json_locate.h"

#include <simdjson.h>

#include <algorithm>

namespace synps {
namespace {

/// Bytes of the sequence that a lead byte announces; 1 for what is no lead byte.
std::size_t announced_size(unsigned char lead) noexcept {
  if (lead >= 0xF0) return 4;
  if (lead >= 0xE0) return 3;
  return lead >= 0xC0 ? 2 : 1;
}

}  // namespace

std::optional<std::size_t> find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = announced_size(static_cast<unsigned char>(text[at]));
    if (size > text.size() - at || !simdjson::validate_utf8(text.substr(at, size))) return at;
    at += size;
  }
  return std::nullopt;
}

JsonFaults find_json_faults(std::string_view text, std::size_t max_depth) {
  JsonFaults faults;
  std::optional<std::size_t> quote;
  std::size_t depth = 0;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (quote) {
      if (static_cast<unsigned char>(c) < 0x20 && !faults.control) faults.control = at;
      if (c == '\\') ++at;
      if (c == '"') quote.reset();
    } else if (c == '"') {
      quote = at;
    } else if (c == '{' || c == '[') {
      if (++depth > max_depth && !faults.too_deep) faults.too_deep = at;
    } else if ((c == '}' || c == ']') && depth > 0) {
      --depth;
    }
  }
  faults.unclosed = quote;
  return faults;
}

LineColumn line_column(std::string_view text, std::size_t at) {
  const std::string_view before = text.substr(0, at);
  const std::size_t newline = before.rfind('\n');
  const std::string_view line = newline == before.npos ? before : before.substr(newline + 1);
  const auto is_continuation = [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0) == 0x80;
  };
  const auto lines = std::count(before.begin(), before.end(), '\n');
  const auto continuations = std::count_if(line.begin(), line.end(), is_continuation);
  return {static_cast<std::size_t>(lines) + 1,
          line.size() - static_cast<std::size_t>(continuations) + 1};
}

}  // namespace synps
