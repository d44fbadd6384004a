// What the reader accepts, and what it makes of it.
#include "synps/safetensors.h"

#include <doctest/doctest.h>

#include <algorithm>

#include "safetensors_builder.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

SafetensorsHeader read(const SafetensorsBuilder& builder) {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  builder.write(path);
  return read_safetensors_header(InputFile(Os::posix(), path));
}

SafetensorsHeader parse(std::string_view json, std::uint64_t data_bytes = 0) {
  return parse_safetensors_header(json, data_bytes, "model.safetensors");
}

}  // namespace

TEST_CASE("tensors and metadata come back as written") {
  const SafetensorsBuilder builder = SafetensorsBuilder()
                                         .metadata("format", "pt")
                                         .metadata("empty", "")
                                         .add_f32("w", {2, 3}, {1, 2, 3, 4, 5, 6})
                                         .add("ids", DType::i64, {1}, std::string_view("12345678"));
  const SafetensorsHeader header = read(builder);
  CHECK(header.metadata == std::map<std::string, std::string>{{"empty", ""}, {"format", "pt"}});
  CHECK(header.data_start == 8 + builder.header().size());
  REQUIRE(header.entries.size() == 2);
  CHECK(header.entries[0].name == "w");
  CHECK(header.entries[0].dtype == DType::f32);
  CHECK(header.entries[0].shape == Shape{2, 3});
  CHECK(header.entries[0].begin == 0);
  CHECK(header.entries[0].end == 24);
  CHECK(header.entries[1].name == "ids");
  CHECK(header.entries[1].begin == 24);
  CHECK(header.entries[1].end == 32);
}

TEST_CASE("no tensors at all") {
  CHECK(read(SafetensorsBuilder()).entries.empty());
  CHECK(read(SafetensorsBuilder().metadata("a", "b")).entries.empty());
  CHECK(parse(R"({"__metadata__":{}})").metadata.empty());
}

TEST_CASE("spaces after the JSON, and between its parts") {
  CHECK(read(SafetensorsBuilder().add_f32("w", {1}, {1}).pad_header(4095)).entries.size() == 1);
  CHECK(parse("{}\n\t\r ").entries.empty());
  CHECK(parse("{ \"a\" :\n{ \"shape\" : [ 0 ] ,\t\"dtype\":\"U8\",\"data_offsets\" : [ 0 , 0 ] } }")
            .entries.size() == 1);
}

TEST_CASE("every dtype of the format, with its size") {
  for (const DType dtype : all_dtypes()) {
    CAPTURE(dtype_name(dtype));
    const std::string bytes(dtype_bits(dtype), 'x');  // 8 elements
    const SafetensorsHeader header = read(SafetensorsBuilder().add("w", dtype, {2, 4}, bytes));
    REQUIRE(header.entries.size() == 1);
    CHECK(header.entries[0].dtype == dtype);
    CHECK(header.entries[0].end == dtype_bits(dtype));
  }
}

TEST_CASE("sub-byte dtypes take whole bytes, wherever rows end") {
  CHECK(read(SafetensorsBuilder().add("w", DType::f4, {2, 3}, std::string_view("abc")))
            .entries.size() == 1);
  CHECK(read(SafetensorsBuilder().add("w", DType::f6_e2m3, {4}, std::string_view("abc")))
            .entries.size() == 1);
}

TEST_CASE("starts that are not aligned to the dtype") {
  const SafetensorsHeader header = read(SafetensorsBuilder()
                                            .add("one", DType::u8, {1}, std::string_view("x"))
                                            .add_f32("w", {2}, {1, 2}));
  REQUIRE(header.entries.size() == 2);
  CHECK(header.entries[1].begin == 1);
  CHECK(header.entries[1].end == 9);
}

TEST_CASE("scalars") {
  const SafetensorsHeader header = read(SafetensorsBuilder().add_f32("s", {}, {1}));
  REQUIRE(header.entries.size() == 1);
  CHECK(header.entries[0].shape.rank() == 0);
  CHECK(header.entries[0].end == 4);
}

TEST_CASE("tensors without elements, between others and with huge extents") {
  const std::string json =
      R"({"b":{"dtype":"F32","shape":[0,4],"data_offsets":[4,4]},)"
      R"("a":{"dtype":"F32","shape":[1],"data_offsets":[0,4]},)"
      R"("d":{"dtype":"F32","shape":[0,9223372036854775808,4],"data_offsets":[4,4]},)"
      R"("c":{"dtype":"U8","shape":[1],"data_offsets":[4,5]}})";
  const SafetensorsHeader header = parse(json, 5);
  std::vector<std::string> names;
  for (const SafetensorsEntry& entry : header.entries) names.push_back(entry.name);
  CHECK(names == std::vector<std::string>{"a", "b", "d", "c"});
}

TEST_CASE("entries are sorted by place, whatever the order of keys and fields") {
  const std::string json = R"({"z":{"data_offsets":[2,3],"shape":[1],"dtype":"U8"},)"
                           R"("y":{"shape":[2],"data_offsets":[0,2],"dtype":"I8"}})";
  const SafetensorsHeader header = parse(json, 3);
  REQUIRE(header.entries.size() == 2);
  CHECK(header.entries[0].name == "y");
  CHECK(header.entries[1].name == "z");
}

TEST_CASE("names of any UTF-8, NUL and the empty one included") {
  const std::string names[] = {"",
                               std::string("a\0b", 3),
                               "../../etc/passwd",
                               "\x1b[2J",
                               "é",
                               "層.0",
                               "😀",
                               "a\"b\\c/d",
                               "__synps__"};
  SafetensorsBuilder builder;
  for (const std::string& name : names) builder.add(name, DType::u8, {1}, std::string_view("x"));
  const SafetensorsHeader header = read(builder);
  REQUIRE(header.entries.size() == std::size(names));
  for (std::size_t i = 0; i < std::size(names); ++i) CHECK(header.entries[i].name == names[i]);
}

TEST_CASE("escapes in names and metadata") {
  const SafetensorsHeader header =
      parse(R"({"__metadata__":{"\u006bey":"\ud83d\ude00\n\/"},)"
            R"("\u0000\u00e9":{"dtype":"U8","shape":[0],"data_offsets":[0,0]}})");
  CHECK(header.metadata.at("key") == "😀\n/");
  REQUIRE(header.entries.size() == 1);
  CHECK(header.entries[0].name == std::string("\0é", 3));
}

TEST_CASE("rank 1000") {
  std::vector<std::uint64_t> shape(1000, 1);
  shape[500] = 3;
  const SafetensorsHeader header =
      read(SafetensorsBuilder().add("w", DType::u8, shape, std::string_view("abc")));
  REQUIRE(header.entries.size() == 1);
  CHECK(header.entries[0].shape.rank() == 1000);
  CHECK(header.entries[0].shape.elements() == 3);
}

TEST_CASE("a million tensors") {
  constexpr std::size_t kCount = 1'000'000;
  std::string json = "{";
  for (std::size_t i = 0; i < kCount; ++i) {
    const std::string at = std::to_string(i);
    json += (i == 0 ? "\"" : ",\"") + std::to_string(kCount - i) +
            R"(":{"dtype":"U8","shape":[1],"data_offsets":[)" + at + "," + std::to_string(i + 1) +
            "]}";
  }
  json += "}";
  REQUIRE(json.size() < 100'000'000);
  const SafetensorsHeader header = parse(json, kCount);
  REQUIRE(header.entries.size() == kCount);
  CHECK(header.entries.front().name == "1000000");
  CHECK(header.entries.back().name == "1");

  json.insert(json.size() - 1, R"(,"5":{"dtype":"U8","shape":[0],"data_offsets":[0,0]})");
  CHECK(thrown_problem([&] { parse(json, kCount); }).what == "a tensor name stands twice");
}

TEST_CASE("a header of exactly 100,000,000 bytes") {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  write_file(path, raw_safetensors_of_length(100'000'000, "{}" + std::string(99'999'998, ' ')));
  CHECK(read_safetensors_header(InputFile(Os::posix(), path)).data_start == 100'000'008);
}

TEST_CASE("a header length that spells a zip archive") {
  // 0x04034b50 bytes: the file begins as zip archives do, and is safetensors all the same.
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  const std::string file = raw_safetensors("{}" + std::string(0x04034b50 - 2, ' '));
  REQUIRE(file.starts_with("PK\x03\x04"));
  write_file(path, file);
  CHECK(read_safetensors_header(InputFile(Os::posix(), path)).entries.empty());
}
