// Artifacts whose metadata claims what theirs cannot.

#include <doctest/doctest.h>

#include <string>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/verify.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::string build(const TempDir& dir, const std::string& codec, const std::string& key,
                  const std::string& value) {
  WeightToStore made;
  made.path = "the.weight";
  made.shape = Shape{4, 64};
  made.codec = codec;
  made.values = test_values(made.shape.elements());
  const std::string file = dir.file(codec + "," + key + "," + value);
  build_artifact(file, {made}, {}, builtin_registry(),
                 [&](ArtifactLayout& layout) { layout.metadata[key] = value; });
  return file;
}

}  // namespace

TEST_CASE("a key of synps that the version does not have is refused") {
  const TempDir dir;
  for (const std::string key : {"synps.", "synps.more", "synps.index.too"}) {
    CAPTURE(key);
    const std::string file = build(dir, "q8_0", key, "1");
    const Problem problem = thrown_problem([&] { Artifact::open(file); });
    CHECK(problem.code == ErrorCode::artifact);
    CHECK(problem.field == "__metadata__." + key);
    CHECK_FALSE(verify(file, builtin_registry()).ok());
  }
  const std::string file = build(dir, "q8_0", "synpsis", "a key of the checkpoint");
  CHECK(Artifact::open(file).metadata().at("synpsis") == "a key of the checkpoint");
}

TEST_CASE("a full check finds the format of a checkpoint on packed weights") {
  const TempDir dir;
  CHECK(verify(build(dir, "q8_0", "format", "synps"), builtin_registry()).ok());
  CHECK(verify(build(dir, "f32", "format", "pt"), builtin_registry()).ok());
  const VerifyReport report = verify(build(dir, "q8_0", "format", "pt"), builtin_registry());
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems.front().field == "__metadata__.format");
}
