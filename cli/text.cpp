#include "text.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <fmt/core.h>

#include <algorithm>
#include <array>

namespace synps::cli {

std::string grouped(std::uint64_t value) {
  const std::string digits = std::to_string(value);
  std::string out;
  for (std::size_t i = 0; i < digits.size(); ++i) {
    if (i != 0 && (digits.size() - i) % 3 == 0) out += ',';
    out += digits[i];
  }
  return out;
}

std::string human_bytes(std::uint64_t bytes) {
  constexpr std::array<std::string_view, 6> kUnits{"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  if (bytes < 1024) return fmt::format("{} B", bytes);
  double value = static_cast<double>(bytes) / 1024;
  std::size_t unit = 0;
  // 1023.995 would print as 1024.00 of the smaller unit.
  while (value >= 1023.995 && unit + 1 < kUnits.size()) {
    value /= 1024;
    ++unit;
  }
  return fmt::format("{:.{}f} {}", value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, kUnits[unit]);
}

std::string exact_bytes(std::uint64_t bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  return fmt::format("{} bytes ({})", grouped(bytes), human_bytes(bytes));
}

std::string counted(std::uint64_t count, std::string_view noun) {
  return fmt::format("{} {}{}", grouped(count), noun, count == 1 ? "" : "s");
}

std::string percent(std::uint64_t part, std::uint64_t whole) {
  if (whole == 0) return "-";
  return fmt::format("{:.1f}%", 100.0 * static_cast<double>(part) / static_cast<double>(whole));
}

std::string bits_each(std::uint64_t bytes, std::uint64_t elements) {
  if (elements == 0) return "-";
  return fmt::format("{:.2f}", 8.0 * static_cast<double>(bytes) / static_cast<double>(elements));
}

std::string short_codec(const std::string& id) {
  const std::size_t colon = id.find(':');
  if (colon == std::string::npos) return id;
  return std::string_view(id).substr(0, colon) == std::string_view(id).substr(colon + 1)
             ? id.substr(0, colon)
             : id;
}

std::string brief_number(double value) {
  return fmt::format("{:.4g}", value);
}

std::size_t display_width(std::string_view text) noexcept {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xC0u) != 0x80u;
  }));
}

std::string wrapped(std::string_view text, std::size_t width, std::size_t indent,
                    std::size_t start) {
  std::string out;
  std::size_t used = start;
  bool line_is_empty = true;
  while (!text.empty()) {
    const std::size_t end = std::min(text.find(' '), text.size());
    const std::string_view word = text.substr(0, end);
    const std::size_t length = display_width(word);
    if (!line_is_empty && used + 1 + length > width) {
      out += '\n' + std::string(indent, ' ');
      used = indent;
    } else if (!line_is_empty) {
      out += ' ';
      ++used;
    }
    out += word;
    used += length;
    line_is_empty = false;
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  return out;
}

std::size_t output_width() noexcept {
  winsize size{};
  if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) != 0 || size.ws_col == 0) return 100;
  return std::max<std::size_t>(size.ws_col, 40);
}

}  // namespace synps::cli
