// Which checkpoint a folder is.
#include <doctest/doctest.h>

#include <filesystem>

#include "safetensors_builder.h"
#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

/// A sound file with one tensor, of the file's name.
void write_model(const TempDir& dir, const std::string& name) {
  SafetensorsBuilder().add(name, DType::u8, {1}, std::string_view("x")).write(dir.file(name));
}

/// The only tensor of the folder's checkpoint.
std::string opened(const TempDir& dir) {
  const Checkpoint checkpoint = Checkpoint::open(dir.path().string());
  CHECK(checkpoint.path() == dir.path().string());
  REQUIRE(checkpoint.tensors().size() == 1);
  return checkpoint.tensors().front().weight.path;
}

Problem problem_of(const TempDir& dir) {
  Problem problem = thrown_problem([&] { Checkpoint::open(dir.path().string()); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.file == dir.path().string());
  return problem;
}

}  // namespace

TEST_CASE("model.safetensors goes before the index and before other files") {
  const TempDir dir;
  write_model(dir, "model.safetensors");
  write_model(dir, "other.safetensors");
  ShardIndexBuilder()
      .map("other.safetensors", "other.safetensors")
      .write(dir.file("model.safetensors.index.json"));
  CHECK(opened(dir) == "model.safetensors");
}

TEST_CASE("the index goes before other files") {
  const TempDir dir;
  write_model(dir, "a.safetensors");
  write_model(dir, "b.safetensors");
  ShardIndexBuilder()
      .map("b.safetensors", "b.safetensors")
      .write(dir.file("model.safetensors.index.json"));
  CHECK(opened(dir) == "b.safetensors");
}

TEST_CASE("a single safetensors file, whatever its name, hidden ones aside") {
  const TempDir dir;
  write_model(dir, "adapter_model.safetensors");
  write_model(dir, ".hidden.safetensors");
  write_file(dir.file("config.json"), "{}");
  CHECK(opened(dir) == "adapter_model.safetensors");
  const Checkpoint with_slash = Checkpoint::open(dir.path().string() + "/");
  CHECK(with_slash.files().front().path() == dir.file("adapter_model.safetensors"));
}

TEST_CASE("several safetensors files and no index are listed") {
  const TempDir dir;
  write_model(dir, "b.safetensors");
  write_model(dir, "a.safetensors");
  write_file(dir.file("config.json"), "{}");
  const Problem problem = problem_of(dir);
  CHECK(problem.what == "the folder holds several safetensors files");
  CHECK(problem.found == "'a.safetensors', 'b.safetensors'");
  CHECK(problem.hint == "name the file that is meant");
}

TEST_CASE("an index of another name is suggested") {
  const TempDir dir;
  write_model(dir, "a-1.safetensors");
  write_model(dir, "a-2.safetensors");
  write_file(dir.file("a.safetensors.index.json"), "{}");
  CHECK(problem_of(dir).hint == "name the shard index: 'a.safetensors.index.json'");
}

TEST_CASE("a folder without a checkpoint lists what it holds") {
  const TempDir dir;
  CHECK(problem_of(dir).found == "an empty folder");
  write_file(dir.file("pytorch_model.bin"), "PK");
  write_file(dir.file("config.json"), "{}");
  CHECK(problem_of(dir).what == "the folder holds no checkpoint");
  CHECK(problem_of(dir).found == "'config.json', 'pytorch_model.bin'");
  for (int i = 0; i < 20; ++i) write_file(dir.file("x" + std::to_string(i)), "");
  CHECK(problem_of(dir).found.ends_with("and 12 more"));
}

TEST_CASE("a model.safetensors that is a dead link is not passed over") {
  const TempDir dir;
  write_model(dir, "other.safetensors");
  std::filesystem::create_symlink("blobs/none", dir.file("model.safetensors"));
  const Problem problem = thrown_problem([&] { Checkpoint::open(dir.path().string()); });
  CHECK(problem.code == ErrorCode::io);
  CHECK(problem.file == dir.file("model.safetensors"));
}
