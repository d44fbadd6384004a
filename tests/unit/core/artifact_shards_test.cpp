// The shard index: names of files, its text, and what is refused.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "synps/artifact_shards.h"
#include "synps/shard_name.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

Digest digest_of(char digit) {
  return *digest_from_hex(std::string(32, digit));
}

ArtifactShards sample() {
  ArtifactShards shards;
  shards.total_bytes = 1234;
  shards.shards = {{"m-00001-of-00002.synps", digest_of('a')},
                   {"m-00002-of-00002.synps", digest_of('1')}};
  shards.entries = {{"a", 0}, {"b#blocks", 1}, {"\"c\"\t", 0}};
  shards.sort();
  return shards;
}

std::string shard(char digit, const std::string& name) {
  return "\"" + name + "\":\"" + std::string(32, digit) + "\"";
}

std::string index_of(const std::string& metadata, const std::string& map) {
  return "{\"metadata\":{" + metadata + "},\"weight_map\":{" + map + "}}";
}

const std::string kVersion = "\"synps.version\":\"1\",\"total_size\":4";
const std::string kOne = "\"synps.shards\":{" + shard('a', "one") + "}," + kVersion;

Problem problem_of(const std::string& json) {
  CAPTURE(json);
  const auto problems = thrown_problems([&] { parse_artifact_shards(json, "index"); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::artifact);
  CHECK(problems[0].file == "index");
  return problems[0];
}

}  // namespace

TEST_CASE("shards are called as Hugging Face calls them") {
  CHECK(shard_name("model.safetensors", 0, 3) == "model-00001-of-00003.safetensors");
  CHECK(shard_index_name("model.safetensors") == "model.safetensors.index.json");
  CHECK(shard_name("a.b/x.y.synps", 98, 100) == "a.b/x.y-00099-of-00100.synps");
  CHECK(shard_name("a.b/model", 1, 2) == "a.b/model-00002-of-00002");
  CHECK(shard_name(".hidden", 1, 2) == ".hidden-00002-of-00002");
}

TEST_CASE("the name of a shard says which it is, and of what") {
  const auto shard = parse_shard_name("a.b/x.y-00099-of-00100.synps");
  REQUIRE(shard);
  CHECK(shard->artifact == "x.y.synps");
  CHECK(shard->number == 99);
  CHECK(shard->count == 100);
  CHECK(parse_shard_name("m-00001-of-00001")->artifact == "m");
  for (const char* other : {"", "model.synps", "-00001-of-0002.synps", "m-0001-of-00002.synps",
                            "m-00000-of-00002.synps", "m-00003-of-00002.synps",
                            "m-0000x-of-00002.synps", "m-00001-to-00002.synps", "a/", "-of-"}) {
    CAPTURE(other);
    CHECK_FALSE(parse_shard_name(other));
  }
}

TEST_CASE("a shard is known by its name") {
  for (const char* name : {"m-00001-of-00003.synps", "m-00009-of-00003.synps"})
    CHECK(is_shard_name(name, "m.synps"));
  for (const char* name :
       {"m.synps", "m-0001-of-00003.synps", "m-00001-of-00003.safetensors",
        "n-00001-of-00003.synps", "m-00001-of-00003", "m-00001-of-0000x.synps",
        "m-00001_of-00003.synps", "", "mm-00001-of-00003.synps", "m-00001-of-000033.synps"}) {
    CAPTURE(name);
    CHECK_FALSE(is_shard_name(name, "m.synps"));
  }
}

TEST_CASE("what is written is canonical, and reads back") {
  const ArtifactShards shards = sample();
  const std::string json = to_json(shards);
  CHECK(json == "{\"metadata\":{\"synps.shards\":{" + shard('a', "m-00001-of-00002.synps") + "," +
                    shard('1', "m-00002-of-00002.synps") +
                    "},\"synps.version\":\"1\",\"total_size\":1234},\"weight_map\":{"
                    "\"\\\"c\\\"\\t\":\"m-00001-of-00002.synps\","
                    "\"a\":\"m-00001-of-00002.synps\","
                    "\"b#blocks\":\"m-00002-of-00002.synps\"}}");
  CHECK(parse_artifact_shards(json, "index") == shards);
  ArtifactShards other = shards;
  other.shards[0].index = digest_of('f');
  CHECK(to_json(other).size() == json.size());
}

TEST_CASE("another sequence of keys and white space read, too") {
  const ArtifactShards shards = parse_artifact_shards(
      "{\n \"weight_map\" : {\"b\":\"two\",\"a\":\"one\"},\n \"metadata\":{\"total_size\":4,"
      "\"synps.version\":\"1\",\"synps.shards\":{" +
          shard('b', "two") + "," + shard('a', "one") + "}}}\n",
      "index");
  REQUIRE(shards.shards.size() == 2);
  CHECK(shards.shards[0].file == "one");
  CHECK(shards.entries == std::vector<ArtifactShards::Entry>{{"a", 0}, {"b", 1}});
}

TEST_CASE("names of shards that could lead out of the folder") {
  for (const char* name : {"../x", "/etc/x", "sub/x", "./x", ".", "..", "", "x/", "x\\u0000"}) {
    const Problem problem = problem_of(index_of(
        "\"synps.shards\":{" + shard('a', "one") + "," + shard('b', name) + "}," + kVersion,
        "\"a\":\"one\""));
    CHECK(problem.field == "metadata.synps.shards");
    CHECK(problem.want == "names of files in the folder of the index");
  }
}

TEST_CASE("fields that are missing, unknown, repeated or of another type") {
  const std::string map = "\"a\":\"one\"";
  const struct {
    std::string json;
    std::string field;
  } cases[] = {
      {"", ""},
      {"[]", ""},
      {"{\"metadata\":7,\"weight_map\":{}}", "metadata"},
      {"{}", "metadata"},
      {"{\"metadata\":{" + kOne + "}}", ""},
      {"{\"metadata\":{" + kOne + "},\"weight_map\":{},\"more\":1}", ""},
      {"{\"metadata\":{" + kOne + "},\"metadata\":{" + kOne + "},\"weight_map\":{}}", ""},
      {index_of("\"total_size\":4", map), "metadata.synps.version"},
      {index_of("\"synps.version\":\"1\",\"total_size\":4", map), "metadata"},
      {index_of(kOne + ",\"total_size\":4", map), "metadata"},
      {index_of(kOne + ",\"x\":4", map), "metadata"},
      {index_of("\"synps.shards\":{},\"synps.version\":0,\"total_size\":4", map),
       "metadata.synps.version"},
      {index_of("\"synps.shards\":{},\"synps.version\":\"1\",\"total_size\":-1", map),
       "metadata.total_size"},
      {index_of("\"synps.shards\":{},\"synps.version\":\"1\",\"total_size\":1.5", map),
       "metadata.total_size"},
      {index_of("\"synps.shards\":{}," + kVersion, map), "metadata.synps.shards"},
      {index_of("\"synps.shards\":[]," + kVersion, map), "metadata.synps.shards"},
      {index_of("\"synps.shards\":{\"one\":7}," + kVersion, map), "metadata.synps.shards"},
      {index_of("\"synps.shards\":{\"one\":\"aa\"}," + kVersion, map), "metadata.synps.shards.one"},
      {index_of(
           "\"synps.shards\":{" + shard('a', "one") + "," + shard('a', "one") + "}," + kVersion,
           map),
       "metadata.synps.shards"},
      {index_of(kOne, "\"a\":1"), "weight_map"},
      {index_of(kOne, "\"a\":\"one\",\"a\":\"one\""), "weight_map"},
      {index_of(kOne, "\"a\":\"one\",\"\\u0061\":\"one\""), "weight_map"},
      {index_of(kOne, "\"a\":\"two\""), "weight_map key 'a'"},
      {std::string(100'000, '['), ""},
      {index_of(kOne, map) + "x", ""},
      {index_of(kOne, "\"\xff\":\"one\""), ""},
  };
  for (const auto& each : cases) CHECK(problem_of(each.json).field == each.field);
}

TEST_CASE("another version is named") {
  for (const char* json : {"{\"metadata\":{\"synps.version\":\"7\"},\"weight_map\":{}}",
                           "{\"metadata\":{\"synps.version\":\"7\",\"new\":[]},\"more\":{}}"}) {
    const Problem problem = problem_of(json);
    CHECK(problem.what == "the artifact has another format version");
    CHECK(problem.field == "metadata.synps.version");
    CHECK(problem.found == "'7'");
  }
}

TEST_CASE("a git-lfs pointer says what it is") {
  const Problem problem = problem_of("version https://git-lfs.github.com/spec/v1\noid sha256:0\n");
  CHECK(problem.found == "a git-lfs pointer, not the file itself");
}

TEST_CASE("an index of artifacts is told from one of a checkpoint") {
  TempDir dir;
  const auto is_ours = [&](const std::string& text) {
    write_file(dir.file("i"), text);
    return is_artifact_shard_index(InputFile(Os::posix(), dir.file("i")));
  };
  CHECK(is_ours(to_json(sample())));
  CHECK(is_ours(to_json(sample()).substr(0, 60)));
  CHECK(is_ours("{ \"metadata\": {\"synps.version\": \"9\"}, \"weight_map\": {}}"));
  CHECK_FALSE(is_ours("{\"metadata\":{\"total_size\":4},\"weight_map\":{\"a\":\"synps.shards\"}}"));
  CHECK_FALSE(is_ours("{\"weight_map\":{}}"));
  CHECK_FALSE(is_ours("not json"));
  CHECK_FALSE(is_ours(""));
}
