#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace synps::cli {

/// A weight of a table.
struct WeightLine {
  std::string path;
  std::string section;  ///< the heading that it stands under
  std::string shape;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
};

/// Weights under their headings, the heading with the most bytes first. Unless `all`, weights that
/// differ in numbers or sibling names only share a row.
std::string weight_table(const std::vector<WeightLine>& weights, bool all, std::size_t width);

}  // namespace synps::cli
