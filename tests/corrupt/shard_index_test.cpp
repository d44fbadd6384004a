// Shard indexes that are malformed, or that do not agree with their shards.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include <sys/stat.h>

#include "safetensors_builder.h"
#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

/// A folder with an index and shards "one" (tensors a, b) and "two" (tensor c).
struct Shards {
  Shards() {
    SafetensorsBuilder()
        .add("a", DType::u8, {1}, std::string_view("a"))
        .add("b", DType::u8, {1}, std::string_view("b"))
        .write(one());
    SafetensorsBuilder().add("c", DType::u8, {1}, std::string_view("c")).write(two());
  }

  std::string one() const { return dir.file("one.safetensors"); }
  std::string two() const { return dir.file("two.safetensors"); }
  std::string index() const { return dir.file("model.safetensors.index.json"); }

  std::vector<Problem> problems() const {
    return thrown_problems([&] { Checkpoint::open(index()); });
  }
  /// The only problem of an index of this text. It names the index.
  Problem problem_of(const std::string& json) const {
    write_file(index(), json);
    const std::vector<Problem> all = problems();
    REQUIRE(all.size() == 1);
    CHECK(all.front().code == ErrorCode::checkpoint);
    CHECK(all.front().file == index());
    return all.front();
  }
  Problem problem_of(const ShardIndexBuilder& builder) const { return problem_of(builder.build()); }

  TempDir dir;
};

ShardIndexBuilder sound_index() {
  return ShardIndexBuilder()
      .map("a", "one.safetensors")
      .map("b", "one.safetensors")
      .map("c", "two.safetensors");
}

}  // namespace

TEST_CASE("the shards that the other cases break are sound") {
  const Shards shards;
  sound_index().write(shards.index());
  CHECK(Checkpoint::open(shards.index()).tensors().size() == 3);
}

TEST_CASE("shard names that lead out of the folder, or into another") {
  const Shards shards;
  std::filesystem::create_directory(shards.dir.file("sub"));
  std::filesystem::copy(shards.two(), shards.dir.file("sub/two.safetensors"));
  const std::string names[] = {"../x.safetensors",
                               shards.two(),
                               "sub/two.safetensors",
                               "./two.safetensors",
                               "..",
                               ".",
                               "",
                               "two.safetensors/",
                               std::string("two\0", 4)};
  for (const std::string& name : names) {
    CAPTURE(name);
    const Problem problem = shards.problem_of(
        ShardIndexBuilder().map("a", "one.safetensors").map("b", "one.safetensors").map("c", name));
    CHECK(problem.what == "a shard's name is not a plain file name");
    CHECK(problem.field == "weight_map key 'c'");
    CHECK(problem.found == quote(name));
    CHECK(problem.line == 1);
    CHECK(problem.column > 1);
  }
}

TEST_CASE("a shard that is missing") {
  const Shards shards;
  std::filesystem::remove(shards.two());
  const Problem problem = shards.problem_of(sound_index());
  CHECK(problem.what == "a shard is missing");
  CHECK(problem.field == "shard 'two.safetensors'");
}

TEST_CASE("a shard that is a link to nothing") {
  const Shards shards;
  std::filesystem::remove(shards.two());
  std::filesystem::create_symlink("blobs/none", shards.two());
  CHECK(shards.problem_of(sound_index()).what == "a shard is missing");
}

TEST_CASE("a shard that is a directory or a FIFO") {
  const Shards shards;
  sound_index().write(shards.index());
  std::filesystem::remove(shards.two());
  std::filesystem::create_directory(shards.two());
  std::vector<Problem> problems = shards.problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
  CHECK(problems[0].file == shards.two());
  CHECK(problems[0].found == "a directory");

  std::filesystem::remove(shards.two());
  REQUIRE(::mkfifo(shards.two().c_str(), 0600) == 0);
  problems = shards.problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].found == "a FIFO");
}

TEST_CASE("a shard that is a git-lfs pointer") {
  const Shards shards;
  sound_index().write(shards.index());
  write_file(shards.two(), "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  const std::vector<Problem> problems = shards.problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == shards.two());
  CHECK(problems[0].found == "a git-lfs pointer, not the file itself");
  CHECK(problems[0].hint == "fetch the file with `git lfs pull`");
}

TEST_CASE("an index that is a git-lfs pointer") {
  const Shards shards;
  const Problem problem =
      shards.problem_of("version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  CHECK(problem.found == "a git-lfs pointer, not the file itself");
}

TEST_CASE("a tensor that is not in the shard that the index names") {
  const Shards shards;
  const Problem problem = shards.problem_of(ShardIndexBuilder()
                                                .map("a", "one.safetensors")
                                                .map("b", "two.safetensors")
                                                .map("c", "two.safetensors"));
  CHECK(problem.what == "a tensor is not in the shard that the index names");
  CHECK(problem.field == "tensor 'b'");
  CHECK(problem.found == "'one.safetensors'");
  CHECK(problem.want == "'two.safetensors'");
}

TEST_CASE("a tensor in two shards, listed or not") {
  const Shards shards;
  SafetensorsBuilder()
      .add("c", DType::u8, {1}, std::string_view("c"))
      .add("b", DType::u8, {1}, std::string_view("x"))
      .write(shards.two());
  Problem problem = shards.problem_of(sound_index());
  CHECK(problem.what == "a tensor is in two shards");
  CHECK(problem.field == "tensor 'b'");
  CHECK(problem.found == "'one.safetensors' and 'two.safetensors'");

  problem = shards.problem_of(
      ShardIndexBuilder().map("a", "one.safetensors").map("c", "two.safetensors"));
  CHECK(problem.what == "a tensor is in two shards");
}

TEST_CASE("a tensor of the index that is in no shard") {
  const Shards shards;
  const Problem problem = shards.problem_of(sound_index().map("d", "two.safetensors"));
  CHECK(problem.what == "a tensor is in no shard");
  CHECK(problem.field == "tensor 'd'");
  CHECK(problem.want == "'two.safetensors'");
}

TEST_CASE("a tensor of a shard that is not in the index") {
  const Shards shards;
  const Problem problem = shards.problem_of(
      ShardIndexBuilder().map("b", "one.safetensors").map("c", "two.safetensors"));
  CHECK(problem.what == "a tensor of a shard is not in the shard index");
  CHECK(problem.field == "tensor 'a'");
  CHECK(problem.found == "'one.safetensors'");
}

TEST_CASE("duplicate tensor in the index, also through an escape and with the same shard") {
  const Shards shards;
  for (const std::string_view twin :
       {R"("c":"one.safetensors")", R"("\u0063":"two.safetensors")"}) {
    CAPTURE(twin);
    std::string json = sound_index().build();
    json.insert(json.size() - 2, ",\n " + std::string(twin));
    const Problem problem = shards.problem_of(json);
    CHECK(problem.what == "a tensor stands twice in the shard index");
    CHECK(problem.field == "'c'");
    CHECK(problem.line == 2);
    CHECK(problem.column == 2);
  }
}

TEST_CASE("duplicate weight_map and metadata") {
  const Shards shards;
  CHECK(shards.problem_of(R"({"weight_map":{"a":"one.safetensors"},"weight_map":{}})").what ==
        "a key stands twice");
  CHECK(shards.problem_of(R"({"metadata":{},"metadata":{},"weight_map":{}})").what ==
        "a key stands twice");
}

TEST_CASE("two names for one file, by a symbolic and by a hard link") {
  const Shards shards;
  const auto check = [&] {
    const Problem problem = shards.problem_of(sound_index());
    CHECK(problem.what == "two shards are one file under two names");
    CHECK(problem.field == "shard 'two.safetensors'");
    CHECK(problem.found == "the same file as 'one.safetensors'");
  };
  std::filesystem::remove(shards.two());
  std::filesystem::create_symlink("one.safetensors", shards.two());
  check();
  std::filesystem::remove(shards.two());
  std::filesystem::create_hard_link(shards.one(), shards.two());
  check();
}

TEST_CASE("a shard whose header is malformed") {
  const Shards shards;
  sound_index().write(shards.index());
  write_file(shards.two(), raw_safetensors("{"));
  const std::vector<Problem> problems = shards.problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == shards.two());
}

TEST_CASE("all problems are reported together") {
  const Shards shards;
  write_file(shards.two(), "GGUF");
  ShardIndexBuilder()
      .map("a", "one.safetensors")
      .map("b", "three.safetensors")
      .map("c", "two.safetensors")
      .map("d", "one.safetensors")
      .map("e", "../one.safetensors")
      .map("f", "four.safetensors")
      .write(shards.index());
  std::vector<std::string> whats;
  for (const Problem& problem : shards.problems()) whats.push_back(problem.what);
  CHECK(whats == std::vector<std::string>{"a shard's name is not a plain file name",
                                          "a shard is missing", "a shard is missing",
                                          "a file of another kind than wanted",
                                          "a tensor is not in the shard that the index names",
                                          "a tensor is in no shard"});
}

TEST_CASE("a hundred thousand problems stay readable, and take linear time") {
  const Shards shards;
  ShardIndexBuilder index = sound_index();
  for (int i = 0; i < 100'000; ++i) index.map("t" + std::to_string(i), "../" + std::to_string(i));
  index.write(shards.index());
  const std::vector<Problem> problems = shards.problems();
  REQUIRE(problems.size() == 51);
  CHECK(problems.back().what == "99950 more problems like these");
}

TEST_CASE("index that is no shard index") {
  const Shards shards;
  CHECK(shards.problem_of("").what == "the shard index is empty");
  CHECK(shards.problem_of(" \n").what == "the shard index is empty");
  CHECK(shards.problem_of("[]").what == "the shard index does not begin with '{'");
  CHECK(shards.problem_of("\xEF\xBB\xBF{}").what ==
        "the shard index begins with a byte order mark");
  CHECK(shards.problem_of("{}").what == "the shard index has no weight_map");
  CHECK(shards.problem_of(R"({"weight_map":{}})").what == "the weight_map is empty");
  CHECK(shards.problem_of(R"({"weight_map":[]})").want == "an object");
  CHECK(shards.problem_of(R"({"weight_map":null})").want == "an object");
  CHECK(shards.problem_of(R"({"weight_map":{"a":1}})").want == "a string");
  CHECK(shards.problem_of(R"({"metadata":1,"weight_map":{"a":"one.safetensors"}})").field ==
        "metadata");
  CHECK(shards.problem_of(R"({"weight_map":{"a":"one.safetensors"}} x)").what ==
        "the shard index does not end with '}'");
  CHECK(shards.problem_of(std::string("{\"weight_map\":{}}\0", 18)).what ==
        "NUL bytes follow the JSON of the shard index");
}

TEST_CASE("malformed values that nothing reads are found all the same") {
  const Shards shards;
  for (const std::string_view value : {"nul", "[1 2]", "01", "{\"a\"}", "[1,]", "\"\\x\""}) {
    CAPTURE(value);
    const std::string tail = R"("weight_map":{"a":"one.safetensors"}})";
    CHECK(shards.problem_of("{\"other\":" + std::string(value) + "," + tail).what ==
          "the shard index is not valid JSON");
    CHECK(shards.problem_of("{\"metadata\":{\"x\":" + std::string(value) + "}," + tail).what ==
          "the shard index is not valid JSON");
  }
}

TEST_CASE("index nested 100,000 deep") {
  const Shards shards;
  const std::string deep = std::string(100'000, '[') + std::string(100'000, ']');
  const Problem problem =
      shards.problem_of("{\"metadata\":{\"x\":" + deep + "},\n\"weight_map\":{}}");
  CHECK(problem.what == "the shard index is nested too deeply");
  CHECK(problem.line == 1);
}

TEST_CASE("index over 100,000,000 bytes") {
  const Shards shards;
  sound_index().write(shards.index());
  std::filesystem::resize_file(shards.index(), 100'000'001);  // a hole, no disk space
  const Problem problem = thrown_problem([&] { Checkpoint::open(shards.index()); });
  CHECK(problem.code == ErrorCode::limit);
  CHECK(problem.file == shards.index());
}

TEST_CASE("index that is a FIFO") {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors.index.json");
  REQUIRE(::mkfifo(path.c_str(), 0600) == 0);
  CHECK(thrown_problem([&] { Checkpoint::open(path); }).found == "a FIFO");
}
