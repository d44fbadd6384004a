#pragma once

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <vector>

namespace synps {

/// Units of work of items that have several each, numbered through. Keeps one number an item.
class WorkUnits {
 public:
  struct Unit {
    std::size_t item = 0;
    std::uint64_t number = 0;  ///< of the unit in its item
  };

  void reserve(std::size_t items) { ends_.reserve(items); }
  /// The next item, with so many units.
  void add(std::uint64_t units) { ends_.push_back(count() + units); }
  std::uint64_t count() const noexcept { return ends_.empty() ? 0 : ends_.back(); }
  Unit at(std::uint64_t unit) const {
    const auto end = std::upper_bound(ends_.begin(), ends_.end(), unit);
    const std::uint64_t begin = end == ends_.begin() ? 0 : *std::prev(end);
    return {static_cast<std::size_t>(end - ends_.begin()), unit - begin};
  }

 private:
  std::vector<std::uint64_t> ends_;  ///< units of all items up to and including this one
};

}  // namespace synps
