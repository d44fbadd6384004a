// Headers whose JSON is malformed or holds other things than the format knows.
#include <doctest/doctest.h>

#include "safetensors_builder.h"
#include "synps/safetensors.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

Problem problem_of(std::string_view json, std::uint64_t data_bytes = 0) {
  Problem problem =
      thrown_problem([&] { parse_safetensors_header(json, data_bytes, "model.safetensors"); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.file == "model.safetensors");
  return problem;
}

/// A header with one tensor "a" of these fields.
std::string tensor(std::string_view fields) {
  return "{\"a\":{" + std::string(fields) + "}}";
}

/// A sound tensor but for one field, given as JSON.
std::string with_dtype(std::string_view dtype) {
  return tensor("\"dtype\":" + std::string(dtype) + R"(,"shape":[0],"data_offsets":[0,0])");
}
std::string with_shape(std::string_view shape) {
  return tensor(R"("dtype":"U8","shape":)" + std::string(shape) + R"(,"data_offsets":[0,0])");
}
std::string with_offsets(std::string_view offsets) {
  return tensor(R"("dtype":"U8","shape":[0],"data_offsets":)" + std::string(offsets));
}

/// Where `part` begins in the file whose header is `json`.
std::uint64_t offset_of(std::string_view json, std::string_view part) {
  REQUIRE(json.find(part) != json.npos);
  return 8 + json.find(part);
}

}  // namespace

TEST_CASE("malformed JSON") {
  const std::string_view malformed[] = {
      R"({"a"})",
      R"({"a":})",
      R"({"a":{}},})",
      R"({,})",
      R"({"a":{} "b":{}})",
      R"({"a":{]})",
      R"({"a":[}})",
      R"({a:{}})",
      R"({"a":{"})",
      R"({"\x":{}})",
      R"({"\ud800":{}})",
      R"({"\udc00":{}})",
      R"({"a":nul})",
      R"({"a":tru})",
      "{\"\n\":{}}",
      R"({"a":{})",
      R"({"a":{"dtype":"U8","shape":[1 2],"data_offsets":[0,0]}})",
  };
  for (const std::string_view json : malformed) {
    CAPTURE(json);
    const Problem problem = problem_of(json);
    CHECK(problem.what != "(nothing was thrown)");
  }
}

TEST_CASE("malformed JSON says where") {
  const std::string json = R"({"a":{"dtype":"U8" "shape":[0],"data_offsets":[0,0]}})";
  const Problem problem = problem_of(json);
  CHECK(problem.what == "the header is not valid JSON");
  REQUIRE(problem.offset);
  CHECK(*problem.offset >= 8 + 6);
  CHECK(*problem.offset <= offset_of(json, R"("shape")"));
}

TEST_CASE("a string without end, and one with a control character") {
  CHECK(problem_of(R"({"a":{}, "b})").what == "a string of the header has no end");
  const Problem problem = problem_of("{\"a\tb\":{}}");
  CHECK(problem.what == "a string of the header holds a control character");
  CHECK(problem.offset == 8 + 3);
}

TEST_CASE("JSON nested 100,000 deep") {
  const std::string open(100'000, '[');
  const std::string close(100'000, ']');
  const std::string deep_array = with_shape(open + close);
  Problem problem = problem_of(deep_array);
  CHECK(problem.what == "the header is nested too deeply");
  CHECK(problem.offset == offset_of(deep_array, "[[") + 14);

  std::string deep_object;
  for (int i = 0; i < 100'000; ++i) deep_object += "{\"a\":";
  CHECK(problem_of(deep_object + "0" + std::string(100'000, '}')).what ==
        "the header is nested too deeply");
  CHECK(problem_of(deep_object + "}").what != "(nothing was thrown)");
}

TEST_CASE("duplicate tensor name") {
  const std::string field = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const std::string json = "{\"ab\":" + field + ",\"c\":" + field + ",\"ab\":" + field + "}";
  const Problem problem = problem_of(json);
  CHECK(problem.what == "a tensor name stands twice");
  CHECK(problem.field == "tensor 'ab'");
  CHECK(problem.offset == 8 + json.rfind("\"ab\""));
}

TEST_CASE("duplicate tensor name, spelt with a u escape") {
  const std::string field = R"({"dtype":"U8","shape":[0],"data_offsets":[0,0]})";
  const Problem problem = problem_of("{\"ab\":" + field + ",\"\\u0061b\":" + field + "}");
  CHECK(problem.what == "a tensor name stands twice");
  CHECK(problem.field == "tensor 'ab'");
}

TEST_CASE("duplicate __metadata__, also spelt with a u escape") {
  CHECK(problem_of(R"({"__metadata__":{},"__metadata__":{}})").what == "a key stands twice");
  CHECK(problem_of(R"({"__metadata__":{},"\u005f_metadata__":{}})").what == "a key stands twice");
}

TEST_CASE("duplicate key in __metadata__") {
  const Problem problem = problem_of(R"({"__metadata__":{"k":"1","\u006b":"1"}})");
  CHECK(problem.what == "a key stands twice");
  CHECK(problem.field == "__metadata__ key 'k'");
}

TEST_CASE("__metadata__ that is null or no object") {
  for (const std::string_view value : {"null", "[]", "\"pt\"", "1", "true"}) {
    CAPTURE(value);
    const Problem problem = problem_of("{\"__metadata__\":" + std::string(value) + "}");
    CHECK(problem.field == "__metadata__");
    CHECK(problem.want == "an object");
    CHECK(problem.offset == 8 + 16);
  }
}

TEST_CASE("__metadata__ value that is null or no string") {
  for (const std::string_view value : {"null", "[]", "{}", "1", "true"}) {
    CAPTURE(value);
    const Problem problem =
        problem_of("{\"__metadata__\":{\"format\":" + std::string(value) + "}}");
    CHECK(problem.field == "__metadata__ key 'format'");
    CHECK(problem.want == "a string");
  }
}

TEST_CASE("tensor that is no object") {
  for (const std::string_view value : {"null", "[\"U8\",[0],[0,0]]", "\"U8\"", "1"}) {
    CAPTURE(value);
    const Problem problem = problem_of("{\"a\":" + std::string(value) + "}");
    CHECK(problem.field == "tensor 'a'");
    CHECK(problem.want == "an object");
    CHECK(problem.offset == 8 + 5);
  }
}

TEST_CASE("unknown field") {
  const std::string json =
      tensor(R"("dtype":"U8","shape":[0],"data_offsets":[0,0],"offsets":[0,0])");
  const Problem problem = problem_of(json);
  CHECK(problem.what == "an unknown field");
  CHECK(problem.field == "tensor 'a', offsets");
  CHECK(problem.offset == offset_of(json, "\"offsets\""));
}

TEST_CASE("field that stands twice") {
  const Problem problem =
      problem_of(tensor(R"("dtype":"U8","shape":[0],"shape":[0],"data_offsets":[0,0])"));
  CHECK(problem.what == "a field stands twice");
  CHECK(problem.field == "tensor 'a', shape");
}

TEST_CASE("missing field") {
  const auto missing = [](std::string_view fields) {
    const Problem problem = problem_of(tensor(fields));
    CHECK(problem.what == "a field is missing");
    CHECK(problem.offset == 8 + 1);
    return problem.field;
  };
  CHECK(missing(R"("shape":[0],"data_offsets":[0,0])") == "tensor 'a', dtype");
  CHECK(missing(R"("dtype":"U8","data_offsets":[0,0])") == "tensor 'a', shape");
  CHECK(missing(R"("dtype":"U8","shape":[0])") == "tensor 'a', data_offsets");
  CHECK(missing("") == "tensor 'a', dtype");
}

TEST_CASE("ill-typed field") {
  for (const std::string_view value : {"null", "1", "[]", "{}", "true"}) {
    CAPTURE(value);
    const Problem problem = problem_of(with_dtype(value));
    CHECK(problem.field == "tensor 'a', dtype");
    CHECK(problem.want == "a string");
  }
  for (const std::string_view value : {"null", "1", "\"[]\"", "{}", "true"}) {
    CAPTURE(value);
    CHECK(problem_of(with_shape(value)).field == "tensor 'a', shape");
    CHECK(problem_of(with_shape(value)).want == "an array");
    CHECK(problem_of(with_offsets(value)).field == "tensor 'a', data_offsets");
    CHECK(problem_of(with_offsets(value)).want == "an array");
  }
}

TEST_CASE("unknown dtype") {
  for (const std::string_view name : {"", "f32", "F32 ", "FLOAT32", "I4", "F8"}) {
    CAPTURE(name);
    const Problem problem = problem_of(with_dtype(json_string(name)));
    CHECK(problem.what == "an unknown dtype");
    CHECK(problem.field == "tensor 'a', dtype");
    CHECK(problem.found == quote(name));
    CHECK(problem.offset == 8 + 14);
  }
}

TEST_CASE("numbers that are no plain integers") {
  const std::string_view numbers[] = {"1e0",   "1.0",  "-1",  "-0", "01",   "1.",  "0x1",  "+1",
                                      "\"1\"", "null", "[1]", "{}", "true", "NaN", "1E400"};
  for (const std::string_view number : numbers) {
    CAPTURE(number);
    const Problem offset = problem_of(with_offsets("[0," + std::string(number) + "]"));
    CHECK(offset.field == "tensor 'a', data_offsets[1]");
    CHECK(offset.want.starts_with("an integer from 0 to 2^64-1"));
    const Problem extent = problem_of(with_shape("[" + std::string(number) + "]"));
    CHECK(extent.field == "tensor 'a', shape[0]");
  }
}

TEST_CASE("number of 2^64 and more") {
  for (const std::string_view number : {"18446744073709551616", "99999999999999999999999999"}) {
    const std::string json = with_offsets("[0," + std::string(number) + "]");
    const Problem problem = problem_of(json);
    CHECK(problem.what == "a number is too large");
    CHECK(problem.field == "tensor 'a', data_offsets[1]");
    CHECK(problem.found == "'" + std::string(number) + "'");
    CHECK(problem.offset == offset_of(json, number));
  }
}

TEST_CASE("data_offsets of another length than two") {
  for (const std::string_view offsets : {"[]", "[0]", "[0,0,0]"}) {
    CAPTURE(offsets);
    const Problem problem = problem_of(with_offsets(offsets));
    CHECK(problem.what == "data_offsets of another length than wanted");
    CHECK(problem.field == "tensor 'a', data_offsets");
  }
}

TEST_CASE("names with NUL, ../ and escape bytes are escaped in messages") {
  const std::string name(
      "../\0\x1b[2J\xc2\x9b\xe2\x80\xae"
      "é",
      15);
  const Problem problem = problem_of("{" + json_string(name) + ":1}");
  CHECK(problem.field == "tensor '../\\x00\\x1b[2J\\u{9b}\\u{202e}é'");
}
