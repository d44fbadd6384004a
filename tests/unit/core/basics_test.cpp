// Checked arithmetic, dtypes, shapes, schemes and forms.

#include <doctest/doctest.h>

#include <limits>
#include <set>

#include "synps/checked.h"
#include "synps/error.h"
#include "synps/form.h"
#include "synps/scheme.h"
#include "synps/shape.h"

namespace synps {
namespace {

constexpr std::uint64_t kMax = std::numeric_limits<std::uint64_t>::max();

TEST_CASE("checked arithmetic says when a result does not fit") {
  CHECK(checked_add(kMax - 1, 1) == kMax);
  CHECK_FALSE(checked_add(kMax, 1));
  CHECK(checked_mul(1u << 31, 1u << 31) == std::uint64_t{1} << 62);
  CHECK_FALSE(checked_mul(std::uint64_t{1} << 32, std::uint64_t{1} << 32));
  CHECK(checked_round_up(0, 64) == 0);
  CHECK(checked_round_up(1, 64) == 64);
  CHECK(checked_round_up(64, 64) == 64);
  CHECK_FALSE(checked_round_up(kMax - 3, 64));
  CHECK(range_fits(4, 4, 8));
  CHECK_FALSE(range_fits(4, 5, 8));
  CHECK_FALSE(range_fits(9, 0, 8));
  CHECK_FALSE(range_fits(1, kMax, 8));
}

TEST_CASE("every dtype has a name of its own and reads back from it") {
  std::set<std::string_view> names;
  for (const DType dtype : all_dtypes()) {
    CAPTURE(dtype_name(dtype));
    CHECK(names.insert(dtype_name(dtype)).second);
    CHECK(dtype_from_name(dtype_name(dtype)) == dtype);
    CHECK(dtype_from_name(encoding_name(dtype)) == std::nullopt);  // case matters
  }
  CHECK(names.size() == 22);
  CHECK_FALSE(dtype_from_name("F128"));
  CHECK_FALSE(dtype_from_name(""));
}

TEST_CASE("dtypes have the sizes of the safetensors format") {
  CHECK(dtype_bits(DType::f4) == 4);
  CHECK(dtype_bits(DType::f6_e2m3) == 6);
  CHECK(dtype_bits(DType::boolean) == 8);
  CHECK(dtype_bits(DType::bf16) == 16);
  CHECK(dtype_bits(DType::c64) == 64);
  CHECK(dtype_is_float(DType::f8_e8m0));
  CHECK_FALSE(dtype_is_float(DType::c64));
  CHECK_FALSE(dtype_is_float(DType::boolean));
}

TEST_CASE("shapes count elements, rows and columns") {
  const Shape scalar;
  CHECK(scalar.elements() == 1);
  CHECK(scalar.rows() == 1);
  CHECK(scalar.columns() == 1);
  CHECK(scalar.to_string() == "[]");
  const Shape vector{7};
  CHECK(vector.rows() == 1);
  CHECK(vector.columns() == 7);
  const Shape cube{2, 3, 5};
  CHECK(cube.elements() == 30);
  CHECK(cube.rows() == 6);
  CHECK(cube.columns() == 5);
  CHECK(cube.to_string() == "[2, 3, 5]");
  const Shape empty{4, 0};
  CHECK(empty.elements() == 0);
  CHECK(empty.rows() == 4);
}

TEST_CASE("a shape whose product wraps does not come into being") {
  const std::uint64_t big = std::uint64_t{1} << 33;
  CHECK_FALSE(Shape::make({big, big}));
  CHECK_FALSE(Shape::make({big, big, 0}));  // the rows alone do not fit
  CHECK(Shape::make({0, big, big})->elements() == 0);
  CHECK_FALSE(Shape::make({big, big, 2, 0 + 1}));
  CHECK_THROWS_AS(Shape({big, big}), Error);
}

TEST_CASE("sizes in bytes are whole or nothing") {
  CHECK(Shape{3}.bytes(DType::f32) == 12);
  CHECK(Shape{2, 3}.bytes(DType::f4) == 3);
  CHECK_FALSE(Shape{3}.bytes(DType::f4));
  CHECK(Shape{4}.bytes(DType::f6_e3m2) == 3);
  CHECK_FALSE(Shape{2}.bytes(DType::f6_e3m2));
  CHECK_FALSE(Shape{std::uint64_t{1} << 62}.bytes(DType::f32));
  CHECK(Shape{std::uint64_t{1} << 61}.bytes(DType::f32) == std::uint64_t{1} << 63);
}

TEST_CASE("a shape of rank 1000 is shown in short") {
  const Shape shape(std::vector<std::uint64_t>(1000, 1));
  CHECK(shape.to_string().size() < 100);
  CHECK(shape.to_string().find("1000 extents") != std::string::npos);
}

TEST_CASE("scheme words read back") {
  for (const Scope scope :
       {Scope::any, Scope::constant, Scope::input, Scope::output, Scope::internal})
    CHECK(scope_from(to_string(scope)) == scope);
  for (const Lifetime lifetime :
       {Lifetime::any, Lifetime::immutable, Lifetime::invocation, Lifetime::session})
    CHECK(lifetime_from(to_string(lifetime)) == lifetime);
  for (const Update update : {Update::none, Update::whole, Update::region})
    CHECK(update_from(to_string(update)) == update);
  CHECK_FALSE(scope_from("Constant"));
}

TEST_CASE("encodings read back") {
  const Encoding keep;
  const Encoding requantize{Encoding::Kind::requantize_to, "ternary:tq2_0"};
  CHECK(to_string(keep) == "keep_as_stored");
  CHECK(to_string(requantize) == "requantize_to(ternary:tq2_0)");
  CHECK(encoding_from(to_string(keep)) == keep);
  CHECK(encoding_from(to_string(requantize)) == requantize);
  for (const char* bad :
       {"", "keep_as_stored()", "requantize_to", "requantize_to()", "requantize_to(x", "other(x)"})
    CHECK_FALSE(encoding_from(bad));
}

}  // namespace
}  // namespace synps
