// Which items go into which file.

#include <doctest/doctest.h>

#include <cstdint>
#include <numeric>
#include <vector>

#include "shard_cut.h"
#include "test_values.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr std::uint64_t kOverhead = 10;     // of a file
constexpr std::uint64_t kItemOverhead = 3;  // of an item in it

struct Files {
  std::vector<std::uint64_t> items;
  std::uint64_t limit = 0;
  std::uint64_t asked = 0;
  std::size_t most_files = SIZE_MAX;

  std::uint64_t file_bytes(std::size_t first, std::size_t count) {
    ++asked;
    const auto begin = items.begin() + static_cast<std::ptrdiff_t>(first);
    return std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(count),
                           kOverhead + kItemOverhead * count);
  }
  std::vector<std::size_t> cut() {
    return cut_into_files(
        {items.size(), limit, most_files, [&](std::size_t i) { return items[i]; },
         [&](std::size_t first, std::size_t count) { return file_bytes(first, count); }});
  }
  /// The same, item by item.
  std::vector<std::size_t> cut_slowly() {
    std::vector<std::size_t> counts;
    for (std::size_t first = 0; first < items.size(); first += counts.back()) {
      std::size_t count = 1;
      while (first + count < items.size() && file_bytes(first, count + 1) <= limit) ++count;
      counts.push_back(count);
    }
    return counts;
  }
};

}  // namespace

TEST_CASE("files are filled one after the other") {
  CHECK(Files{{}, 100}.cut().empty());
  CHECK(Files{{1}, 100}.cut() == std::vector<std::size_t>{1});
  CHECK(Files{{20, 20, 20, 20}, 100}.cut() == std::vector<std::size_t>{3, 1});
  CHECK(Files{{20, 20, 20, 21}, 102}.cut() == std::vector<std::size_t>{3, 1});
  CHECK(Files{{20, 20, 20, 20}, 102}.cut() == std::vector<std::size_t>{4});
  CHECK(Files{{20, 20, 20, 20}, 101}.cut() == std::vector<std::size_t>{3, 1});
}

TEST_CASE("an item that fits no file has one of its own") {
  CHECK(Files{{1, 500, 1, 1, 600, 700}, 100}.cut() == std::vector<std::size_t>{1, 1, 2, 1, 1});
  CHECK(Files{{95, 5}, 100}.cut() == std::vector<std::size_t>{1, 1});
  CHECK(Files{{0, 0, 0}, 1}.cut() == std::vector<std::size_t>{1, 1, 1});
  CHECK(Files{{UINT64_MAX / 4, UINT64_MAX / 4}, 100}.cut() == std::vector<std::size_t>{1, 1});
}

TEST_CASE("it is what going item by item gives, at less cost") {
  for (std::uint32_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    Files files;
    files.limit = 50 + 7 * seed;
    for (const float value : test_values(300, seed))
      files.items.push_back(static_cast<std::uint64_t>(value < 0 ? -value * 30 : value * 30));
    const std::vector<std::size_t> fast = files.cut();
    const std::uint64_t asked = files.asked;
    files.asked = 0;
    CHECK(fast == files.cut_slowly());
    CHECK(asked <= 5 * fast.size());
  }
}

TEST_CASE("a file costs a few questions, however many items it holds") {
  Files files;
  files.limit = 1'000'000;
  for (const float value : test_values(100'000, 3))
    files.items.push_back(static_cast<std::uint64_t>(value < 0 ? -value * 30 : value * 30));
  const std::vector<std::size_t> counts = files.cut();
  CHECK(counts.size() > 1);
  CHECK(files.asked <= 8 * counts.size());
}

TEST_CASE("items whose overhead is all they add are cut, too") {
  Files files{std::vector<std::uint64_t>(10'000, 0), 3'000};
  CHECK(files.cut() == files.cut_slowly());
}

TEST_CASE("a cut into too many files ends early") {
  Files files{std::vector<std::uint64_t>(10'000, 20), 25};
  files.most_files = 7;
  CHECK(files.cut().size() == 8);
}
