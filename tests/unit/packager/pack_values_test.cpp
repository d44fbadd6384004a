// Values that a codec cannot store: refused, all weights named; or allowed, and reported.

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "pack_fixture.h"
#include "synps/pack.h"
#include "synps/verify.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kInfinity = std::numeric_limits<float>::infinity();

bool contains(const std::string& text, std::string_view part) {
  return text.find(part) != std::string::npos;
}

std::vector<float> zeros_with(std::size_t count,
                              std::vector<std::pair<std::size_t, float>> values) {
  std::vector<float> all(count);
  for (const auto& [index, value] : values) all[index] = value;
  return all;
}

}  // namespace

TEST_CASE("values that overflow f16 are an error that names weight, index, value and count") {
  SafetensorsBuilder builder;
  builder.add_f32("a", {2, 4}, zeros_with(8, {{5, 70000}, {6, -1e9F}}));
  builder.add_f32("b", {3}, {1, 2, 65519});  // the largest that rounds down
  builder.add_f32("c", {2, 2, 2}, zeros_with(8, {{7, 65520}}));
  builder.add_f32("d", {2}, {kNan, kInfinity});  // f16 holds both
  builder.add_f32("e", {}, {1e30F});
  const PackFixture fixture(builder);
  for (const unsigned jobs : {1u, 4u}) {
    PackOptions options;
    options.jobs = jobs;
    const auto problems = problems_of([&] { fixture.pack(one_format("f16"), options); });
    REQUIRE(problems.size() == 3);
    CHECK(problems[0].code == ErrorCode::checkpoint);
    CHECK(problems[0].file == fixture.input);
    CHECK(problems[0].what == "values overflow f16");
    CHECK(problems[0].field == "a");
    CHECK(problems[0].found == "70000 at element 5 [1, 1], the first of 2");
    CHECK(contains(problems[0].hint, "--allow-overflow"));
    CHECK(problems[0].offset == fixture.open().tensors()[0].offset + 5 * 4);
    CHECK(problems[1].field == "c");
    CHECK(problems[1].found == "65520 at element 7 [1, 1, 1]");
    CHECK(problems[2].field == "e");
    CHECK(problems[2].found == "1e+30 at element 0");
    CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
  }
}

TEST_CASE("with allow_overflow they become infinite, and the report says so") {
  SafetensorsBuilder builder;
  builder.add_f32("a", {2, 4}, zeros_with(8, {{5, 70000}, {6, -1e9F}}));
  builder.add_f32("b", {2}, {1, 2});
  const PackFixture fixture(builder);
  PackOptions options;
  options.allow_overflow = true;
  const PackReport report = fixture.pack(one_format("f16"), options);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].path == "a");
  CHECK(report.findings[0].values.overflow.count == 2);
  CHECK(report.findings[0].values.overflow.first_index == 5);
  CHECK(report.findings[0].values.overflow.first_value == 70000);
  const Checkpoint checkpoint = fixture.open();
  VerifyOptions against;
  against.against = &checkpoint;
  const VerifyReport verified = verify(fixture.output, builtin_registry(), against);
  CHECK(verified.ok());
  CHECK(std::isinf(verified.weights.at(0).max_abs_error));
  CHECK_FALSE(verified.weights.at(0).snr_db);
}

TEST_CASE("a block whose scale overflows f16 is refused likewise") {
  SafetensorsBuilder builder;
  builder.add_f32("w", {1, 64}, zeros_with(64, {{40, 1e9F}}));
  const PackFixture fixture(builder);
  const auto problems = problems_of([&] { fixture.pack(one_format("q8_0")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "values overflow q8_0");
  CHECK(problems[0].found == "1000000000 at element 40 [0, 40]");
  PackOptions options;
  options.allow_overflow = true;
  CHECK(fixture.pack(one_format("q8_0"), options).findings.size() == 1);
}

TEST_CASE("block and ternary codecs refuse NaN and infinities, allowed overflow or not") {
  SafetensorsBuilder builder;
  add_floats(builder, "fine", DType::f32, {2, 256});
  builder.add_f32("inf", {2, 256}, zeros_with(512, {{300, -kInfinity}}));
  builder.add_f32("nan", {1, 256}, zeros_with(256, {{3, kNan}, {4, kInfinity}, {9, 1e9F}}));
  const PackFixture fixture(builder);
  for (const char* codec : {"q8_0", "q4_0", "ternary", "ternary:absmean", "ternary:planes",
                            "ternary:tq1_0", "ternary:tq2_0"})
    for (const bool allow : {false, true}) {
      CAPTURE(codec);
      CAPTURE(allow);
      PackOptions options;
      options.allow_overflow = allow;
      const auto problems = problems_of([&] { fixture.pack(one_format(codec), options); });
      REQUIRE(problems.size() == 2);
      CHECK(problems[0].field == "inf");
      CHECK(problems[0].found == "-infinity at element 300 [1, 44]");
      CHECK(problems[0].what == std::string(codec) + " cannot store NaN and infinities");
      CHECK(problems[1].field == "nan");
      CHECK(contains(problems[1].found, "NaN at element 3 [0, 3], the first of 2"));
      CHECK_FALSE(contains(problems[1].hint, "--allow-overflow"));
      CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
    }
}

TEST_CASE("values that underflow are counted and reported, not refused") {
  SafetensorsBuilder builder;
  builder.add_f32("w", {4}, {1e-10F, 1, 0, -1e-20F});
  const PackFixture fixture(builder);
  const PackReport report = fixture.pack(one_format("f16"));
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].values.underflow.count == 2);
  CHECK(report.findings[0].values.underflow.first_index == 0);
  CHECK(report.findings[0].values.overflow.count == 0);
}

TEST_CASE("f64 values that f32 cannot hold are told, though f32 takes what is left of them") {
  SafetensorsBuilder builder;
  builder.add("w", DType::f64, {2, 2}, bytes_of(std::vector<double>{1, 2, -1e300, 1e-300}));
  const PackFixture fixture(builder);
  const auto problems = problems_of([&] { fixture.pack(one_format("f32")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "values overflow f32");
  CHECK(problems[0].found == "-1e+300 at element 2 [1, 0]");
  CHECK(contains(problems[0].hint, "keep"));
  PackOptions options;
  options.allow_overflow = true;
  const PackReport report = fixture.pack(one_format("f32"), options);
  REQUIRE(report.findings.size() == 1);
  CHECK(report.findings[0].values.underflow.count == 1);
}

TEST_CASE("copied weights keep every bit, NaN included") {
  SafetensorsBuilder builder;
  builder.add("w", DType::f16, {4}, std::string("\x01\x7C\xFF\xFF\x00\xFC\x00\x80", 8));
  const PackFixture fixture(builder);
  CHECK(fixture.pack(one_format("f16")).findings.empty());
  const Checkpoint checkpoint = fixture.open();
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport report = verify(fixture.output, builtin_registry(), options);
  CHECK(report.ok());
  CHECK(report.weights.at(0).exact);
}
