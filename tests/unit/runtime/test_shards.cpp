// An artifact in several files, opened for use.

#include <doctest/doctest.h>

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/artifact_set.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

namespace fs = std::filesystem;

WeightToStore weight(const std::string& path, const std::string& codec, std::uint32_t seed) {
  WeightToStore made;
  made.path = path;
  made.shape = Shape{32, 96};
  made.codec = codec;
  made.values = test_values(32 * 96, seed);
  return made;
}

/// The same weights in one file and in two shards, with mapped, heap and compressed ones in each.
struct Model {
  Model() {
    std::vector<WeightToStore> all = {weight("a", "q8_0", 1), weight("b", "f16", 2),
                                      weight("c", "ternary", 3), weight("d", "q8_0", 4),
                                      weight("e", "f32", 5)};
    all[1].residency = ResidencyRequest::heap;
    all[2].compress = {Compression::zstd, 3};
    all[3].compress = {Compression::zstd, 3};
    build_artifact(whole, all, {{"note", "kept"}});
    // Paths alternate between the files.
    build_artifact(dir.file("m-00001-of-00002.synps"), {all[0], all[2], all[4]},
                   {{"note", "kept"}});
    build_artifact(dir.file("m-00002-of-00002.synps"), {all[1], all[3]}, {{"note", "kept"}});
    ArtifactShards shards;
    for (const char* name : {"m-00001-of-00002.synps", "m-00002-of-00002.synps"}) {
      const ArtifactReader reader(dir.file(name));
      shards.add(name, *digest_from_hex(reader.metadata().at("synps.index")), reader.index());
    }
    shards.sort();
    write_file(index, to_json(shards));
  }

  TempDir dir;
  TempDir elsewhere;
  std::string whole = elsewhere.file("whole.synps");
  std::string index = dir.file("m.synps.index.json");
};

void flip_last_byte(const std::string& path) {
  std::string bytes = read_file(path);
  bytes.back() = static_cast<char>(bytes.back() ^ 1);
  write_file(path, bytes);
}

}  // namespace

TEST_CASE("shards give what one file gives") {
  const Model model;
  const Artifact whole = Artifact::open(model.whole);
  for (const std::string& path : {model.index, model.dir.path().string()})
    for (const Verification verification :
         {Verification::never, Verification::first_use, Verification::all}) {
      OpenOptions options;
      options.verification = verification;
      const Artifact shards = Artifact::open(path, options);
      REQUIRE(shards.size() == whole.size());
      CHECK(shards.metadata() == whole.metadata());
      for (std::size_t i = 0; i < whole.size(); ++i) {
        CHECK(shards.weight(i).path() == whole.weight(i).path());
        CHECK(shards.weight(i).form() == whole.weight(i).form());
        CHECK(shards.weight(i).decode() == whole.weight(i).decode());
        CHECK(shards[whole.weight(i).path()].decode() == whole.weight(i).decode());
      }
      CHECK(shards.contains("c"));
      CHECK_FALSE(shards.contains("z"));
    }
}

TEST_CASE("a weight outlives its artifact") {
  const Model model;
  std::optional<WeightView> kept;
  {
    const Artifact shards = Artifact::open(model.index);
    kept = shards["d"];
  }
  CHECK(kept->decode() == Artifact::open(model.whole)["d"].decode());
}

TEST_CASE("damage in a shard is told with the shard, when it is used") {
  const Model model;
  const std::string second = model.dir.file("m-00001-of-00002.synps");
  flip_last_byte(second);  // of the compressed component, the last one: on the heap
  const Problem at_open = thrown_problem([&] { Artifact::open(model.index); });
  CHECK(at_open.code == ErrorCode::artifact);
  CHECK(at_open.file == second);
  OpenOptions all;
  all.verification = Verification::all;
  CHECK(thrown_problem([&] { Artifact::open(model.index, all); }).file == second);
}

TEST_CASE("one shard is opened as what it is") {
  const Model model;
  const Artifact shard = Artifact::open(model.dir.file("m-00002-of-00002.synps"));
  CHECK(shard.size() == 2);
  CHECK(shard["b"].decode() == Artifact::open(model.whole)["b"].decode());
}

TEST_CASE("a shard that is missing is named") {
  const Model model;
  fs::remove(model.dir.file("m-00002-of-00002.synps"));
  const Problem problem = thrown_problem([&] { Artifact::open(model.index); });
  CHECK(problem.code == ErrorCode::artifact);
  CHECK(problem.field == "shard 'm-00002-of-00002.synps'");
}

}  // namespace synps::testing
