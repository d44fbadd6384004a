#include "source_excerpt.h"

#include <fmt/core.h>

#include <algorithm>

#include "synps/error.h"
#include "synps/file.h"
#include "text.h"

namespace synps::cli {
namespace {

/// Larger than any policy file may be.
constexpr std::uint64_t kMaxBytes = 2 << 20;
/// Columns that are left for text on the narrowest terminal.
constexpr std::size_t kLeastText = 20;
constexpr std::size_t kTabWidth = 4;
/// Code points between marks in a line.
constexpr std::size_t kStride = 256;

bool continues(char c) noexcept {
  return (static_cast<unsigned char>(c) & 0xC0U) == 0x80U;
}

/// A line as it is shown: a cell for each code point.
std::vector<std::string> cells_of(std::string_view line) {
  std::vector<std::string> cells;
  for (std::size_t at = 0; at < line.size();) {
    std::size_t end = at + 1;
    while (end < line.size() && continues(line[end])) ++end;
    const std::string_view bytes = line.substr(at, end - at);
    cells.push_back(bytes == "\t" ? std::string(kTabWidth, ' ') : escape_for_display(bytes));
    at = end;
  }
  return cells;
}

std::size_t width_of(const std::vector<std::string>& cells, std::size_t from, std::size_t to) {
  std::size_t width = 0;
  for (std::size_t i = from; i < to; ++i) width += display_width(cells[i]);
  return width;
}

/// Cells [first, last) of a line that fit `room`, with the one at `caret` among them.
struct Window {
  std::size_t first = 0;
  std::size_t last = 0;
};

Window window_around(const LinePart& line, const std::vector<std::string>& cells, std::size_t caret,
                     std::size_t room) {
  const bool whole = !line.cut_before && !line.cut_after;
  if (whole && width_of(cells, 0, cells.size()) <= room) return {0, cells.size()};
  constexpr std::size_t kEllipses = 2;
  room -= kEllipses;
  Window window{std::min(caret, cells.size()), std::min(caret, cells.size())};
  std::size_t used = 0;
  // A third of the room goes before the caret, what is left of it all to what follows.
  while (window.first > 0 && used + display_width(cells[window.first - 1]) <= room / 3)
    used += display_width(cells[--window.first]);
  while (window.last < cells.size() && used + display_width(cells[window.last]) <= room)
    used += display_width(cells[window.last++]);
  while (window.first > 0 && used + display_width(cells[window.first - 1]) <= room)
    used += display_width(cells[--window.first]);
  return window;
}

}  // namespace

std::string LinePart::text() const {
  return (cut_before ? "…" : "") + middle + (cut_after ? "…" : "");
}

std::vector<SourceLines::Line> SourceLines::read(const std::string& path) {
  std::vector<Line> lines;
  try {
    const InputFile file(Os::posix(), path, ErrorCode::policy);
    if (file.size() > kMaxBytes) return lines;
    const std::vector<std::byte> bytes = file.read_all();
    std::string_view rest(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    for (;;) {
      const std::size_t end = rest.find('\n');
      std::string_view line = rest.substr(0, end);
      if (line.ends_with('\r')) line.remove_suffix(1);
      lines.push_back({std::string(line)});
      if (end == std::string_view::npos) return lines;
      rest.remove_prefix(end + 1);
    }
  } catch (const Error&) {
    return lines;  // what is wrong is said all the same
  }
}

void SourceLines::mark(Line& line) {
  std::size_t points = 0;
  for (std::size_t at = 0; at < line.text.size(); ++at)
    if (at == 0 || !continues(line.text[at]))
      if (points++ % kStride == 0) line.marks.push_back(at);
  if (line.marks.empty()) line.marks.push_back(0);
}

/// Bytes before the code point of that number, or of the whole line when it has fewer.
std::size_t SourceLines::byte_of(const Line& line, std::size_t point) {
  const std::size_t mark = point / kStride;
  if (mark >= line.marks.size()) return line.text.size();
  std::size_t at = line.marks[mark];
  for (std::size_t left = point % kStride; left > 0 && at < line.text.size(); --left) {
    ++at;
    while (at < line.text.size() && continues(line.text[at])) ++at;
  }
  return at;
}

std::optional<LinePart> SourceLines::part(const std::string& file, std::uint32_t number,
                                          std::uint32_t column, std::size_t points) {
  auto it = files_.find(file);
  if (it == files_.end()) it = files_.emplace(file, read(file)).first;
  if (number == 0 || number > it->second.size()) return std::nullopt;
  Line& line = it->second[number - 1];
  if (line.marks.empty()) mark(line);
  const std::size_t caret = column == 0 ? 0 : column - 1;
  const std::size_t first = caret - std::min(caret, points);
  const std::size_t begin = byte_of(line, first);
  const std::size_t end = byte_of(line, caret + points);
  LinePart part;
  part.middle = line.text.substr(begin, end - begin);
  part.cut_before = begin > 0;
  part.cut_after = end < line.text.size();
  part.caret = caret - first;
  part.has_column = column != 0;
  return part;
}

std::string excerpt(const LinePart& line, std::uint32_t number, std::size_t width) {
  const std::string margin = fmt::format("{:>5} | ", number);
  const std::string below = std::string(margin.size() - 2, ' ') + "| ";
  const std::vector<std::string> cells = cells_of(line.middle);
  const std::size_t caret = std::min(line.caret, cells.size());
  const std::size_t room = std::max(width > margin.size() ? width - margin.size() : 0, kLeastText);
  const Window window = window_around(line, cells, caret, room);
  const bool cut_before = line.cut_before || window.first > 0;
  std::string text = cut_before ? "…" : "";
  for (std::size_t i = window.first; i < window.last; ++i) text += cells[i];
  if (line.cut_after || window.last < cells.size()) text += "…";
  while (!text.empty() && text.back() == ' ') text.pop_back();
  if (!line.has_column) return margin + text + "\n";
  const std::size_t before = (cut_before ? 1 : 0) + width_of(cells, window.first, caret);
  return margin + text + "\n" + below + std::string(before, ' ') + "^\n";
}

}  // namespace synps::cli
