#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

namespace synps {

/// Items of a file in several files: how many each of them holds.
struct ShardCut {
  std::size_t items = 0;
  std::uint64_t limit = 0;     ///< bytes that a file has at most, unless it holds one item alone
  std::size_t most_files = 0;  ///< after so many, and one more, the cut ends: there are too many
  /// Bytes of an item: no more than it adds to a file.
  std::function<std::uint64_t(std::size_t item)> item_bytes;
  /// Bytes of the whole file that holds `count` items from `first` on. Never falls with `count`.
  std::function<std::uint64_t(std::size_t first, std::size_t count)> file_bytes;
};

/// Fills one file after the other with items in their order, each with as many as fit. An item that
/// does not fit a file gets one of its own. Asks for about four sizes a file.
std::vector<std::size_t> cut_into_files(const ShardCut& cut);

}  // namespace synps
