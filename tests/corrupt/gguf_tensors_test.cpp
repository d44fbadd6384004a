#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "gguf_builder.h"
#include "gguf_problem.h"

namespace synps {
namespace {

using namespace synps::testing;
using Extents = std::vector<std::uint64_t>;

const std::string kNothing = "(nothing was thrown)";

std::string with(std::string_view name, const Extents& ne, std::uint32_t type,
                 std::uint64_t offset = 0) {
  return GgufBuilder().describe(name, ne, type, offset).data(std::string(4096, 'd')).build();
}

TEST_CASE("names of 0, 64 and 2^64-1 bytes") {
  const Problem empty = gguf_problem(with("", {4}, gguf::kF32));
  CHECK(empty.what == "a tensor's name of a length that GGUF does not allow");
  const Problem longer = gguf_problem(with(std::string(64, 'n'), {4}, gguf::kF32));
  CHECK(longer.found == "64 bytes");
  CHECK(longer.want == "1 to 63");
  std::string bytes = with("n", {4}, gguf::kF32);
  bytes.replace(24, 8, le(UINT64_MAX));
  CHECK(gguf_problem(bytes).what == "a tensor's name of a length that GGUF does not allow");
  const std::string data(16, 'd');
  CHECK(gguf_problem(GgufBuilder().tensor(std::string(63, 'n'), {4}, gguf::kF32, data).build())
            .what == kNothing);
}

TEST_CASE("names with NUL, ../ and escape bytes are escaped in messages") {
  const std::string name("../\x1B[31m\0\x9F", 10);
  GgufBuilder builder;
  builder.tensor("../\x1B[31m", {4}, 99, std::string(16, 'd'));
  const Problem problem = gguf_problem(builder.build());
  CHECK(problem.field == "tensor '../\\x1b[31m'");
}

TEST_CASE("duplicate names") {
  GgufBuilder builder;
  const std::string data(16, 'd');
  builder.tensor("b", {4}, gguf::kF32, data).tensor("a", {4}, gguf::kF32, data);
  const Problem problem = gguf_problem(builder.tensor("b", {2}, gguf::kF32, "12345678").build());
  CHECK(problem.what == "a tensor stands twice");
  CHECK(problem.field == "tensor 'b'");
}

TEST_CASE("5 dimensions") {
  for (const std::size_t rank : {std::size_t{5}, std::size_t{100}}) {
    const Problem problem = gguf_problem(with("w", Extents(rank, 1), gguf::kF32));
    CHECK(problem.what == "too many dimensions");
    CHECK(problem.want == "at most 4");
    CHECK(problem.field == "tensor 'w'");
  }
  std::string bytes = with("w", {4}, gguf::kF32);
  bytes.replace(24 + 8 + 1, 4, le(UINT32_MAX));
  CHECK(gguf_problem(bytes).what == "too many dimensions");
}

TEST_CASE("negative and zero dimensions") {
  CHECK(gguf_problem(with("w", {0}, gguf::kF32)).what == "a dimension of 0");
  CHECK(gguf_problem(with("w", {4, 0}, gguf::kF32)).what == "a dimension of 0");
  const Problem negative = gguf_problem(with("w", {4, UINT64_MAX}, gguf::kF32));
  CHECK(negative.what == "a negative dimension");
  CHECK(negative.found == "-1");
  CHECK(gguf_problem(with("w", {std::uint64_t{1} << 63}, gguf::kF32)).what ==
        "a negative dimension");
}

TEST_CASE("products that wrap: elements, and bytes") {
  const std::uint64_t big = std::uint64_t{1} << 32;
  CHECK(gguf_problem(with("w", {big, big}, gguf::kF32)).what ==
        "the shape's element count does not fit 64 bits");
  CHECK(gguf_problem(with("w", {2, big, big / 2, 2}, gguf::kF32)).what ==
        "the shape's element count does not fit 64 bits");
  CHECK(gguf_problem(with("w", {big, big / 4}, gguf::kF32)).what ==
        "the tensor's size does not fit 64 bits");
  CHECK(gguf_problem(with("w", {big, big / 8}, gguf::kF32)).what ==
        "the tensor ends past the end of the file");
}

TEST_CASE("removed and unknown tensor types") {
  for (const std::uint32_t type : {4u, 5u, 31u, 32u, 33u, 36u, 37u, 38u}) {
    const Problem problem = gguf_problem(with("w", {256}, type));
    CHECK(problem.what == "a tensor type that GGUF no longer has");
    CHECK(problem.hint == "convert the model again");
  }
  for (const std::uint32_t type : {43u, 1000u, UINT32_MAX}) {
    const Problem problem = gguf_problem(with("w", {256}, type));
    CHECK(problem.what == "an unknown tensor type");
    CHECK(problem.found == "type " + std::to_string(type));
    CHECK(problem.field == "tensor 'w'");
    CHECK(problem.offset == 24 + 8 + 1 + 4 + 8);
  }
}

TEST_CASE("rows that are no whole number of blocks") {
  const Problem problem = gguf_problem(with("w", {48, 2}, gguf::kQ8_0));
  CHECK(problem.what == "rows that are no whole number of Q8_0 blocks");
  CHECK(problem.found == "ne [48, 2]: 48 elements a row");
  CHECK(problem.want == "a multiple of 32");
  CHECK(gguf_problem(with("w", {128, 2}, gguf::kTQ2_0)).what ==
        "rows that are no whole number of TQ2_0 blocks");
  CHECK(gguf_problem(with("w", {}, gguf::kQ4_0)).what ==
        "rows that are no whole number of Q4_0 blocks");
}

TEST_CASE("offsets that are not aligned") {
  for (const std::uint64_t offset : {std::uint64_t{1}, std::uint64_t{16}, UINT64_MAX}) {
    const Problem problem = gguf_problem(with("w", {4}, gguf::kF32, offset));
    CHECK(problem.what == "an offset that is not aligned");
    CHECK(problem.want == "a multiple of 32");
  }
  GgufBuilder builder;
  builder.u32("general.alignment", 64).alignment(64);
  builder.describe("w", {4}, gguf::kF32, 32).data(std::string(64, 'd'));
  CHECK(gguf_problem(builder.build()).want == "a multiple of 64");
}

TEST_CASE("tensors that overlap, and holes between them") {
  const auto two = [](std::uint64_t first, std::uint64_t second) {
    GgufBuilder builder;
    builder.describe("a", {16}, gguf::kF32, first).describe("b", {16}, gguf::kF32, second);
    return gguf_problem(builder.data(std::string(128, 'd')).build());
  };
  CHECK(two(0, 64).what == kNothing);
  CHECK(two(64, 0).what == kNothing);
  CHECK(two(0, 0).what == "the tensor overlaps the one before it");
  CHECK(two(0, 0).field == "tensor 'b'");
  CHECK(two(0, 32).what == "the tensor overlaps the one before it");
  CHECK(two(0, 96).what == "a hole before the tensor");
  CHECK(two(32, 96).what == "a hole before the tensor");
  CHECK(two(32, 96).field == "tensor 'a'");
}

TEST_CASE("offsets that wrap, or lie past the end") {
  const std::uint64_t last = UINT64_MAX - 31;
  GgufBuilder builder;
  builder.describe("a", {16}, gguf::kF32, last).data(std::string(64, 'd'));
  CHECK(gguf_problem(builder.build()).what == "a hole before the tensor");
  // Without a hole before it: the tensor before it takes all that there is.
  GgufBuilder wrapping;
  wrapping.describe("a", {(std::uint64_t{1} << 61) - 8}, gguf::kI8, 0);
  CHECK(gguf_problem(wrapping.build()).what == "the tensor ends past the end of the file");
}

TEST_CASE("data one byte short, and bytes behind the data") {
  GgufBuilder builder;
  builder.tensor("a", {3, 5}, gguf::kF32, std::string(60, 'd'));
  const std::string padded = builder.build();
  const std::string bare = builder.unpadded_end().build();
  CHECK(padded.size() == bare.size() + 4);
  CHECK(gguf_problem(padded).what == kNothing);
  CHECK(gguf_problem(bare).what == kNothing);
  const Problem shorter = gguf_problem(bare.substr(0, bare.size() - 1));
  CHECK(shorter.what == "the tensor ends past the end of the file");
  CHECK(shorter.hint == "the file may be cut short");
  std::string longer = padded;
  longer += 'x';
  const Problem problem = gguf_problem(longer);
  CHECK(problem.what == "bytes behind the last tensor");
  CHECK(problem.offset == padded.size());
}

TEST_CASE("a tensor that has the name of a key-value's entry") {
  GgufBuilder builder;
  builder.texts("t", std::vector<std::string>(65, "word"));
  builder.tensor("gguf.t", {4}, gguf::kF32, std::string(16, 'd'));
  CHECK(gguf_problem(builder.build()).what ==
        "a tensor has the name that a key-value gets in an artifact");
}

}  // namespace
}  // namespace synps
