#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "gguf_builder.h"
#include "synps/checkpoint.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps {
namespace {

using namespace synps::testing;

const std::string kData(16, 'd');

std::string u16(unsigned number) {
  return le(static_cast<std::uint16_t>(number));
}

/// Part `number`, from 0, with one tensor; what its keys say can be changed.
struct Part {
  unsigned number = 0;
  unsigned count = 3;
  int tensors = 3;
  std::string tensor = "w" + std::to_string(number);

  GgufBuilder builder() const {
    GgufBuilder part;
    part.value("split.no", gguf::kUint16, u16(number));
    part.value("split.count", gguf::kUint16, u16(count));
    part.value("split.tensors.count", gguf::kInt32, le(tensors));
    part.tensor(tensor, {4}, gguf::kF32, kData);
    return part;
  }
};

/// A folder with parts of one checkpoint.
class Parts {
 public:
  Parts() {
    for (unsigned i = 0; i < 3; ++i) put(i, Part{i}.builder());
  }
  std::string path(unsigned number) const {
    return dir_.file("model-0000" + std::to_string(number + 1) + "-of-00003.gguf");
  }
  void put(unsigned number, const GgufBuilder& part) { write_file(path(number), part.build()); }
  void remove(unsigned number) { std::filesystem::remove(path(number)); }
  std::vector<Problem> problems(unsigned named = 0) const {
    return thrown_problems([&] { Checkpoint::open(path(named)); });
  }
  Problem problem(unsigned named = 0) const {
    const std::vector<Problem> all = problems(named);
    return all.empty() ? thrown_problem([] {}) : all.front();
  }
  const TempDir& dir() const { return dir_; }

 private:
  TempDir dir_;
};

TEST_CASE("any part opens all of them") {
  const Parts parts;
  for (unsigned named = 0; named < 3; ++named) {
    const Checkpoint checkpoint = Checkpoint::open(parts.path(named));
    CHECK(checkpoint.tensors().size() == 3);
    CHECK(checkpoint.files().size() == 3);
    CHECK(checkpoint.files()[0].path() == parts.path(0));
    CHECK(checkpoint.inputs().size() == 3);
    CHECK(checkpoint.tensors()[2].file == 2);
  }
}

TEST_CASE("a part that is missing is named, and all that are") {
  Parts parts;
  parts.remove(1);
  const Problem problem = parts.problem();
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.what == "a part of the checkpoint is missing");
  CHECK(problem.field == "part 2 of 3");
  CHECK(problem.want == "the file '" + parts.path(1) + "'");
  parts.remove(0);
  CHECK(parts.problems(2).size() == 2);
  CHECK(parts.problems(2)[0].field == "part 1 of 3");
}

TEST_CASE("split keys that contradict the names") {
  Parts parts;
  parts.put(1, Part{2, 3, 3, "w1"}.builder());
  CHECK(parts.problem().what == "a part that does not fit the others");
  CHECK(parts.problem().field == "key 'split.no'");
  CHECK(parts.problem().file == parts.path(1));
  CHECK(parts.problem().found == "2");
  CHECK(parts.problem().want == "1: the name says otherwise");
  parts.put(1, Part{1, 4}.builder());
  CHECK(parts.problem().field == "key 'split.count'");
}

TEST_CASE("a count of tensors that is not what the parts hold") {
  Parts parts;
  for (unsigned i = 0; i < 3; ++i) parts.put(i, Part{i, 3, 4}.builder());
  CHECK(parts.problems().size() == 3);
  CHECK(parts.problem().field == "key 'split.tensors.count'");
  CHECK(parts.problem().found == "4");
  CHECK(parts.problem().want == "3: what the parts hold");
}

TEST_CASE("split keys of a wrong type, negative or not there") {
  Parts parts;
  GgufBuilder text;
  parts.put(1, text.text("split.no", "1").tensor("w1", {4}, gguf::kF32, kData));
  CHECK(parts.problem().what == "a split key that is no whole number");
  CHECK(parts.problem().found == "string");
  parts.put(1, Part{1, 3, -3}.builder());
  CHECK(parts.problem().what == "a split key that is no whole number");
  parts.put(1, GgufBuilder().tensor("w1", {4}, gguf::kF32, kData));
  CHECK(parts.problems().size() == 2);
  CHECK(parts.problem().found == "no such key");
}

TEST_CASE("a part under a name that does not say which it is") {
  const TempDir dir;
  const std::string path = dir.file("renamed.gguf");
  write_file(path, Part{1}.builder().build());
  const Problem problem = thrown_problem([&] { Checkpoint::open(path); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.what == "a part of several, whose name does not say which");
  CHECK(problem.want == "a name such as 'model-00001-of-00003.gguf'");
}

TEST_CASE("a part that is malformed has its own error") {
  Parts parts;
  write_file(parts.path(2), "GGUF and then nothing that makes sense");
  CHECK(parts.problem().file == parts.path(2));
  CHECK(parts.problem().what == "a GGUF version that is not read");
}

TEST_CASE("two names for one part") {
  Parts parts;
  parts.remove(1);
  std::filesystem::create_symlink(parts.path(0), parts.path(1));
  CHECK(parts.problem().field == "key 'split.no'");
  CHECK(parts.problem().file == parts.path(1));
}

TEST_CASE("a tensor in two parts") {
  Parts parts;
  parts.put(2, Part{2, 3, 3, "w0"}.builder());
  CHECK(parts.problem().what == "a tensor is in two parts");
  CHECK(parts.problem().file == parts.path(2));
  CHECK(parts.problem().field == "tensor 'w0'");
}

TEST_CASE("a key-value that differs between parts") {
  Parts parts;
  parts.put(0, Part{0}.builder().text("general.name", "a").u32("n", 1));
  parts.put(2, Part{2}.builder().text("general.name", "a").u32("n", 1));
  CHECK(parts.problems().empty());
  CHECK(Checkpoint::open(parts.path(0)).metadata().at("gguf.n") ==
        R"({"type":"uint32","value":1})");
  parts.put(2, Part{2}.builder().text("general.name", "b"));
  CHECK(parts.problem().what == "a key-value that differs between parts");
  CHECK(parts.problem().field == "key 'general.name'");
  parts.put(2, Part{2}.builder().value("n", gguf::kInt32, le(1)));
  CHECK(parts.problem().field == "key 'n'");
}

TEST_CASE("names that only look like a part's") {
  const TempDir dir;
  for (const char* name :
       {"m-00001-of-00001.gguf", "m-00004-of-00003.gguf", "m-00000-of-00003.gguf",
        "m-0001-of-0003.gguf", "m-00001-of-99999.gguf", "00001-of-00003.gguf"}) {
    CAPTURE(name);
    write_file(dir.file(name), GgufBuilder().tensor("w", {4}, gguf::kF32, kData).build());
    CHECK(Checkpoint::open(dir.file(name)).tensors().size() == 1);
  }
}

}  // namespace
}  // namespace synps
