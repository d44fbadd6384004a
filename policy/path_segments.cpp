#include "path_segments.h"

#include <algorithm>

namespace synps {

std::vector<std::string_view> split_path(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

std::vector<std::string_view> split_pattern(std::string_view pattern) {
  std::vector<std::string_view> segments;
  std::size_t begin = 0;
  std::size_t depth = 0;  // of braces
  for (std::size_t i = 0; i < pattern.size(); ++i) {
    const char c = pattern[i];
    if (c == '\\') ++i;
    if (c == '{') ++depth;
    if (c == '}') --depth;
    if (c != '.' || depth > 0) continue;
    segments.push_back(pattern.substr(begin, i - begin));
    begin = i + 1;
  }
  segments.push_back(pattern.substr(begin));
  return segments;
}

}  // namespace synps
