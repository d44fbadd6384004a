#include "synps/gguf.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <limits>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "gguf_builder.h"
#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps {
namespace {

using namespace synps::testing;

/// A file in a folder of its own.
struct GgufFile {
  TempDir dir;
  std::string path = dir.file("model.gguf");

  explicit GgufFile(const GgufBuilder& builder) { write_file(path, builder.build()); }
  Checkpoint open() const { return Checkpoint::open(path); }
  std::string metadata(const std::string& key) const {
    const Checkpoint checkpoint = open();
    const auto at = checkpoint.metadata().find("gguf." + key);
    return at == checkpoint.metadata().end() ? std::string("(none)") : at->second;
  }
};

std::string scalar(std::uint32_t type, const std::string& bytes) {
  return GgufFile(GgufBuilder().value("k", type, bytes)).metadata("k");
}

TEST_CASE("a file with nothing in it") {
  const Checkpoint checkpoint = GgufFile(GgufBuilder()).open();
  CHECK(checkpoint.tensors().empty());
  CHECK(checkpoint.gguf_version() == 3);
  CHECK(checkpoint.metadata().at("gguf") == "3");
  CHECK(GgufFile(GgufBuilder().version(2)).open().metadata().at("gguf") == "2");
}

TEST_CASE("shapes are ne reversed, paths are names, offsets are the file's") {
  GgufBuilder builder;
  builder.u32("n", 1);
  builder.tensor("b.weight", {64, 3, 2}, gguf::kF16, std::string(768, 'b'));
  builder.tensor("a.weight", {32, 5}, gguf::kQ8_0, std::string(170, 'a'));
  builder.tensor("scalar", {}, gguf::kF32, "1234");
  const GgufFile file(builder);
  const Checkpoint checkpoint = file.open();
  REQUIRE(checkpoint.tensors().size() == 3);
  const SourceTensor& a = checkpoint.tensors()[0];
  CHECK(a.weight == Weight{"a.weight", Shape{5, 32}, DType::f32});
  CHECK(a.encoding == "q8_0:q8_0");
  CHECK(a.offset == builder.data_start() + 768);
  CHECK(a.bytes == 170);
  CHECK(a.bytes_of(32 * 3) == 34 * 3);
  const SourceTensor& b = checkpoint.tensors()[1];
  CHECK(b.weight == Weight{"b.weight", Shape{2, 3, 64}, DType::f16});
  CHECK(b.encoding == "f16");
  CHECK(checkpoint.tensors()[2].weight.shape.rank() == 0);
  std::vector<std::byte> bytes(170);
  checkpoint.read(a, 0, bytes);
  CHECK(bytes[0] == std::byte{'a'});
  CHECK(bytes[169] == std::byte{'a'});
}

TEST_CASE("123 tensors do not make a GGUF file look like safetensors") {
  GgufBuilder builder;
  for (int i = 0; i < '{'; ++i) builder.tensor("t" + std::to_string(i), {1}, gguf::kF32, "1234");
  CHECK(GgufFile(builder).open().tensors().size() == '{');
}

TEST_CASE("a file is GGUF by its first bytes, whatever its name") {
  const TempDir dir;
  write_file(dir.file("model.bin"), GgufBuilder().build());
  CHECK(Checkpoint::open(dir.file("model.bin")).gguf_version() == 3);
}

TEST_CASE("tensors may lie in any sequence, at another alignment") {
  GgufBuilder builder;
  builder.u32("general.alignment", 256).alignment(256);
  builder.describe("late", {4}, gguf::kF32, 256).describe("early", {4}, gguf::kF32, 0);
  builder.data(std::string(512, 'd'));
  const Checkpoint checkpoint = GgufFile(builder).open();
  CHECK(checkpoint.tensors()[0].offset == builder.data_start());
  CHECK(checkpoint.tensors()[1].offset == builder.data_start() + 256);
  CHECK(builder.data_start() % 256 == 0);
}

TEST_CASE("blocks that no codec decodes have an encoding of their own") {
  const Checkpoint checkpoint =
      GgufFile(GgufBuilder().tensor("w", {256, 2}, gguf::kIQ2_XXS, std::string(132, 'i'))).open();
  const SourceTensor& tensor = checkpoint.tensors()[0];
  CHECK(tensor.encoding == "gguf:iq2_xxs");
  CHECK(tensor.weight.shape == Shape{2, 256});
  CHECK(kept_weight(tensor) == Weight{"w", Shape{2, 66}, DType::u8});
  CHECK(gguf_type_of_encoding("gguf:iq2_xxs")->block_bytes == 66);
  CHECK(gguf_type_of_encoding("gguf:q8_0") == nullptr);
}

TEST_CASE("every type of value, as metadata has it") {
  using L = std::numeric_limits<std::int64_t>;
  CHECK(scalar(gguf::kUint8, "\xC8") == R"({"type":"uint8","value":200})");
  CHECK(scalar(gguf::kInt8, "\xFB") == R"({"type":"int8","value":-5})");
  CHECK(scalar(gguf::kUint16, le<std::uint16_t>(60000)) == R"({"type":"uint16","value":60000})");
  CHECK(scalar(gguf::kInt16, le<std::int16_t>(-30000)) == R"({"type":"int16","value":-30000})");
  CHECK(scalar(gguf::kUint32, le(UINT32_MAX)) == R"({"type":"uint32","value":4294967295})");
  CHECK(scalar(gguf::kInt32, le<std::int32_t>(-1)) == R"({"type":"int32","value":-1})");
  CHECK(scalar(gguf::kUint64, le(UINT64_MAX)) ==
        R"({"type":"uint64","value":18446744073709551615})");
  CHECK(scalar(gguf::kInt64, le(L::min())) == R"({"type":"int64","value":-9223372036854775808})");
  CHECK(scalar(gguf::kFloat32, le(0.1F)) == R"({"type":"float32","value":0.10000000149011612})");
  CHECK(scalar(gguf::kFloat64, le(0.1)) == R"({"type":"float64","value":0.1})");
  CHECK(scalar(gguf::kFloat32, le(-0.0F)) == R"({"type":"float32","value":-0.0})");
  CHECK(scalar(gguf::kFloat32, le<std::uint32_t>(0xFFC00001)) ==
        R"({"type":"float32","value":"0xffc00001"})");
  CHECK(scalar(gguf::kFloat64, le(std::numeric_limits<double>::infinity())) ==
        R"({"type":"float64","value":"0x7ff0000000000000"})");
  CHECK(scalar(gguf::kBool, "\x01") == R"({"type":"bool","value":true})");
  CHECK(scalar(gguf::kString, gguf_text("h\xC3\xA9 \"x\"\n")) ==
        "{\"type\":\"string\",\"value\":\"h\xC3\xA9 \\\"x\\\"\\n\"}");
  CHECK(scalar(gguf::kString, gguf_text("\xFF\x01")) ==
        R"({"type":"string","value":{"hex":"ff01"}})");
}

TEST_CASE("arrays, and arrays in arrays, as metadata has them") {
  GgufBuilder builder;
  builder.texts("s", {"a", "", "bc"}).array("empty", gguf::kInt32, 0, "");
  std::string inner = GgufBuilder::array_bytes(gguf::kUint8, 2, "\x01\x02");
  inner += GgufBuilder::array_bytes(gguf::kString, 1, gguf_text("x"));
  builder.array("a", gguf::kArray, 2, inner);
  const GgufFile file(builder);
  CHECK(file.metadata("s") ==
        R"({"count":3,"items":"string","type":"array","value":["a","","bc"]})");
  CHECK(file.metadata("empty") == R"({"count":0,"items":"int32","type":"array","value":[]})");
  CHECK(file.metadata("a") ==
        R"({"count":2,"items":"array","type":"array","value":[{"items":"uint8","value":[1,2]},)"
        R"({"items":"string","value":["x"]}]})");
}

TEST_CASE("long arrays and texts are tensors, their bytes where the file has them") {
  const std::vector<std::string> words(65, "word");
  GgufBuilder builder;
  builder.texts("tokens", words).text("template", std::string(65537, 't'));
  builder.array("scores", gguf::kFloat32, 64, std::string(256, 's'));
  builder.texts("few but long", {std::string(4090, 'x')});
  const GgufFile file(builder);
  const Checkpoint checkpoint = file.open();
  CHECK(file.metadata("tokens") ==
        R"({"count":65,"entry":"gguf.tokens","items":"string","type":"array"})");
  CHECK(file.metadata("template") == R"({"count":65537,"entry":"gguf.template","type":"string"})");
  REQUIRE(checkpoint.tensors().size() == 3);
  const SourceTensor& few = checkpoint.tensors()[0];
  CHECK(few.weight.path == "gguf.few but long");
  const SourceTensor& text = checkpoint.tensors()[1];
  CHECK(text.weight == Weight{"gguf.template", Shape{65537}, DType::u8});
  CHECK(text.encoding == kGgufString);
  const SourceTensor& tokens = checkpoint.tensors()[2];
  CHECK(tokens.weight == Weight{"gguf.tokens", Shape{65 * 12}, DType::u8});
  CHECK(tokens.encoding == kGgufArray);
  std::vector<std::byte> bytes(12);
  checkpoint.read(tokens, 12, bytes);
  CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), 12) == gguf_text("word"));
}

TEST_CASE("keys about the cut into files are not carried, and all keys keep their sequence") {
  GgufBuilder builder;
  builder.u32("z", 1).value("split.count", gguf::kUint16, le<std::uint16_t>(1)).u32("a", 2);
  const Checkpoint checkpoint = GgufFile(builder).open();
  REQUIRE(checkpoint.key_values().size() == 3);
  CHECK(checkpoint.key_values()[0].value.key == "z");
  CHECK(checkpoint.key_values()[1].carried == SourceKeyValue::Carried::dropped);
  CHECK(checkpoint.metadata().count("gguf.split.count") == 0);
  CHECK(checkpoint.metadata().count("gguf.a") == 1);
}

TEST_CASE("values are cut to limits, not within a character") {
  GgufBuilder builder;
  builder.texts("a", {"one", "two", "three"}).text("s", "ab\xE4\xB8\x96\xE7\x95\x8C");
  const GgufFile file(builder);
  const Checkpoint checkpoint = file.open();
  const auto text = [&](std::size_t key, GgufJsonLimits limits) {
    JsonWriter json;
    GgufValueReader(checkpoint.files()[0]).write(json, checkpoint.key_values()[key].value, limits);
    return json.take();
  };
  CHECK(text(0, {2, 100}) == R"(["one","two"])");
  CHECK(text(0, {9, 3}) == "[\"one\",\"two\",\"thr\xE2\x80\xA6\"]");
  CHECK(text(1, {9, 4}) == "\"ab\xE2\x80\xA6\"");
  CHECK(text(1, {9, 7}) == "\"ab\xE4\xB8\x96\xE2\x80\xA6\"");
}

TEST_CASE("faults of reading are errors of reading, and short reads are none") {
  GgufBuilder builder;
  builder.texts("tokens", std::vector<std::string>(20'000, "word")).u32("n", 1).text("s", "t");
  builder.tensor("w", {4}, gguf::kF32, std::string(16, 'd'));
  const GgufFile file(builder);
  using Call = FaultyOs::Call;
  FaultyOs whole;
  Checkpoint::open(file.path, whole);
  REQUIRE(whole.calls(Call::pread) > 3);
  for (const Call call : {Call::open, Call::pread})
    for (std::uint64_t at = 1; at <= whole.calls(call); ++at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(at);
      FaultyOs failing({.call = call, .at = at, .error = -EIO});
      CHECK(thrown_problem([&] { Checkpoint::open(file.path, failing); }).code == ErrorCode::io);
      if (call != Call::pread) continue;
      FaultyOs stuttering({.call = call, .at = at});
      CHECK(Checkpoint::open(file.path, stuttering).metadata() == file.open().metadata());
    }
}

TEST_CASE("a folder's only GGUF checkpoint") {
  const TempDir dir;
  const std::string file = GgufBuilder().tensor("w", {1}, gguf::kF32, "1234").build();
  write_file(dir.file("readme.txt"), "x");
  write_file(dir.file("only.gguf"), file);
  CHECK(Checkpoint::open(dir.path().string()).tensors().size() == 1);
  write_file(dir.file("second.gguf"), file);
  try {
    Checkpoint::open(dir.path().string());
    FAIL_CHECK("two checkpoints");
  } catch (const Error& error) {
    CHECK(error.problems().front().what == "the folder holds several GGUF checkpoints");
    CHECK(error.problems().front().found == "'only.gguf', 'second.gguf'");
  }
}

}  // namespace
}  // namespace synps
