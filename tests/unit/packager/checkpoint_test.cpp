#include "synps/checkpoint.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>

#include "safetensors_builder.h"
#include "temp_dir.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::string text_of(const Checkpoint& checkpoint, std::size_t tensor) {
  const SourceTensor& source = checkpoint.tensors()[tensor];
  std::string text(source.bytes, '?');
  checkpoint.read(source, 0, std::as_writable_bytes(std::span(text)));
  return text;
}

std::vector<std::string> paths_of(const Checkpoint& checkpoint) {
  std::vector<std::string> paths;
  for (const SourceTensor& tensor : checkpoint.tensors()) paths.push_back(tensor.weight.path);
  return paths;
}

SafetensorsBuilder one_tensor(std::string_view name, std::string_view bytes) {
  return SafetensorsBuilder().add(name, DType::u8, {bytes.size()}, bytes);
}

FileIdentity identity_of(const std::string& path) {
  FileStatus status;
  REQUIRE(Os::posix().status(path, true, status) == 0);
  return status.identity;
}

bool has_input(const Checkpoint& checkpoint, const std::string& path) {
  const auto& inputs = checkpoint.inputs();
  return std::find(inputs.begin(), inputs.end(), identity_of(path)) != inputs.end();
}

}  // namespace

TEST_CASE("one file: tensors by the bytes of the path, each where it lies") {
  const TempDir dir;
  const std::string path = dir.file("any.name");
  SafetensorsBuilder()
      .metadata("format", "pt")
      .add("b", DType::u8, {3}, std::string_view("bbb"))
      .add("é", DType::u8, {1}, std::string_view("e"))
      .add("B", DType::i8, {2, 1}, std::string_view("BB"))
      .add("a.b", DType::u8, {0}, std::string_view())
      .write(path);
  const Checkpoint checkpoint = Checkpoint::open(path);
  CHECK(checkpoint.path() == path);
  CHECK(paths_of(checkpoint) == std::vector<std::string>{"B", "a.b", "b", "é"});
  CHECK(text_of(checkpoint, 0) == "BB");
  CHECK(text_of(checkpoint, 1).empty());
  CHECK(text_of(checkpoint, 2) == "bbb");
  CHECK(text_of(checkpoint, 3) == "e");
  CHECK(checkpoint.tensors()[0].weight == Weight{"B", Shape{2, 1}, DType::i8});
  CHECK(checkpoint.data_bytes() == 6);
  CHECK(checkpoint.metadata().at("format") == "pt");
  CHECK(checkpoint.files().size() == 1);
  CHECK(checkpoint.inputs().size() == 1);
  CHECK(has_input(checkpoint, path));
}

TEST_CASE("part of a tensor is read, and nothing past its end") {
  const TempDir dir;
  one_tensor("w", "abcdef").add("x", DType::u8, {1}, std::string_view("x")).write(dir.file("m"));
  const Checkpoint checkpoint = Checkpoint::open(dir.file("m"));
  std::string text(2, '?');
  checkpoint.read(checkpoint.tensors()[0], 3, std::as_writable_bytes(std::span(text)));
  CHECK(text == "de");
  const auto read_at = [&](std::uint64_t offset) {
    checkpoint.read(checkpoint.tensors()[0], offset, std::as_writable_bytes(std::span(text)));
  };
  CHECK(thrown_problem([&] { read_at(5); }).code == ErrorCode::usage);
  CHECK(thrown_problem([&] { read_at(~std::uint64_t{0}); }).code == ErrorCode::usage);
}

TEST_CASE("an index joins its shards") {
  const TempDir dir;
  const std::string index = dir.file("model.safetensors.index.json");
  one_tensor("b", "bb").write(dir.file("model-00001-of-00002.safetensors"));
  SafetensorsBuilder()
      .add("c", DType::u8, {1}, std::string_view("c"))
      .add("a", DType::u8, {3}, std::string_view("aaa"))
      .write(dir.file("model-00002-of-00002.safetensors"));
  ShardIndexBuilder()
      .metadata(R"({"total_size":1e30,"total_parameters":null,"deep":[[{"x":[0.5]}]]})")
      .map("c", "model-00002-of-00002.safetensors")
      .map("a", "model-00002-of-00002.safetensors")
      .map("b", "model-00001-of-00002.safetensors")
      .write(index);
  const Checkpoint checkpoint = Checkpoint::open(index);
  CHECK(paths_of(checkpoint) == std::vector<std::string>{"a", "b", "c"});
  CHECK(text_of(checkpoint, 0) == "aaa");
  CHECK(text_of(checkpoint, 1) == "bb");
  CHECK(text_of(checkpoint, 2) == "c");
  REQUIRE(checkpoint.files().size() == 2);
  CHECK(checkpoint.files()[0].path() == dir.file("model-00001-of-00002.safetensors"));
  CHECK(checkpoint.inputs().size() == 3);
  CHECK(has_input(checkpoint, index));
  CHECK(has_input(checkpoint, dir.file("model-00001-of-00002.safetensors")));
  CHECK(has_input(checkpoint, dir.file("model-00002-of-00002.safetensors")));
}

TEST_CASE("a shard on its own is just what it holds") {
  const TempDir dir;
  const std::string shard = dir.file("model-00001-of-00002.safetensors");
  one_tensor("b", "bb").write(shard);
  ShardIndexBuilder()
      .map("b", "model-00001-of-00002.safetensors")
      .map("c", "model-00002-of-00002.safetensors")
      .write(dir.file("model.safetensors.index.json"));
  CHECK(paths_of(Checkpoint::open(shard)) == std::vector<std::string>{"b"});
}

TEST_CASE("shards are found beside the index, also where both are links") {
  const TempDir dir;
  std::filesystem::create_directory(dir.file("blobs"));
  std::filesystem::create_directory(dir.file("snapshot"));
  one_tensor("w", "w").write(dir.file("blobs/1234"));
  ShardIndexBuilder().map("w", "one.safetensors").write(dir.file("blobs/5678"));
  std::filesystem::create_symlink("../blobs/1234", dir.file("snapshot/one.safetensors"));
  std::filesystem::create_symlink("../blobs/5678",
                                  dir.file("snapshot/model.safetensors.index.json"));
  const Checkpoint checkpoint = Checkpoint::open(dir.file("snapshot"));
  CHECK(paths_of(checkpoint) == std::vector<std::string>{"w"});
  CHECK(has_input(checkpoint, dir.file("blobs/1234")));
  CHECK(has_input(checkpoint, dir.file("blobs/5678")));
}

TEST_CASE("a synps artifact is no checkpoint") {
  const TempDir dir;
  one_tensor("w", "w").metadata("synps.index", "00").write(dir.file("model.safetensors"));
  const Problem problem = thrown_problem([&] { Checkpoint::open(dir.file("model.safetensors")); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.what == "the file is a synps artifact, not a checkpoint");
  CHECK(problem.hint.find("synps unpack") != std::string::npos);
}

TEST_CASE("a file that changed since it was opened is noticed") {
  const TempDir dir;
  const std::string path = dir.file("model.safetensors");
  one_tensor("w", "wwww").write(path);
  const Checkpoint checkpoint = Checkpoint::open(path);
  checkpoint.check_unchanged();
  std::filesystem::resize_file(path, std::filesystem::file_size(path) - 1);
  const Problem problem = thrown_problem([&] { checkpoint.check_unchanged(); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.file == path);
  CHECK(thrown_problem([&] { text_of(checkpoint, 0); }).code == ErrorCode::io);
}

TEST_CASE("a path that is not there") {
  const TempDir dir;
  for (const char* name : {"none", "none.safetensors", "none.safetensors.index.json"}) {
    const Problem problem = thrown_problem([&] { Checkpoint::open(dir.file(name)); });
    CHECK(problem.code == ErrorCode::io);
    CHECK(problem.file == dir.file(name));
  }
}
