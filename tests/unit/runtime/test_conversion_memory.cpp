// What converting a weight takes besides its source and its result does not grow with the weight.

#include <doctest/doctest.h>

#include <cstdint>
#include <utility>
#include <vector>

#include "counted_new.h"
#include "storage_samples.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};
constexpr std::uint64_t kMiB = 1u << 20;

/// The most that is taken during a conversion, less what the result keeps.
template <typename Convert>
std::uint64_t taken_besides(Convert&& convert) {
  const std::uint64_t before = all_bytes.live();
  all_bytes.reset_peak();
  const SharedStorage made = convert();
  const std::uint64_t kept = all_bytes.live() - before;
  CHECK(kept < made->bytes() + kMiB / 4);
  return all_bytes.peak() - before - kept;
}

/// bf16 values: what they are does not matter, but that they are finite.
SharedStorage large_weight(const Shape& shape) {
  std::vector<std::byte> bytes(shape.elements() * 2);
  for (std::size_t i = 0; i < bytes.size(); ++i)
    bytes[i] = static_cast<std::byte>(i % 2 == 0 ? i / 512 : 0x3f);
  return storage_of({"w", shape, DType::bf16}, &builtin("bf16"), {std::move(bytes)});
}

}  // namespace

TEST_CASE("a conversion takes a few MiB besides its source and its result") {
  // Many rows, rows longer than a piece, and a vector: 32 MiB each.
  for (const Shape& shape : {Shape{4096, 4096}, Shape{16, 1024 * 1024}, Shape{16 * 1024 * 1024}}) {
    CAPTURE(shape.to_string());
    const bool matrix = shape.rank() == 2;
    const SharedStorage source = large_weight(shape);
    for (const std::string_view name : {"f32", "q4_0", "ternary:absmean", "ternary:tq2_0"}) {
      CAPTURE(name);
      CHECK(taken_besides([&] { return requantize(source, {&builtin(name)}); }) < 4 * kMiB);
      CHECK(taken_besides([&] {
              return requantize(source, {.codec = &builtin(name), .compress = kZstd});
            }) < 16 * kMiB);
    }
    const SharedStorage blocks = requantize(source, {&builtin("q8_0")});
    CHECK(taken_besides([&] { return repack(blocks, {&builtin("f32")}); }) < 4 * kMiB);
    if (!matrix) continue;
    SharedStorage rows8;
    CHECK(taken_besides([&] { return rows8 = repack(blocks, {.order = Order::rows8}); }) <
          4 * kMiB);
    CHECK(taken_besides([&] { return requantize(rows8, {&builtin("q4_0")}); }) < 4 * kMiB);
    CHECK(taken_besides([&] { return repack(rows8, {.order = Order::rows1}); }) < 4 * kMiB);
    CHECK(taken_besides([&] { return repack(source, {.compress = kZstd}); }) < 16 * kMiB);
  }
}

TEST_CASE("a compressed source is inflated a chunk at a time") {
  const SharedStorage squeezed = repack(large_weight(Shape{4096, 4096}), {.compress = kZstd});
  CHECK(taken_besides([&] {
          return requantize(squeezed, {.codec = &builtin("q8_0"), .compress = CompressRequest{}});
        }) < 8 * kMiB);
  CHECK(taken_besides([&] { return repack(squeezed, {.compress = CompressRequest{}}); }) <
        8 * kMiB);
}

}  // namespace synps::testing
