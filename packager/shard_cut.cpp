#include "shard_cut.h"

#include "synps/checked.h"

namespace synps {
namespace {

/// Items from `first` on that could fit, were it for their own bytes alone; at least one.
std::size_t most_items(const ShardCut& cut, std::size_t first) {
  std::uint64_t bytes = 0;
  std::size_t count = 0;
  while (first + count < cut.items) {
    bytes = saturating_add(bytes, cut.item_bytes(first + count));
    if (bytes > cut.limit) break;
    ++count;
  }
  return count == 0 ? 1 : count;
}

std::size_t fitting_items(const ShardCut& cut, std::size_t first) {
  const auto fits = [&](std::size_t count) { return cut.file_bytes(first, count) <= cut.limit; };
  std::size_t too_many = most_items(cut, first) + 1;  // or as good as
  // What a file has besides its items is little: the answer is near.
  std::size_t step = 1;
  std::size_t low = too_many - 1;
  while (low > 1 && !fits(low)) {
    too_many = low;
    low = low > step ? low - step : 1;
    step *= 2;
  }
  while (too_many - low > 1) {
    const std::size_t middle = low + (too_many - low) / 2;
    (fits(middle) ? low : too_many) = middle;
  }
  return low;
}

}  // namespace

std::vector<std::size_t> cut_into_files(const ShardCut& cut) {
  std::vector<std::size_t> counts;
  for (std::size_t first = 0; first < cut.items; first += counts.back())
    counts.push_back(fitting_items(cut, first));
  return counts;
}

}  // namespace synps
