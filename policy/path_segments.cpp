#include "path_segments.h"

#include <algorithm>

namespace synps {

std::vector<std::string_view> split_segments(std::string_view path) {
  std::vector<std::string_view> segments;
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    segments.push_back(path.substr(begin, end - begin));
    begin = end + 1;
  }
  return segments;
}

}  // namespace synps
