// How the metadata of shards is merged.
#include <doctest/doctest.h>

#include "safetensors_builder.h"
#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

using Metadata = std::map<std::string, std::string>;

/// Two shards, "1" and "2", with this metadata.
void write_shards(const TempDir& dir, const Metadata& first, const Metadata& second) {
  ShardIndexBuilder index;
  for (const auto& [name, metadata] : {std::pair("1", first), std::pair("2", second)}) {
    SafetensorsBuilder shard;
    for (const auto& [key, value] : metadata) shard.metadata(key, value);
    shard.add(name, DType::u8, {1}, std::string_view("x")).write(dir.file(name));
    index.map(name, name);
  }
  index.write(dir.file("m.safetensors.index.json"));
}

Metadata merged(const Metadata& first, const Metadata& second) {
  const TempDir dir;
  write_shards(dir, first, second);
  return Checkpoint::open(dir.file("m.safetensors.index.json")).metadata();
}

}  // namespace

TEST_CASE("equal values merge, and keys of one shard stay") {
  CHECK(merged({{"format", "pt"}, {"a", "1"}}, {{"format", "pt"}, {"b", ""}}) ==
        Metadata{{"a", "1"}, {"b", ""}, {"format", "pt"}});
  CHECK(merged({}, {}).empty());
}

TEST_CASE("values that differ are all kept, by shard") {
  CHECK(merged({{"k", "x"}, {"format", "pt"}}, {{"k", "y"}, {"format", "pt"}}) ==
        Metadata{{"format", "pt"}, {"k@1", "x"}, {"k@2", "y"}});
}

TEST_CASE("a key that has the name of another's split is refused") {
  const TempDir dir;
  write_shards(dir, {{"k", "x"}, {"k@2", "z"}}, {{"k", "y"}});
  const Problem problem =
      thrown_problem([&] { Checkpoint::open(dir.file("m.safetensors.index.json")); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.field == "__metadata__ key 'k@2'");
}

TEST_CASE("a shard that is a synps artifact is refused") {
  const TempDir dir;
  write_shards(dir, {{"synps.index", "00"}}, {});
  const Problem problem =
      thrown_problem([&] { Checkpoint::open(dir.file("m.safetensors.index.json")); });
  CHECK(problem.what == "the file is a synps artifact, not a checkpoint");
  CHECK(problem.file == dir.file("1"));
}
