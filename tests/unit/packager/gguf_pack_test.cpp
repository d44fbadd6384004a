#include <doctest/doctest.h>

#include <bit>
#include <cstring>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "pack_fixture.h"
#include "synps/hash.h"
#include "synps/safetensors.h"
#include "synps/unpack.h"
#include "synps/verify.h"

namespace synps {
namespace {

using namespace synps::testing;

/// A GGUF checkpoint, and where an artifact of it and its unpacked weights go.
struct GgufPack {
  TempDir dir;
  std::string input = dir.file("model.gguf");
  std::string output = dir.file("model.synps");
  std::string plain = dir.file("plain.safetensors");

  explicit GgufPack(std::string_view bytes) { write_file(input, bytes); }
  explicit GgufPack(const GgufBuilder& builder) { write_file(input, builder.build()); }

  /// Packs, checks that the artifact is as planned and sound, and returns its index.
  ArtifactIndex pack(const Policy& policy, unsigned jobs = 2) const {
    const Checkpoint checkpoint = Checkpoint::open(input);
    const Plan plan = make_plan(checkpoint, policy);
    PackOptions options;
    options.replace = true;
    options.jobs = jobs;
    CHECK(synps::pack(checkpoint, plan, output, options).artifact_bytes == plan.artifact_bytes);
    const VerifyReport report = verify_against(input);
    for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
    for (const WeightError& weight : report.weights) {
      CAPTURE(weight.path);
      if (weight.lossless) CHECK(weight.exact);
    }
    return ArtifactReader(output).index();
  }
  VerifyReport verify_against(const std::string& path) const {
    const Checkpoint checkpoint = Checkpoint::open(path);
    VerifyOptions options;
    options.against = &checkpoint;
    return verify(output, builtin_registry(), options);
  }
  /// Every weight as it is unpacked.
  std::map<std::string, std::string> unpacked() const {
    UnpackOptions options;
    options.replace = true;
    unpack(output, plain, builtin_registry(), options);
    const SafetensorsHeader header = read_safetensors_header(InputFile(Os::posix(), plain));
    const std::string bytes = read_file(plain);
    std::map<std::string, std::string> all;
    for (const SafetensorsEntry& entry : header.entries)
      all[entry.name] = bytes.substr(header.data_start + entry.begin, entry.end - entry.begin);
    return all;
  }
};

std::string encoded(const char* codec_name, const std::vector<float>& values) {
  const Codec& codec = *builtin_registry().resolve(codec_name);
  const Weight weight{"values", Shape{values.size()}, DType::f32};
  std::vector<std::byte> bytes(codec.row_bytes(0, values.size()));
  const std::span<std::byte> out[] = {bytes};
  ValueReport report;
  codec.encode(Piece{&weight, 0, 1, values.size()}, values, nullptr, out, report);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::vector<float> decoded(const char* codec_name, const std::string& bytes, std::uint64_t count) {
  const Codec& codec = *builtin_registry().resolve(codec_name);
  const Weight weight{"values", Shape{count}, DType::f32};
  std::vector<float> values(count);
  const std::span<const std::byte> in[] = {std::as_bytes(std::span(bytes))};
  codec.decode(Piece{&weight, 0, 1, count}, in, values);
  return values;
}

const StoredWeight& weight_at(const ArtifactIndex& index, std::string_view path) {
  for (const StoredWeight& weight : index.weights)
    if (weight.weight.path == path) return weight;
  FAIL("no weight " << path);
  return index.weights.front();
}

Policy keep() {
  return policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n");
}

TEST_CASE("every tensor of the reference's file decodes to what the reference says") {
  const std::string folder = std::string(SYNPS_SOURCE_DIR) + "/tests/golden/gguf/";
  const GgufPack fixture(read_file(folder + "mixed.gguf"));
  const ArtifactIndex index = fixture.pack(keep());
  CHECK(index.weights.size() == 14);
  for (const char* format : {"keep", "f32"}) {
    CAPTURE(format);
    fixture.pack(
        policy_of("[myelin]\nformats = [\"f16\", \"bf16\", \"q8_0\", \"q4_0\", "
                  "\"ternary:tq1_0\", \"ternary:tq2_0\"]\n[[policies.\"*\".schemes]]\n"
                  "format = \"" +
                  std::string(format) + "\"\n"));
    const auto unpacked = fixture.unpacked();
    std::istringstream lines(read_file(folder + "mixed.txt"));
    int compared = 0;
    for (std::string name, type, shape, digest; lines >> name >> type >> shape >> digest;) {
      CAPTURE(name);
      std::string values = unpacked.at(name);
      if (type == "F16" || type == "BF16")  // comes back as it was
        values = bytes_of(decoded(type == "F16" ? "f16" : "bf16", values,
                                  weight_at(index, name).weight.shape.elements()));
      CHECK(to_hex(xxh3_128(std::as_bytes(std::span(values)))) == digest);
      ++compared;
    }
    CHECK(compared == 14);
  }
}

GgufBuilder two_layers() {
  GgufBuilder builder;
  builder.text("general.name", "two layers").texts("tokens", std::vector<std::string>(70, "t"));
  builder.tensor("a.weight", {64, 10}, gguf::kQ4_0, encoded("q4_0", test_values(640, 1)));
  builder.tensor("b.weight", {64, 10}, gguf::kQ8_0, encoded("q8_0", test_values(640, 2)));
  builder.tensor("c.weight", {64}, gguf::kF32, bytes_of(test_values(64, 3)));
  builder.tensor("ids", {3}, gguf::kI32, "123456789abc");
  return builder;
}

TEST_CASE("a tensor that is in the wanted encoding already is copied, and is lossless") {
  const GgufBuilder builder = two_layers();
  const GgufPack fixture(builder);
  const std::string source = builder.build();
  for (const Policy& policy :
       {keep(), policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
                          "[[policies.\"a\".schemes]]\nformat = \"q4_0\"\n"
                          "[[policies.\"b\".schemes]]\nformat = \"q8_0\"\n")}) {
    const ArtifactIndex index = fixture.pack(policy);
    const ArtifactReader artifact(fixture.output);
    const Checkpoint checkpoint = Checkpoint::open(fixture.input);
    for (const SourceTensor& tensor : checkpoint.tensors()) {
      const StoredWeight& stored = weight_at(index, tensor.weight.path);
      CHECK(stored.lossless);
      CHECK(stored.source == tensor.encoding);
      CHECK(to_string(stored.form.encoding) == "keep_as_stored");
      const auto bytes = artifact.bytes(stored.components.front());
      CHECK(std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size()) ==
            source.substr(tensor.offset, tensor.bytes));
    }
    CHECK(weight_at(index, "a.weight").codec.id() == "q4_0:q4_0");
    CHECK(weight_at(index, "a.weight").components.front().component.name == "blocks");
    CHECK(weight_at(index, "ids").codec.is_keep());
  }
}

TEST_CASE("another codec than the source's encodes what the source decodes to") {
  const GgufPack fixture(two_layers());
  const ArtifactIndex index =
      fixture.pack(policy_of("[myelin]\nformats = [\"q4_0\", \"q8_0\"]\n"
                             "[[policies.\"*\".schemes]]\nformat = \"f16\"\n"
                             "[[policies.\"a\".schemes]]\nformat = \"f32\"\n"
                             "[[policies.\"b\".schemes]]\nformat = \"q4_0\"\n"));
  CHECK(weight_at(index, "a.weight").lossless);
  CHECK_FALSE(weight_at(index, "b.weight").lossless);
  CHECK(weight_at(index, "b.weight").weight.dtype == DType::f32);
  CHECK(weight_at(index, "b.weight").source == "q8_0:q8_0");
  const auto unpacked = fixture.unpacked();
  CHECK(unpacked.at("a.weight") ==
        bytes_of(decoded("q4_0", encoded("q4_0", test_values(640, 1)), 640)));
  const std::vector<float> middle = decoded("q8_0", encoded("q8_0", test_values(640, 2)), 640);
  CHECK(unpacked.at("b.weight") == bytes_of(decoded("q4_0", encoded("q4_0", middle), 640)));
}

TEST_CASE("an artifact carries the key-values, and unpacking gives them back") {
  const GgufPack fixture(two_layers());
  fixture.pack(keep());
  const ArtifactReader artifact(fixture.output);
  CHECK(artifact.metadata().at("gguf") == "3");
  CHECK(artifact.metadata().at("gguf.general.name") == R"({"type":"string","value":"two layers"})");
  CHECK(artifact.metadata().at("format") == "synps");
  const auto unpacked = fixture.unpacked();
  std::string tokens;
  for (int i = 0; i < 70; ++i) tokens += gguf_text("t");
  CHECK(unpacked.at("gguf.tokens") == tokens);
  const SafetensorsHeader plain = read_safetensors_header(InputFile(Os::posix(), fixture.plain));
  CHECK(plain.metadata == Checkpoint::open(fixture.input).metadata());
}

TEST_CASE("blocks that nothing decodes are kept as rows of bytes when the policy says keep") {
  GgufBuilder builder;
  const std::string blocks(66 * 6, 'i');
  builder.tensor("w", {512, 3}, gguf::kIQ2_XXS, blocks);
  const GgufPack fixture(builder);
  const ArtifactIndex index = fixture.pack(keep());
  const StoredWeight& stored = index.weights.front();
  CHECK(stored.weight == Weight{"w", Shape{3, 132}, DType::u8});
  CHECK(stored.source == "gguf:iq2_xxs");
  CHECK(stored.codec.is_keep());
  CHECK(stored.compute.empty());
  CHECK(fixture.unpacked().at("w") == blocks);

  const Checkpoint checkpoint = Checkpoint::open(fixture.input);
  const std::vector<Problem> problems =
      problems_of([&] { make_plan(checkpoint, one_format("q8_0")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == ErrorCode::policy);
  CHECK(problems.front().what.find("no codec here decodes a source encoding") == 0);
  CHECK(problems.front().field == "gguf:iq2_xxs");
  CHECK(problems.front().hint == "store it unchanged: format = \"keep\"");
}

TEST_CASE("an encoding that is decoded must be named") {
  const GgufPack fixture(two_layers());
  const Checkpoint checkpoint = Checkpoint::open(fixture.input);
  const std::vector<Problem> problems =
      problems_of([&] { make_plan(checkpoint, one_format("f16")); });
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].what.find("a source encoding that the policy does not name") == 0);
  CHECK(problems[0].hint == "add \"q4_0\" to `formats` under [myelin]");
  CHECK(problems[1].hint == "add \"q8_0\" to `formats` under [myelin]");
}

/// Pieces are cut where the target wants, which may be inside a source block.
TEST_CASE("rows longer than a piece, cut inside source blocks") {
  const std::uint64_t columns = 131072 * 2 + 256;
  std::vector<float> values = test_values(columns * 2, 9);
  for (float& value : values) value = value > 0 ? 1.0F : -1.0F;
  GgufBuilder builder;
  builder.tensor("w", {columns, 2}, gguf::kTQ2_0, encoded("ternary:tq2_0", values));
  builder.tensor(
      "v", {columns}, gguf::kTQ2_0,
      encoded("ternary:tq2_0",
              std::vector<float>(values.begin(),
                                 values.begin() + static_cast<std::ptrdiff_t>(columns))));
  const GgufPack fixture(builder);
  for (const char* format : {"f32", "q8_0", "ternary", "ternary:absmean"}) {
    CAPTURE(format);
    fixture.pack(
        policy_of("[myelin]\nformats = [\"ternary:tq2_0\"]\n"
                  "[[policies.\"*\".schemes]]\nformat = \"" +
                  std::string(format) + "\"\n"));
    if (std::string(format) != "f32") continue;
    CHECK(fixture.unpacked().at("w") == bytes_of(values));
  }
}

TEST_CASE("a source in another encoding is not what the artifact was made of") {
  const GgufPack fixture(two_layers());
  fixture.pack(keep());
  GgufBuilder other;
  other.text("general.name", "two layers").texts("tokens", std::vector<std::string>(70, "t"));
  other.tensor("a.weight", {64, 10}, gguf::kF32, bytes_of(test_values(640, 1)));
  other.tensor("b.weight", {64, 10}, gguf::kQ8_0, encoded("q8_0", test_values(640, 5)));
  other.tensor("c.weight", {64}, gguf::kF32, bytes_of(test_values(64, 3)));
  other.tensor("ids", {3}, gguf::kI32, "123456789abc");
  const std::string path = fixture.dir.file("other.gguf");
  write_file(path, other.build());
  const VerifyReport report = fixture.verify_against(path);
  REQUIRE(report.problems.size() == 2);
  CHECK(report.problems[0].field == "a.weight");
  CHECK(report.problems[0].what == "the weight is not the checkpoint's");
  CHECK(report.problems[0].found == "F32 [10, 64] of 'q4_0:q4_0'");
  CHECK(report.problems[0].want == "F32 [10, 64]");
  CHECK(report.problems[1].field == "b.weight");
  CHECK(report.problems[1].what.find("a lossless weight differs from its source at byte") == 0);
}

TEST_CASE("threads do not change the bytes") {
  const GgufPack fixture(two_layers());
  fixture.pack(keep(), 1);
  const std::string one = read_file(fixture.output);
  fixture.pack(keep(), 8);
  CHECK(read_file(fixture.output) == one);
}

TEST_CASE("values that a block of the source decodes to are refused by their place") {
  std::string blocks = encoded("q8_0", test_values(128, 4));
  blocks.replace(34, 2, le<std::uint16_t>(0x7C00));  // the second block's scale is infinite
  GgufBuilder builder;
  builder.tensor("w", {64, 2}, gguf::kQ8_0, blocks);
  const GgufPack fixture(builder);
  const Checkpoint checkpoint = Checkpoint::open(fixture.input);
  const Policy policy =
      policy_of("[myelin]\nformats = [\"q8_0\"]\n[[policies.\"*\".schemes]]\nformat = \"q4_0\"\n");
  const std::vector<Problem> problems = problems_of(
      [&] { synps::pack(checkpoint, make_plan(checkpoint, policy), fixture.output, {}); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().what == "q4_0 cannot store NaN and infinities");
  CHECK(problems.front().offset == builder.data_start() + 34);
}

}  // namespace
}  // namespace synps
