#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace synps::cli {

/// What is around a column of a line.
struct LinePart {
  std::string middle;
  bool cut_before = false;  ///< the line has more in front
  bool cut_after = false;
  std::size_t caret = 0;  ///< code points of `middle` before the column
  bool has_column = false;

  /// With an ellipsis wherever it is cut.
  std::string text() const;
};

/// Lines of text files, read again to be shown beside what is wrong with them. Asking for places
/// of one line again and again takes no longer the longer the line is.
class SourceLines {
 public:
  /// Of a line without its end, the `points` code points before and after `column` (1-based, in
  /// code points; 0: unknown, the line's beginning). Nothing when the file cannot be read, is too
  /// large to be a policy, or has no such line.
  std::optional<LinePart> part(const std::string& file, std::uint32_t number, std::uint32_t column,
                               std::size_t points);

 private:
  struct Line {
    std::string text;
    std::vector<std::size_t> marks{};  ///< bytes before each kStride-th code point, once needed
  };
  static std::vector<Line> read(const std::string& path);
  static void mark(Line& line);
  static std::size_t byte_of(const Line& line, std::size_t point);

  std::map<std::string, std::vector<Line>> files_;
};

/// A line and, below it, a caret under its column, in at most `width` columns: a longer line is cut
/// around the caret. What could disturb a terminal is escaped.
///
///        2 | dtyp = "f32"
///          | ^
std::string excerpt(const LinePart& line, std::uint32_t number, std::size_t width);

}  // namespace synps::cli
