// Headers that are sound JSON, with shapes, sizes and offsets that do not fit together.
#include <doctest/doctest.h>

#include "safetensors_builder.h"
#include "synps/safetensors.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::string field(std::string_view name, std::string_view dtype, std::string_view shape,
                  std::string_view offsets) {
  return json_string(name) + ":{\"dtype\":" + json_string(dtype) +
         ",\"shape\":" + std::string(shape) + ",\"data_offsets\":" + std::string(offsets) + "}";
}

Problem problem_of(const std::string& fields, std::uint64_t data_bytes) {
  Problem problem = thrown_problem(
      [&] { parse_safetensors_header("{" + fields + "}", data_bytes, "model.safetensors"); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.file == "model.safetensors");
  return problem;
}

}  // namespace

TEST_CASE("shape product that wraps") {
  const std::string_view shapes[] = {
      "[4294967296,4294967296]", "[4294967296,4294967297]", "[18446744073709551615,2]",
      "[9223372036854775808,4,0]",  // wraps on the way: the reference multiplies in order
  };
  for (const std::string_view shape : shapes) {
    CAPTURE(shape);
    const Problem problem = problem_of(field("a", "U8", shape, "[0,0]"), 0);
    CHECK(problem.what == "the shape's element count does not fit 64 bits");
    CHECK(problem.field == "tensor 'a', shape");
    CHECK(problem.offset == 8 + 1 + 4 + 1 + 12 + 9);
  }
}

TEST_CASE("shape times dtype that wraps") {
  const Problem problem = problem_of(field("a", "F32", "[4611686018427387904]", "[0,0]"), 0);
  CHECK(problem.what == "the tensor's size is not a whole number of bytes that fits 64 bits");
  CHECK(problem.field == "tensor 'a', shape");
}

TEST_CASE("size that is not what shape and dtype need") {
  const Problem problem = problem_of(field("a", "F32", "[2,3]", "[0,23]"), 23);
  CHECK(problem.what == "the tensor's size is not what its shape and dtype need");
  CHECK(problem.field == "tensor 'a', data_offsets");
  CHECK(problem.found == "23 bytes");
  CHECK(problem.want == "24 bytes for shape [2, 3] of F32");
  CHECK(problem_of(field("a", "F32", "[]", "[0,0]"), 0).want == "4 bytes for shape [] of F32");
  CHECK(problem_of(field("a", "F32", "[0]", "[0,4]"), 4).want == "0 bytes for shape [0] of F32");
}

TEST_CASE("odd count of 4-bit elements, and 6-bit elements that end inside a byte") {
  const std::string_view what =
      "the tensor's size is not a whole number of bytes that fits 64 bits";
  CHECK(problem_of(field("a", "F4", "[3]", "[0,2]"), 2).what == what);
  CHECK(problem_of(field("a", "F4", "[3,3]", "[0,5]"), 5).what == what);
  CHECK(problem_of(field("a", "F6_E2M3", "[2]", "[0,2]"), 2).what == what);
  CHECK(problem_of(field("a", "F6_E3M2", "[5]", "[0,4]"), 4).what == what);
}

TEST_CASE("end before begin") {
  const Problem problem = problem_of(field("a", "U8", "[1]", "[2,1]"), 2);
  CHECK(problem.what == "data_offsets end before they begin");
  CHECK(problem.field == "tensor 'a', data_offsets");
  CHECK(problem.found == "[2, 1]");
}

TEST_CASE("first begin that is not 0") {
  const Problem problem = problem_of(field("a", "U8", "[1]", "[1,2]"), 2);
  CHECK(problem.what == "a hole in the data lies before the tensor");
  CHECK(problem.found == "begin 1");
  CHECK(problem.want == "0, where the start of the data is");
}

TEST_CASE("hole between two tensors, whatever the order of the keys") {
  const std::string a = field("a", "U8", "[4]", "[0,4]");
  const std::string b = field("b", "U8", "[4]", "[5,9]");
  for (const std::string& fields : {a + "," + b, b + "," + a}) {
    const Problem problem = problem_of(fields, 9);
    CHECK(problem.what == "a hole in the data lies before the tensor");
    CHECK(problem.field == "tensor 'b', data_offsets");
    CHECK(problem.found == "begin 5");
    CHECK(problem.want == "4, where tensor 'a' ends");
  }
}

TEST_CASE("overlap of two tensors") {
  const std::string a = field("a", "U8", "[4]", "[0,4]");
  CHECK(problem_of(a + "," + field("b", "U8", "[4]", "[3,7]"), 7).what ==
        "the tensor overlaps the one before");
  CHECK(problem_of(a + "," + field("b", "U8", "[4]", "[0,4]"), 4).what ==
        "the tensor overlaps the one before");
  CHECK(problem_of(a + "," + field("b", "U8", "[2]", "[1,3]"), 4).what ==
        "the tensor overlaps the one before");
  CHECK(problem_of(a + "," + field("b", "U8", "[0]", "[2,2]"), 4).field ==
        "tensor 'b', data_offsets");
}

TEST_CASE("offsets at 2^64-1") {
  const Problem problem =
      problem_of(field("a", "U8", "[18446744073709551615]", "[0,18446744073709551615]"), 10);
  CHECK(problem.what == "the file ends before its tensors do");
}

TEST_CASE("one byte of data too many, one too few") {
  const std::string a = field("a", "U8", "[4]", "[0,4]");
  CHECK(problem_of(a, 5).what == "bytes follow the last tensor");
  CHECK(problem_of(a, 3).what == "the file ends before its tensors do");
}
