#pragma once

#include <string_view>
#include <vector>

namespace synps {

/// The segments of a graph path: what stands between its dots.
std::vector<std::string_view> split_path(std::string_view path);

/// The segments of a valid pattern: what stands between the dots outside its braces.
std::vector<std::string_view> split_pattern(std::string_view pattern);

}  // namespace synps
