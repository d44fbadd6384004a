// Artifacts in several files whose index is malformed, or does not agree with its shards.

#include <doctest/doctest.h>
#include <sys/stat.h>

#include <algorithm>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact_set.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;
namespace fs = std::filesystem;

namespace {

WeightToStore weight(const std::string& path, std::uint32_t seed) {
  WeightToStore made;
  made.path = path;
  made.shape = Shape{16, 64};
  made.codec = path == "c" ? "f16" : "q8_0";
  made.values = test_values(16 * 64, seed);
  return made;
}

/// A folder with shards "one" (weights a, b) and "two" (weight c), and their index.
struct Shards {
  Shards() {
    build_artifact(one(), {weight("a", 1), weight("b", 2)}, {{"note", "x"}});
    build_artifact(two(), {weight("c", 3)}, {{"note", "x"}});
    index_of = read_index();
    write(index_of);
  }

  std::string one() const { return dir.file("one.synps"); }
  std::string two() const { return dir.file("two.synps"); }
  std::string index() const { return dir.file("model.synps.index.json"); }
  void write(const ArtifactShards& shards) const { write_file(index(), to_json(shards)); }

  /// What the index of the two files is.
  ArtifactShards read_index() const {
    ArtifactShards shards;
    for (const std::string& file : {one(), two()}) {
      const ArtifactReader reader(file);
      shards.add(fs::path(file).filename(), *digest_from_hex(reader.metadata().at("synps.index")),
                 reader.index());
    }
    shards.sort();
    return shards;
  }

  std::vector<Problem> problems() const {
    const auto all = thrown_problems([&] { ArtifactSet{index()}; });
    REQUIRE_FALSE(all.empty());
    for (const Problem& problem : all) CHECK(problem.code == ErrorCode::artifact);
    return all;
  }
  Problem problem() const {
    const auto all = problems();
    CHECK(all.size() == 1);
    return all.front();
  }
  Problem problem_of(const std::function<void(ArtifactShards&)>& change) const {
    ArtifactShards changed = index_of;
    change(changed);
    changed.sort();
    write(changed);
    const Problem found = problem();
    CHECK(found.file == index());
    return found;
  }

  TempDir dir;
  ArtifactShards index_of;
};

}  // namespace

TEST_CASE("the artifact that the other cases break is sound") {
  const Shards shards;
  const ArtifactSet set(shards.index());
  CHECK(set.files().size() == 2);
  CHECK(set.index().weights.size() == 3);
  CHECK(set.check_all(&builtin_registry()).empty());
}

TEST_CASE("a shard that is missing is named") {
  const Shards shards;
  fs::remove(shards.two());
  const Problem problem = shards.problem();
  CHECK(problem.what == "a shard is missing");
  CHECK(problem.field == "shard 'two.synps'");
  CHECK(problem.want == "the file '" + shards.two() + "'");
  fs::create_symlink("blobs/none", shards.two());
  CHECK(shards.problem().what == "a shard is missing");
}

TEST_CASE("a shard that is a directory or a FIFO") {
  const Shards shards;
  fs::remove(shards.two());
  fs::create_directory(shards.two());
  CHECK(shards.problem().file == shards.two());
  CHECK(shards.problem().found == "a directory");
  fs::remove(shards.two());
  REQUIRE(::mkfifo(shards.two().c_str(), 0600) == 0);
  CHECK(shards.problem().found == "a FIFO");
}

TEST_CASE("an index that is a directory, a FIFO, missing or a git-lfs pointer") {
  const Shards shards;
  write_file(shards.index(), "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  CHECK(shards.problem().found == "a git-lfs pointer, not the file itself");
  fs::remove(shards.index());
  CHECK(thrown_problem([&] { ArtifactSet{shards.index()}; }).code == ErrorCode::io);
  REQUIRE(::mkfifo(shards.index().c_str(), 0600) == 0);
  CHECK(shards.problem().found == "a FIFO");
  fs::remove(shards.index());
  fs::create_directory(shards.index());
  // A folder, which holds no index.
  CHECK(shards.problem().what == "the folder holds no shard index of an artifact");
}

TEST_CASE("a shard that is a git-lfs pointer, a plain safetensors file or empty") {
  const Shards shards;
  write_file(shards.two(), "version https://git-lfs.github.com/spec/v1\noid sha256:00\nsize 9\n");
  CHECK(shards.problem().file == shards.two());
  CHECK(shards.problem().found == "a git-lfs pointer, not the file itself");
  CHECK(shards.problem().hint == "fetch the file with `git lfs pull`");
  write_file(shards.two(), std::string("\x02\0\0\0\0\0\0\0{}", 10));
  CHECK(shards.problem().file == shards.two());
  write_file(shards.two(), "");
  CHECK(shards.problem().file == shards.two());
}

TEST_CASE("two shards that cannot be opened are told together") {
  const Shards shards;
  write_file(shards.one(), "");
  fs::remove(shards.two());
  const auto problems = shards.problems();
  REQUIRE(problems.size() == 2);
}

TEST_CASE("two names for one file") {
  const Shards shards;
  fs::remove(shards.two());
  fs::create_hard_link(shards.one(), shards.two());
  const auto problems = shards.problems();
  REQUIRE(problems.size() == 2);  // its digest, too
  CHECK(problems[0].what == "a shard has the contents of another");
  CHECK(problems[1].what == "two shards are one file under two names");
  CHECK(problems[1].found == "the same file as 'one.synps'");
}

TEST_CASE("a shard of another run, with the same name, size and entries") {
  const Shards shards;
  const auto size = fs::file_size(shards.two());
  fs::remove(shards.two());
  build_artifact(shards.two(), {weight("c", 4)}, {{"note", "x"}});
  REQUIRE(fs::file_size(shards.two()) == size);
  const Problem problem = shards.problem();
  CHECK(problem.what == "a shard is not the one that was packed with the others");
  CHECK(problem.field == "shard 'two.synps'");
}

TEST_CASE("two shards that have changed names") {
  const Shards shards;
  fs::rename(shards.one(), shards.dir.file("other"));
  fs::rename(shards.two(), shards.one());
  fs::rename(shards.dir.file("other"), shards.two());
  const auto problems = shards.problems();
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].what == "a shard has the contents of another");
  CHECK(problems[0].field == "shard 'one.synps'");
  CHECK(problems[0].found.find("what 'two.synps' was packed with") == 0);
  CHECK(problems[1].found.find("what 'one.synps' was packed with") == 0);
}

TEST_CASE("a folder of shards without their index") {
  const TempDir dir;
  for (const char* name : {"m-00001-of-00002.synps", "m-00002-of-00002.synps"})
    build_artifact(dir.file(name), {weight(name, 1)}, {});
  CHECK(ArtifactSet::recognises(dir.path()));
  const Problem problem = thrown_problem([&] { ArtifactSet{dir.path()}; });
  CHECK(problem.code == ErrorCode::artifact);
  CHECK(problem.what == "the folder holds shards of an artifact, and no shard index");
  CHECK(problem.found == "'m-00001-of-00002.synps' and 1 more");
  CHECK(problem.want == "'m.synps.index.json'");
  // Names alone make no artifact, and something else may be meant.
  write_file(dir.file("other.gguf"), "GGUF");
  CHECK_FALSE(ArtifactSet::recognises(dir.path()));
  fs::remove(dir.file("other.gguf"));
  write_file(dir.file("m-00001-of-00002.synps"), "text");
  CHECK_FALSE(ArtifactSet::recognises(dir.path()));
}

TEST_CASE("an entry that is not in the shard that the index names") {
  const Shards shards;
  const Problem problem =
      shards.problem_of([](ArtifactShards& index) { index.entries[0].shard = 1; });
  CHECK(problem.what == "an entry is not in the shard that the index names");
  CHECK(problem.field == "entry 'a#blocks'");
  CHECK(problem.found == "'one.synps'");
  CHECK(problem.want == "'two.synps'");
}

TEST_CASE("an entry that is in no shard, and one that the index has not") {
  const Shards shards;
  const Problem none = shards.problem_of([](ArtifactShards& index) {
    index.entries.push_back({"ghost", 1});
  });
  CHECK(none.what == "an entry is in no shard");
  CHECK(none.field == "entry 'ghost'");
  const Problem left_out =
      shards.problem_of([](ArtifactShards& index) { index.entries.erase(index.entries.begin()); });
  CHECK(left_out.what == "an entry of a shard is not in the shard index");
  CHECK(left_out.field == "entry 'a#blocks'");
}

TEST_CASE("an entry, or a weight, that is in two shards") {
  Shards shards;
  fs::remove(shards.two());
  build_artifact(shards.two(), {weight("a", 1), weight("c", 3)}, {{"note", "x"}});
  ArtifactShards both = shards.read_index();
  both.entries.erase(std::unique(both.entries.begin(), both.entries.end(),
                                 [](const auto& a, const auto& b) { return a.name == b.name; }),
                     both.entries.end());
  shards.write(both);
  const Problem problem = shards.problem();
  CHECK(problem.what == "an entry is in two shards");
  CHECK(problem.field == "entry 'a#blocks'");
  CHECK(problem.found == "'one.synps' and 'two.synps'");

  // One weight in two ways, so that the entries differ.
  fs::remove(shards.two());
  WeightToStore dense = weight("a", 1);
  dense.codec = "f16";
  build_artifact(shards.two(), {dense, weight("c", 3)}, {{"note", "x"}});
  shards.write(shards.read_index());
  CHECK(shards.problem().what == "a weight is in two shards");
  CHECK(shards.problem().field == "a");
}

TEST_CASE("another size in all") {
  const Shards shards;
  const Problem problem = shards.problem_of([](ArtifactShards& index) { index.total_bytes += 1; });
  CHECK(problem.field == "metadata.total_size");
}

TEST_CASE("shards that do not agree on what belongs to all") {
  const Shards shards;
  fs::remove(shards.two());
  build_artifact(shards.two(), {weight("c", 3)}, {{"note", "y"}});
  shards.write(shards.read_index());
  CHECK(shards.problem().what == "a shard's metadata or values are not the others'");
}

TEST_CASE("names of shards that lead out of the folder, or into another") {
  const Shards shards;
  fs::create_directory(shards.dir.file("sub"));
  fs::copy(shards.two(), shards.dir.file("sub/two.synps"));
  for (const std::string& name :
       {std::string("../two.synps"), shards.two(), std::string("sub/two.synps"),
        std::string("./two.synps"), std::string(".."), std::string("")}) {
    CAPTURE(name);
    const Problem problem =
        shards.problem_of([&](ArtifactShards& index) { index.shards[1].file = name; });
    CHECK(problem.want == "names of files in the folder of the index");
  }
}

TEST_CASE("every flipped bit and every cut of the index is found") {
  const Shards shards;
  const std::string sound = read_file(shards.index());
  const auto is_found = [&](const std::string& text) {
    write_file(shards.index(), text);
    try {
      return !ArtifactSet(shards.index()).check_all().empty();
    } catch (const Error& error) {
      return error.code() == ErrorCode::artifact;
    }
  };
  CHECK_FALSE(is_found(sound));
  for (std::size_t at = 0; at < sound.size(); ++at) {
    for (unsigned bit = 0; bit < 8; ++bit) {
      std::string flipped = sound;
      flipped[at] = static_cast<char>(flipped[at] ^ (1 << bit));
      if (!is_found(flipped)) FAIL("bit ", bit, " of byte ", at);
    }
    if (!is_found(sound.substr(0, at))) FAIL("cut to ", at, " bytes");
  }
  CHECK(is_found(sound + " "));
  CHECK(is_found(sound + "\n"));
}

TEST_CASE("flipped bits in a shard are told with the shard") {
  const Shards shards;
  std::string bytes = read_file(shards.two());
  bytes[bytes.size() - 10] ^= 1;
  write_file(shards.two(), bytes);
  const auto problems = ArtifactSet(shards.index()).check_all();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == shards.two());
  CHECK(problems[0].what == "stored bytes do not fit their digest");
  bytes[4096 + 20] ^= 1;  // in its index
  write_file(shards.two(), bytes);
  CHECK(shards.problem().file == shards.two());
}

TEST_CASE("two hundred thousand problems are told as a few") {
  const Shards shards;
  ArtifactShards many = shards.index_of;
  for (int i = 0; i < 200'000; ++i) many.entries.push_back({"x" + std::to_string(i), 0});
  many.sort();
  shards.write(many);
  const auto problems = shards.problems();
  CHECK(problems.size() == 51);
  CHECK(problems.back().what == "199950 more problems like these");
}

TEST_CASE("a folder with an index is what the index is, with several it is refused") {
  const Shards shards;
  CHECK(ArtifactSet(shards.dir.path().string()).index().weights.size() == 3);
  CHECK(ArtifactSet::recognises(shards.dir.path().string()));
  CHECK(ArtifactSet::recognises(shards.index()));
  CHECK(ArtifactSet::recognises(shards.one()));
  write_file(shards.dir.file("model.safetensors.index.json"), "{\"weight_map\":{}}");
  CHECK(ArtifactSet(shards.dir.path().string()).index().weights.size() == 3);
  write_file(shards.dir.file("x.safetensors"), "");
  CHECK_FALSE(ArtifactSet::recognises(shards.dir.path().string()));
  write_file(shards.dir.file("other.index.json"), read_file(shards.index()));
  const Problem problem = thrown_problem([&] { ArtifactSet{shards.dir.path().string()}; });
  CHECK(problem.code == ErrorCode::artifact);
  CHECK(problem.what == "the folder holds shard indexes of several artifacts");
}

TEST_CASE("a shard alone is an artifact of its weights") {
  const Shards shards;
  fs::remove(shards.two());
  const ArtifactSet set(shards.one());
  CHECK_FALSE(set.is_sharded());
  CHECK(set.index().weights.size() == 2);
  CHECK(set.check_all(&builtin_registry()).empty());
}
