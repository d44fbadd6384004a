#include "shard_cut.h"

#include <algorithm>

#include "synps/checked.h"

namespace synps {
namespace {

/// Guesses after which a search halves what is left.
constexpr int kGuesses = 6;

/// What a file has besides its items' own bytes: nearly a line over the number of items.
class Overhead {
 public:
  void learn(std::size_t count, std::uint64_t bytes) {
    const auto value = static_cast<double>(bytes);
    if (known_ && count != count_)
      slope_ = (value - value_) / (static_cast<double>(count) - static_cast<double>(count_));
    else if (!known_)
      slope_ = value / static_cast<double>(count);
    known_ = true;
    count_ = count;
    value_ = value;
  }
  double of(std::size_t count) const {
    return value_ + slope_ * (static_cast<double>(count) - static_cast<double>(count_));
  }

 private:
  bool known_ = false;
  std::size_t count_ = 0;
  double value_ = 0;
  double slope_ = 0;
};

/// Bytes of the first 0, 1, 2, … items from `first` on: as many as could fit, were it for their own
/// bytes alone.
std::vector<std::uint64_t> sums_of_items(const ShardCut& cut, std::size_t first) {
  std::vector<std::uint64_t> sums = {0};
  for (std::size_t i = first; i < cut.items; ++i) {
    const std::uint64_t sum = saturating_add(sums.back(), cut.item_bytes(i));
    if (sum > cut.limit) break;
    sums.push_back(sum);
  }
  return sums;
}

/// The most items in (low, high) that would fit if the overhead is what we take it for, or the next
/// to either end.
std::size_t guess(const std::vector<std::uint64_t>& sums, const Overhead& overhead,
                  std::uint64_t limit, std::size_t low, std::size_t high) {
  std::size_t fitting = low + 1;
  std::size_t too_many = high;
  while (too_many - fitting > 1) {
    const std::size_t middle = fitting + (too_many - fitting) / 2;
    const double bytes = static_cast<double>(sums[middle]) + overhead.of(middle);
    (bytes <= static_cast<double>(limit) ? fitting : too_many) = middle;
  }
  return fitting;
}

/// `overhead` is what the file before had.
std::size_t fitting_items(const ShardCut& cut, std::size_t first, Overhead& overhead) {
  const std::vector<std::uint64_t> sums = sums_of_items(cut, first);
  std::size_t low = 1;             // it may hold that, whether it fits or not
  std::size_t high = sums.size();  // does not fit, or is more than there are
  for (int round = 0; high > low + 1; ++round) {
    const std::size_t count =
        round < kGuesses ? guess(sums, overhead, cut.limit, low, high) : low + (high - low) / 2;
    const std::uint64_t bytes = cut.file_bytes(first, count);
    overhead.learn(count, bytes - std::min(bytes, sums[count]));
    (bytes <= cut.limit ? low : high) = count;
  }
  return low;
}

}  // namespace

std::vector<std::size_t> cut_into_files(const ShardCut& cut) {
  std::vector<std::size_t> counts;
  Overhead overhead;
  for (std::size_t first = 0; first < cut.items && counts.size() <= cut.most_files;
       first += counts.back())
    counts.push_back(fitting_items(cut, first, overhead));
  return counts;
}

}  // namespace synps
