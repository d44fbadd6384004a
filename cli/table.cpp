#include "table.h"

#include <algorithm>

#include "text.h"

namespace synps::cli {
namespace {

constexpr std::size_t kGap = 2;
constexpr std::size_t kNarrowestColumn = 20;

std::string padded(const std::string& cell, std::size_t width, Table::Align align) {
  const std::size_t used = display_width(cell);
  const std::string fill(width > used ? width - used : 0, ' ');
  return align == Table::Align::left ? cell + fill : fill + cell;
}

void trim_end(std::string& text) {
  while (!text.empty() && text.back() == ' ') text.pop_back();
}

}  // namespace

std::string Table::render(std::size_t width) const {
  const std::vector<std::size_t> columns = widths(width);
  std::vector<std::string> titles;
  for (const Column& column : columns_) titles.push_back(column.title);
  std::string out = line(titles, columns, width);
  for (const Line& row : lines_)
    out += row.cells.empty() ? row.heading + "\n" : line(row.cells, columns, width);
  return out;
}

/// Every column as wide as its widest cell; the first one gives way when the sum is too wide.
std::vector<std::size_t> Table::widths(std::size_t width) const {
  std::vector<std::size_t> out;
  for (std::size_t c = 0; c < columns_.size(); ++c) {
    std::size_t widest = display_width(columns_[c].title);
    for (const Line& row : lines_)
      if (!row.cells.empty()) widest = std::max(widest, display_width(row.cells[c]));
    out.push_back(widest);
  }
  std::size_t others = 0;
  for (std::size_t c = 1; c < out.size(); ++c) others += out[c] + kGap;
  const std::size_t room = width > others ? width - others : 0;
  if (columns_.back().align == Align::right)
    out.front() = std::min(out.front(), std::max(room, kNarrowestColumn));
  return out;
}

std::string Table::line(const std::vector<std::string>& cells,
                        const std::vector<std::size_t>& widths, std::size_t width) const {
  std::string out;
  std::size_t used = 0;
  for (std::size_t c = 0; c < cells.size(); ++c) {
    if (c + 1 == cells.size() && columns_[c].align == Align::left) {
      out += wrapped(cells[c], std::max(width, used + kNarrowestColumn), used, used);
      break;
    }
    if (c == 0 && display_width(cells[c]) > widths[c]) {
      out += cells[c];
      trim_end(out);
      out += '\n' + std::string(widths[c], ' ');
    } else {
      out += padded(cells[c], widths[c], columns_[c].align);
    }
    out += std::string(kGap, ' ');
    used += widths[c] + kGap;
  }
  trim_end(out);
  return out + "\n";
}

}  // namespace synps::cli
