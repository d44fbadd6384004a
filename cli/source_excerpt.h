#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace synps::cli {

/// Lines of text files, read again to be shown beside what is wrong with them.
class SourceLines {
 public:
  /// A line without its end; null when the file cannot be read, is too large to be a policy, or has
  /// no such line. Lives as long as this.
  const std::string* line(const std::string& file, std::uint32_t number);

 private:
  std::map<std::string, std::vector<std::string>> files_;
};

/// A line and, below it, a caret under `column` (1-based, in code points), in at most `width`
/// columns: a longer line is cut around the caret. What could disturb a terminal is escaped.
///
///        2 | dtyp = "f32"
///          | ^
std::string excerpt(std::string_view line, std::uint32_t number, std::uint32_t column,
                    std::size_t width);

}  // namespace synps::cli
