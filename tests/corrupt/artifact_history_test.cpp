// Artifacts that claim a history, or a scale, which a weight cannot have.

#include <doctest/doctest.h>

#include <functional>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/checkpoint.h"
#include "synps/unpack.h"
#include "synps/verify.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

WeightToStore weight(const std::string& path, const std::string& codec, const Shape& shape) {
  WeightToStore made;
  made.path = path;
  made.shape = shape;
  made.codec = codec;
  made.values = test_values(shape.elements());
  return made;
}

WeightToStore kept(const std::string& path, DType dtype, const Shape& shape) {
  WeightToStore made;
  made.path = path;
  made.dtype = dtype;
  made.shape = shape;
  made.bytes.resize(*shape.bytes(dtype), std::byte{0x31});
  return made;
}

/// The one problem that everything that opens the artifact has with it.
Problem refusal(const std::function<void(StoredWeight&)>& forge) {
  const TempDir dir;
  const std::string file = dir.file("model.synps");
  build_artifact(file, {weight("the.weight", "q8_0", {4, 64})}, {}, builtin_registry(),
                 [&](ArtifactLayout& layout) { forge(layout.index.weights[0]); });
  const Problem problem = thrown_problem([&] { Artifact::open(file); });
  CHECK(problem.code == ErrorCode::artifact);
  const auto same = [&](const Problem& other) {
    CHECK(other.code == problem.code);
    CHECK(other.field == problem.field);
    CHECK(other.want == problem.want);
  };
  same(thrown_problem([&] { unpack(file, dir.file("out"), builtin_registry()); }));
  same(thrown_problem([&] { Checkpoint::open_artifact(file, builtin_registry()); }));
  const VerifyReport report = verify(file, builtin_registry());
  REQUIRE_FALSE(report.ok());
  same(report.problems.front());
  return problem;
}

}  // namespace

TEST_CASE("a history with what is no codec is refused, and named") {
  const Problem problem = refusal([](StoredWeight& stored) {
    stored.lossless = false;
    stored.history = {{"q4_0", "q4_0", 1}, CodecRef::keep()};
  });
  CHECK(problem.field == "weights[0].history[1]");
  CHECK(problem.found == "keep");
}

TEST_CASE("a kept weight whose source is not what its bytes are is refused, and named") {
  for (const char* source : {"q8_0:q8_0", "f32:f32", "f16", "keep", ""}) {
    CAPTURE(source);
    const TempDir dir;
    const std::string file = dir.file("model.synps");
    build_artifact(file, {kept("a.weight", DType::u8, {1, 34}), weight("b", "f32", {4, 64})}, {},
                   builtin_registry(),
                   [&](ArtifactLayout& layout) { layout.index.weights[0].source = source; });
    const Problem problem = thrown_problem([&] { Artifact::open(file); });
    CHECK(problem.code == ErrorCode::artifact);
    CHECK(problem.field == "weights[0].source");
    CHECK(thrown_problem([&] { Checkpoint::open_artifact(file, builtin_registry()); }).code ==
          ErrorCode::artifact);
  }
}

TEST_CASE("a history of what is called lossless is refused, and named") {
  const Problem problem = refusal([](StoredWeight& stored) {
    stored.lossless = true;
    stored.history = {{"q4_0", "q4_0", 1}};
  });
  CHECK(problem.field == "weights[0].lossless");
}

TEST_CASE("a history of codecs that nobody knows is read all the same") {
  const TempDir dir;
  const std::string file = dir.file("model.synps");
  build_artifact(file, {weight("the.weight", "q8_0", {4, 64})}, {}, builtin_registry(),
                 [&](ArtifactLayout& layout) {
                   layout.index.weights[0].lossless = false;
                   layout.index.weights[0].history = {{"gone", "long", 7}};
                 });
  CHECK(verify(file, builtin_registry()).ok());
  const Checkpoint source = Checkpoint::open_artifact(file, builtin_registry());
  CHECK(source.tensors()[0].stored->history[0].id() == "gone:long");
}

TEST_CASE(
    "a scale that the index names and that cannot be one is refused, where values are wanted") {
  const TempDir dir;
  const std::string file = dir.file("model.synps");
  const struct {
    const char* scale;
    ScaleForm form;
    const char* what;
  } cases[] = {
      {"nowhere", ScaleForm::row, "the scale of a weight is not in the artifact"},
      {"ids", ScaleForm::row, "what the index calls the scale of a weight cannot be its scale"},
      {"long", ScaleForm::row, "what the index calls the scale of a weight cannot be its scale"},
      {"rows", ScaleForm::tensor, "what the index calls the scale of a weight cannot be its scale"},
      {"a", ScaleForm::row, "what the index calls the scale of a weight cannot be its scale"},
      {"rows", ScaleForm::row, nullptr},
  };
  for (const auto& each : cases) {
    CAPTURE(each.scale);
    std::filesystem::remove(file);
    build_artifact(file,
                   {kept("a", DType::f8_e4m3, {4, 64}), kept("ids", DType::i32, {4}),
                    kept("long", DType::f32, {5}), kept("rows", DType::f32, {4})},
                   {}, builtin_registry(), [&](ArtifactLayout& layout) {
                     layout.index.weights[0].scale = StoredScale{each.scale, each.form, false};
                   });
    const auto open = [&] { Checkpoint::open_artifact(file, builtin_registry()); };
    if (each.what == nullptr) {
      CHECK_NOTHROW(open());
      continue;
    }
    const Problem problem = thrown_problem(open);
    CHECK(problem.code == ErrorCode::artifact);
    CHECK(problem.field == "a");
    CHECK(problem.what == each.what);
  }
}
