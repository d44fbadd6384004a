// Opening an artifact and reading what is in it.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cstring>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "test_values.h"

namespace synps::testing {
namespace {

std::vector<std::byte> bytes_of(const std::string& text) {
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

bool same_bits(float a, float b) {
  return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

WeightToStore encoded(const std::string& path, const std::string& codec, Shape shape,
                      std::uint32_t seed = 1) {
  WeightToStore weight;
  weight.path = path;
  weight.values = test_values(shape.elements(), seed);
  weight.shape = std::move(shape);
  weight.codec = codec;
  return weight;
}

WeightToStore kept(const std::string& path, DType dtype, Shape shape, const std::string& bytes) {
  WeightToStore weight;
  weight.path = path;
  weight.shape = std::move(shape);
  weight.dtype = dtype;
  weight.bytes = bytes_of(bytes);
  return weight;
}

template <typename Call>
Problem problem_of(Call call) {
  try {
    call();
  } catch (const Error& error) {
    return error.problems().front();
  }
  FAIL("nothing was thrown");
  return {};
}

const std::vector<std::string> kBuiltin = {"f32",
                                           "f16",
                                           "bf16",
                                           "q8_0",
                                           "q4_0",
                                           "ternary",
                                           "ternary:absmean",
                                           "ternary:planes",
                                           "ternary:tq1_0",
                                           "ternary:tq2_0"};

}  // namespace

TEST_CASE("weights come in the order of their paths and by name") {
  TempDir dir;
  build_artifact(dir.file("m.synps"),
                 {encoded("b.weight", "q8_0", {4, 64}), encoded("a.weight", "f32", {3}),
                  encoded("B.weight", "f16", {2, 2})},
                 {{"format", "pt"}, {"note", "kept"}});
  const Artifact artifact = Artifact::open(dir.file("m.synps"));

  std::vector<std::string> paths;
  for (const WeightView weight : artifact) paths.push_back(weight.path());
  CHECK(paths == std::vector<std::string>{"B.weight", "a.weight", "b.weight"});

  const WeightView weight = artifact["b.weight"];
  CHECK(weight.shape() == Shape{4, 64});
  CHECK(weight.dtype() == DType::f32);
  CHECK(weight.codec() == builtin_registry().resolve("q8_0"));
  CHECK(to_string(weight.form().encoding) == "keep_as_stored");
  CHECK(to_string(weight.stored().form.encoding) == "requantize_to(q8_0:q8_0)");
  CHECK(weight.form().residency == Residency::mapped);
  CHECK(artifact.contains("a.weight"));
  CHECK_FALSE(artifact.contains("c.weight"));
  CHECK(artifact.metadata() ==
        std::map<std::string, std::string>{{"format", "pt"}, {"note", "kept"}});
}

TEST_CASE("a weight that does not exist is an error that names the nearest") {
  TempDir dir;
  build_artifact(dir.file("m.synps"), {encoded("model.norm.weight", "f32", {3})});
  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  const Problem by_name = problem_of([&] { artifact["model.norm.weigth"]; });
  CHECK(by_name.code == ErrorCode::usage);
  CHECK(by_name.field == "model.norm.weigth");
  CHECK(by_name.hint == "did you mean 'model.norm.weight'?");
  CHECK(problem_of([&] { artifact.weight(1); }).code == ErrorCode::usage);
}

TEST_CASE("any row range decodes to the values of the whole, for every codec") {
  TempDir dir;
  std::vector<WeightToStore> weights;
  for (const std::string& codec : kBuiltin) weights.push_back(encoded(codec, codec, {7, 256}));
  build_artifact(dir.file("m.synps"), weights);
  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  for (const std::string& codec : kBuiltin) {
    CAPTURE(codec);
    const WeightView weight = artifact[codec];
    const std::vector<float> all = weight.decode();
    REQUIRE(all.size() == 7 * 256);
    if (codec == "f32") CHECK(all == test_values(7 * 256));
    for (std::uint64_t first = 0; first <= 7; ++first) {
      for (std::uint64_t count = 0; first + count <= 7; ++count) {
        std::vector<float> part(count * 256);
        weight.decode({first, count}, part);
        CHECK(std::equal(part.begin(), part.end(),
                         all.begin() + static_cast<std::ptrdiff_t>(first * 256), same_bits));
      }
    }
  }
}

TEST_CASE("rows that do not exist and outputs of another size are refused") {
  TempDir dir;
  build_artifact(dir.file("m.synps"), {encoded("w", "f32", {4, 3})});
  const WeightView weight = Artifact::open(dir.file("m.synps"))["w"];
  std::vector<float> out(3);
  CHECK(problem_of([&] { weight.decode({4, 1}, out); }).code == ErrorCode::usage);
  CHECK(problem_of([&] { weight.decode({~0ull, 1}, out); }).code == ErrorCode::usage);
  CHECK(problem_of([&] { weight.decode({1, ~0ull}, out); }).code == ErrorCode::usage);
  const Problem size = problem_of([&] { weight.decode({0, 2}, out); });
  CHECK(size.code == ErrorCode::usage);
  CHECK(size.found == "3 values");
  CHECK(size.want == "6");
}

TEST_CASE("components are spans of the stored bytes, without padding") {
  TempDir dir;
  build_artifact(dir.file("m.synps"), {encoded("w", "ternary", {3, 100})});
  const WeightView weight = Artifact::open(dir.file("m.synps"))["w"];
  REQUIRE(weight.component_count() == 2);
  CHECK(weight.component("codes").size() == 3 * 32);
  CHECK(weight.component("scales").size() == 3 * 4);
  CHECK(weight.component(1).data() == weight.component("scales").data());
  CHECK(problem_of([&] { weight.component(2); }).code == ErrorCode::usage);
  const Problem unknown = problem_of([&] { weight.component("blocks"); });
  CHECK(unknown.code == ErrorCode::usage);
  CHECK(unknown.want == "codes or scales");
}

TEST_CASE("vectors, scalars and weights without elements decode") {
  TempDir dir;
  WeightToStore scalar = encoded("scalar", "f32", Shape{});
  build_artifact(dir.file("m.synps"),
                 {scalar, encoded("vector", "q4_0", {96}), kept("empty", DType::f32, {0, 8}, ""),
                  kept("thin", DType::f16, {8, 0}, "")});
  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  CHECK(artifact["scalar"].decode() == scalar.values);
  CHECK(artifact["vector"].decode().size() == 96);
  CHECK(artifact["empty"].decode().empty());
  CHECK(artifact["thin"].decode().empty());
  CHECK(artifact["thin"].component(0).empty());
  std::vector<float> none;
  artifact["thin"].decode({3, 4}, none);
}

TEST_CASE("kept floats decode, and what nothing decodes says so") {
  TempDir dir;
  const std::string halves("\x00\x3c\x00\xc0", 4);  // 1, -2
  const std::string ids("\x01\0\0\0\0\0\0\0\x02\0\0\0\0\0\0\0", 16);
  build_artifact(dir.file("m.synps"), {kept("half", DType::f16, {2}, halves),
                                       kept("position_ids", DType::i64, {1, 2}, ids)});
  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  CHECK(artifact["half"].decode() == std::vector<float>{1.0f, -2.0f});

  const WeightView weight = artifact["position_ids"];
  CHECK(weight.codec() == nullptr);
  REQUIRE(weight.component("values").size() == 16);
  CHECK(std::memcmp(weight.component(0).data(), ids.data(), 16) == 0);
  const Problem problem = problem_of([&] { weight.decode(); });
  CHECK(problem.code == ErrorCode::usage);
  CHECK(problem.field == "position_ids");
  CHECK(problem.hint.find("component()") != std::string::npos);
}

TEST_CASE("a view keeps the file mapped after its artifact is gone") {
  TempDir dir;
  build_artifact(dir.file("m.synps"), {encoded("w", "f32", {2, 2})});
  std::optional<Artifact> artifact = Artifact::open(dir.file("m.synps"));
  const WeightView weight = (*artifact)["w"];
  artifact.reset();
  CHECK(weight.decode() == test_values(4));
}

TEST_CASE("heap weights are read when the artifact opens, and need the file no more") {
  TempDir dir;
  std::vector<WeightToStore> weights;
  for (const std::string& codec : kBuiltin) {
    weights.push_back(encoded("heap." + codec, codec, {5, 256}));
    weights.back().residency = ResidencyRequest::heap;
    weights.push_back(encoded("mapped." + codec, codec, {5, 256}));
  }
  build_artifact(dir.file("m.synps"), weights);
  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  std::vector<std::vector<float>> mapped;
  for (const std::string& codec : kBuiltin) mapped.push_back(artifact["mapped." + codec].decode());

  std::filesystem::resize_file(dir.file("m.synps"), 0);
  for (std::size_t i = 0; i < kBuiltin.size(); ++i) {
    CAPTURE(kBuiltin[i]);
    const WeightView weight = artifact["heap." + kBuiltin[i]];
    CHECK(weight.form().residency == Residency::heap);
    CHECK(weight.decode() == mapped[i]);
  }
}

TEST_CASE("any number of threads read at once") {
  TempDir dir;
  std::vector<WeightToStore> weights;
  for (const std::string& codec : kBuiltin) weights.push_back(encoded(codec, codec, {64, 256}));
  build_artifact(dir.file("m.synps"), weights);
  std::vector<std::vector<float>> expected;
  for (const WeightView weight : Artifact::open(dir.file("m.synps")))
    expected.push_back(weight.decode());

  const Artifact artifact = Artifact::open(dir.file("m.synps"));
  std::vector<std::vector<std::vector<float>>> found(4);
  std::vector<std::thread> threads;
  for (auto& own : found)
    threads.emplace_back([&artifact, &own] {
      for (const WeightView weight : artifact) own.push_back(weight.decode());
    });
  for (std::thread& thread : threads) thread.join();
  for (const auto& own : found) CHECK(own == expected);
}

}  // namespace synps::testing
