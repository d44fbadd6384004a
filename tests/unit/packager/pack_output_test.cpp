// Where pack writes, and what it never touches.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <filesystem>
#include <fstream>
#include <string>

#include "pack_fixture.h"
#include "synps/pack.h"

using namespace synps;
using namespace synps::testing;
namespace fs = std::filesystem;

namespace {

SafetensorsBuilder one_weight() {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::f32, {64, 256});
  return builder;
}

/// Packs to `output` and expects Error(output), with everything in the folder as before.
void check_refused(const PackFixture& fixture, const Checkpoint& checkpoint,
                   const std::string& output, PackOptions options) {
  CAPTURE(output);
  const auto names = fixture.dir.list();
  const std::string input = read_file(fixture.input);
  const Plan plan = make_plan(checkpoint, one_format("q8_0"));
  const auto problems = problems_of([&] { pack(checkpoint, plan, output, options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::output);
  CHECK(fixture.dir.list() == names);
  CHECK(read_file(fixture.input) == input);
}

}  // namespace

TEST_CASE("an existing output needs replace") {
  const PackFixture fixture(one_weight());
  write_file(fixture.output, "earlier");
  check_refused(fixture, fixture.open(), fixture.output, {});
  CHECK(read_file(fixture.output) == "earlier");
  PackOptions options;
  options.replace = true;
  const PackReport report = fixture.pack(one_format("q8_0"), options);
  CHECK(fs::file_size(fixture.output) == report.artifact_bytes);
}

TEST_CASE("an output that is an input, by any name, is refused") {
  const PackFixture fixture(one_weight());
  const Checkpoint checkpoint = fixture.open();
  fs::create_hard_link(fixture.input, fixture.dir.file("hard"));
  fs::create_symlink(fixture.input, fixture.dir.file("soft"));
  fs::create_directory(fixture.dir.file("folder"));
  fs::create_symlink(fixture.dir.path(), fixture.dir.file("here"));
  PackOptions replace;
  replace.replace = true;
  for (const char* name : {"model.safetensors", "hard", "soft", "folder/../model.safetensors",
                           "here/model.safetensors", "here/hard"})
    check_refused(fixture, checkpoint, fixture.dir.file(name), replace);
}

TEST_CASE("an output that is a shard, the shard index or the policy is refused") {
  TempDir dir;
  SafetensorsBuilder first;
  SafetensorsBuilder second;
  add_floats(first, "a", DType::f32, {2, 32});
  add_floats(second, "b", DType::f32, {2, 32});
  first.write(dir.file("model-1.safetensors"));
  second.write(dir.file("model-2.safetensors"));
  const std::string index = dir.file("model.safetensors.index.json");
  ShardIndexBuilder().map("a", "model-1.safetensors").map("b", "model-2.safetensors").write(index);
  write_file(dir.file("synps.toml"), "a policy");
  const Checkpoint checkpoint = Checkpoint::open(dir.path().string());
  const Plan plan = make_plan(checkpoint, one_format("q8_0"));
  PackOptions options;
  options.replace = true;
  options.protected_files = {InputFile(Os::posix(), dir.file("synps.toml")).identity()};
  for (const char* name : {"model-1.safetensors", "model-2.safetensors",
                           "model.safetensors.index.json", "synps.toml"}) {
    CAPTURE(name);
    const std::string before = read_file(dir.file(name));
    const auto problems = problems_of([&] { pack(checkpoint, plan, dir.file(name), options); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::output);
    CHECK(read_file(dir.file(name)) == before);
  }
  CHECK(dir.list().size() == 4);
  pack(checkpoint, plan, dir.file("out"), options);
  CHECK(fs::file_size(dir.file("out")) == plan.artifact_bytes);
}

TEST_CASE("an output that is no regular file is refused") {
  const PackFixture fixture(one_weight());
  fs::create_directory(fixture.dir.file("folder"));
  REQUIRE(::mkfifo(fixture.dir.file("fifo").c_str(), 0600) == 0);
  write_file(fixture.dir.file("other"), "untouched");
  fs::create_symlink(fixture.dir.file("other"), fixture.dir.file("link"));
  fs::create_symlink(fixture.dir.file("nowhere"), fixture.dir.file("dangling"));
  PackOptions replace;
  replace.replace = true;
  for (const char* name : {"folder", "fifo", "link", "dangling"})
    check_refused(fixture, fixture.open(), fixture.dir.file(name), replace);
  CHECK(read_file(fixture.dir.file("other")) == "untouched");
}

TEST_CASE("an output in a folder that does not exist is an I/O error") {
  const PackFixture fixture(one_weight());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, one_format("q8_0"));
  const auto problems =
      problems_of([&] { pack(checkpoint, plan, fixture.dir.file("no/such/out"), {}); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::io);
}

TEST_CASE("two packers cannot write one output") {
  const PackFixture fixture(one_weight());
  const AtomicFile other(Os::posix(), fixture.output, {});
  const auto problems = problems_of([&] { fixture.pack(one_format("q8_0")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::output);
}

TEST_CASE("an input that changes while it is packed is refused") {
  enum class Change { longer, shorter, rewritten };
  for (const Change change : {Change::longer, Change::shorter, Change::rewritten}) {
    CAPTURE(static_cast<int>(change));
    const PackFixture fixture(one_weight());
    bool changed = false;
    PackOptions options;
    options.jobs = 1;
    options.progress = [&](std::uint64_t done, std::uint64_t) {
      if (done == 0 || std::exchange(changed, true)) return true;
      if (change == Change::longer) std::ofstream(fixture.input, std::ios::app) << "more";
      if (change == Change::shorter) fs::resize_file(fixture.input, 100);
      if (change == Change::rewritten)
        fs::last_write_time(fixture.input,
                            fs::last_write_time(fixture.input) + std::chrono::seconds(1));
      return true;
    };
    const auto problems = problems_of([&] { fixture.pack(one_format("q8_0"), options); });
    REQUIRE(changed);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::checkpoint);
    CHECK(problems[0].file == fixture.input);
    CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
  }
}
