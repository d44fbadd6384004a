#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace synps::cli {

/// A table of plain text, columns two spaces apart. Cells are escaped by the caller where they
/// hold names from files.
class Table {
 public:
  enum class Align { left, right };
  struct Column {
    std::string title;
    Align align = Align::left;
  };

  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  void add(std::vector<std::string> cells) { lines_.push_back({std::move(cells), {}}); }
  /// A line of its own between rows, not cut into columns.
  void add_heading(std::string text) { lines_.push_back({{}, std::move(text)}); }

  /// At most `width` columns wide where that can be: the last column breaks into lines when it is
  /// left-aligned, and a first cell that does not fit its column gets a line of its own.
  /// Every line ends with a line feed; none ends with a space.
  std::string render(std::size_t width) const;

 private:
  struct Line {
    std::vector<std::string> cells;
    std::string heading;
  };
  std::vector<std::size_t> widths(std::size_t width) const;
  std::string line(const std::vector<std::string>& cells, const std::vector<std::size_t>& widths,
                   std::size_t width) const;

  std::vector<Column> columns_;
  std::vector<Line> lines_;
};

}  // namespace synps::cli
