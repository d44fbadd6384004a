#include "synps/row_order.h"

#include <doctest/doctest.h>

#include <cstdint>
#include <vector>

namespace synps::testing {
namespace {

using Bytes = std::vector<std::byte>;

/// Bytes that tell where they are from.
Bytes numbered(std::uint64_t size) {
  Bytes bytes(size);
  std::uint32_t state = 1;
  for (std::byte& byte : bytes) {
    state = state * 1664525u + 1013904223u;
    byte = static_cast<std::byte>(state >> 24);
  }
  return bytes;
}

/// The layout by its definition, block after block.
Bytes by_definition(const RowBlocks& shape, const Bytes& from) {
  Bytes to;
  const std::uint64_t blocks = shape.row_bytes / shape.block_bytes;
  const auto append = [&](std::uint64_t row, std::uint64_t block) {
    const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * shape.row_bytes +
                                                                  block * shape.block_bytes);
    to.insert(to.end(), begin, begin + static_cast<std::ptrdiff_t>(shape.block_bytes));
  };
  std::uint64_t row = 0;
  for (; row + 8 <= shape.rows; row += 8)
    for (std::uint64_t block = 0; block < blocks; ++block)
      for (std::uint64_t r = 0; r < 8; ++r) append(row + r, block);
  for (; row < shape.rows; ++row)
    for (std::uint64_t block = 0; block < blocks; ++block) append(row, block);
  return to;
}

template <typename Body>
void for_each_shape(Body body) {
  for (const std::uint64_t block_bytes : {1u, 4u, 18u, 34u, 66u})
    for (std::uint64_t blocks = 0; blocks <= 5; ++blocks)
      for (std::uint64_t rows = 0; rows <= 33; ++rows) {
        CAPTURE(block_bytes);
        CAPTURE(blocks);
        CAPTURE(rows);
        body(RowBlocks{rows, blocks * block_bytes, block_bytes});
      }
}

Bytes to_rows8(const RowBlocks& shape, const Bytes& from) {
  Bytes to(from.size());
  rows8_from_rows1(shape, from, to);
  return to;
}

}  // namespace

TEST_CASE("rows8: there and back, and as it is defined") {
  for_each_shape([](const RowBlocks& shape) {
    const Bytes from = numbered(shape.rows * shape.row_bytes);
    const Bytes there = to_rows8(shape, from);
    CHECK(there == by_definition(shape, from));
    Bytes back(from.size());
    rows1_from_rows8(shape, there, back);
    CHECK(back == from);
    if (shape.rows < 8 || shape.row_bytes <= shape.block_bytes) CHECK(there == from);
  });
}

TEST_CASE("rows8: slabs of whole groups") {
  for_each_shape([](const RowBlocks& shape) {
    const Bytes from = numbered(shape.rows * shape.row_bytes);
    const Bytes want = to_rows8(shape, from);
    for (const std::uint64_t slab : {8u, 16u, 24u}) {
      Bytes got;
      for (std::uint64_t row = 0; row < shape.rows; row += slab) {
        const RowBlocks part{std::min(slab, shape.rows - row), shape.row_bytes, shape.block_bytes};
        const auto begin = from.begin() + static_cast<std::ptrdiff_t>(row * shape.row_bytes);
        const Bytes rows(begin, begin + static_cast<std::ptrdiff_t>(part.rows * part.row_bytes));
        const Bytes done = to_rows8(part, rows);
        got.insert(got.end(), done.begin(), done.end());
      }
      CHECK(got == want);
    }
  });
}

TEST_CASE("rows8: any rows and any blocks of them, as rows1") {
  const RowBlocks shape{21, 4 * 18, 18};
  const Bytes from = numbered(shape.rows * shape.row_bytes);
  const Bytes there = to_rows8(shape, from);
  for (std::uint64_t first = 0; first <= shape.rows; ++first)
    for (std::uint64_t rows = 0; first + rows <= shape.rows; ++rows)
      for (std::uint64_t block = 0; block <= 4; ++block)
        for (std::uint64_t blocks = 0; block + blocks <= 4; ++blocks) {
          Bytes want;
          for (std::uint64_t r = first; r < first + rows; ++r) {
            const auto begin =
                from.begin() + static_cast<std::ptrdiff_t>(r * shape.row_bytes + block * 18);
            want.insert(want.end(), begin, begin + static_cast<std::ptrdiff_t>(blocks * 18));
          }
          const BlockRange range{first, rows, block, blocks};
          Bytes got(want.size());
          copy_as_rows1(shape, Order::rows8, there, range, got);
          REQUIRE(got == want);
          copy_as_rows1(shape, Order::rows1, from, range, got);
          REQUIRE(got == want);
        }
}

TEST_CASE("names of orders") {
  CHECK(to_string(Order::rows8) == "rows8");
  CHECK(order_from("rows8") == Order::rows8);
  CHECK(order_from("rows1") == Order::rows1);
  CHECK_FALSE(order_from("rows4").has_value());
}

}  // namespace synps::testing
