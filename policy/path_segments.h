#pragma once

#include <string_view>
#include <vector>

namespace synps {

/// The segments of a graph path, or of a pattern without escaped dots.
std::vector<std::string_view> split_segments(std::string_view path);

}  // namespace synps
