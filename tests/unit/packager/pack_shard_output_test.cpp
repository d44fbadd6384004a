// Where shards are written, what is never touched, and faults.

#include <doctest/doctest.h>

#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "shard_fixture.h"

using namespace synps;
using namespace synps::testing;
using Call = FaultyOs::Call;
namespace fs = std::filesystem;

namespace {

struct Run : ShardFixture {
  Run() : ShardFixture(mixed_tensors(), mixed_policy(), kMixedLimit) {
    pack_shards();
    complete = files();
    clear();
  }
  void clear() const {
    for (const std::string& name : names()) fs::remove(dir.file(name));
  }
  std::uint64_t count() const { return complete.size() - 1; }

  std::vector<std::pair<std::string, std::string>> complete;
};

PackOptions replacing() {
  PackOptions options;
  options.replace = true;
  return options;
}

}  // namespace

TEST_CASE("any of the files that exists is refused before work, and replaced when asked to") {
  const Run run;
  for (const auto& each : run.complete) {
    CAPTURE(each.first);
    run.clear();
    write_file(run.dir.file(each.first), "earlier");
    FaultyOs os;
    const auto problems = problems_of([&] { run.pack_shards({}, os); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::output);
    CHECK(problems[0].file == run.dir.file(each.first));
    CHECK(os.calls(Call::pwrite) == 0);
    CHECK(run.names() == std::vector<std::string>{each.first});
    CHECK(read_file(run.dir.file(each.first)) == "earlier");
    run.pack_shards(replacing());
    CHECK(run.files() == run.complete);
  }
}

TEST_CASE("files of an earlier artifact of the same name are not passed over") {
  const Run run;
  const std::string others[] = {run.output, run.shard(0, 9), run.shard(8, 9)};
  for (const std::string& other : others) {
    CAPTURE(other);
    run.clear();
    write_file(other, "earlier");
    const auto problems = problems_of([&] { run.pack_shards(); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::output);
    CHECK(problems[0].found == quote(other));
    CHECK(run.names().size() == 1);
    const PackReport report = run.pack_shards(replacing());
    CHECK(report.earlier == std::vector<std::string>{other});
    CHECK(read_file(other) == "earlier");
    fs::remove(other);
    CHECK(run.files() == run.complete);
  }
}

TEST_CASE("one file is not written beside the shards of an earlier artifact") {
  const Run run;
  run.pack_shards();
  const auto problems = problems_of([&] { run.pack(run.rules); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::output);
  CHECK(run.files() == run.complete);
  const PackReport report = run.pack(run.rules, replacing());
  CHECK(report.earlier.size() == run.complete.size());
}

TEST_CASE("a file that is an input, by any name, is never replaced") {
  const Run run;
  for (const auto& each : run.complete) {
    CAPTURE(each.first);
    for (const bool symbolic : {false, true}) {
      run.clear();
      const std::string path = run.dir.file(each.first);
      if (symbolic)
        fs::create_symlink(run.input, path);
      else
        fs::create_hard_link(run.input, path);
      const std::string input = read_file(run.input);
      const auto problems = problems_of([&] { run.pack_shards(replacing()); });
      REQUIRE(problems.size() == 1);
      CHECK(problems[0].code == ErrorCode::output);
      CHECK(problems[0].what == "the output is one of the inputs, which are never overwritten");
      CHECK(read_file(run.input) == input);
      CHECK(run.names().size() == 1);
    }
  }
}

TEST_CASE("what a killed run left is reclaimed, also of another count of shards") {
  const Run run;
  for (const std::string& target :
       {run.shard(0, run.count()), run.shard(1, 7), run.index, run.output})
    write_file(AtomicFile::temporary_of(target), "half");
  write_file(AtomicFile::temporary_of(run.dir.file("other.synps")), "half");
  run.pack_shards();
  const std::string other = fs::path(AtomicFile::temporary_of("other.synps")).filename();
  auto names = run.names();
  CHECK(std::erase(names, other) == 1);
  CHECK(names.size() == run.complete.size());
}

TEST_CASE("a fault at any call leaves the whole artifact, or nothing") {
  const Run run;
  for (const Call call : FaultyOs::all_calls())
    for (const int error : {-EIO, -ENOSPC})
      for (FaultyOs::Fault fault{call, 1, error};; ++fault.at) {
        CAPTURE(FaultyOs::name(call));
        CAPTURE(fault.at);
        run.clear();
        FaultyOs os(fault);
        PackOptions options;
        options.jobs = 1;
        const auto problems = problems_of([&] { run.pack_shards(options, os); });
        for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::io);
        const auto left = run.files();
        const bool all_or_none = left == run.complete || left.empty();
        CHECK(all_or_none);
        if (problems.empty()) CHECK(left == run.complete);
        if (!os.triggered()) break;
      }
}

TEST_CASE(
    "a fault over an earlier artifact leaves one that is whole, or that is known to be mixed") {
  const auto weights = [](std::uint32_t seed) {
    SafetensorsBuilder builder;
    for (std::uint32_t i = 0; i < 6; ++i)
      add_floats(builder, "w" + std::to_string(i), DType::f32, {16, 64}, seed + i);
    return builder;
  };
  const ShardFixture run(weights(1), one_format("q8_0"), kEmptyShard);
  run.pack_shards();
  const auto complete = run.files();
  // Files of the same names and sizes, of another checkpoint.
  const ShardFixture other(weights(100), one_format("q8_0"), kEmptyShard);
  other.pack_shards();
  const auto earlier = other.files();
  REQUIRE(earlier.size() == complete.size());
  REQUIRE(earlier.size() > 3);

  std::size_t mixed = 0;
  for (const Call call : {Call::pwrite, Call::sync, Call::rename, Call::close})
    for (FaultyOs::Fault fault{call, 1, -EIO};; ++fault.at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(fault.at);
      for (const auto& [name, content] : earlier) write_file(run.dir.file(name), content);
      FaultyOs os(fault);
      const auto problems = problems_of([&] { run.pack_shards(replacing(), os); });
      const auto left = run.files();
      REQUIRE(left.size() == complete.size());
      for (std::size_t i = 0; i < left.size(); ++i) {
        const bool old_or_new = left[i] == earlier[i] || left[i] == complete[i];
        CHECK(old_or_new);
      }
      if (problems.empty()) CHECK(left == complete);
      if (left != complete && left != earlier) {
        ++mixed;
        const auto told = problems_of([&] { ArtifactSet(run.index); });
        REQUIRE_FALSE(told.empty());
        CHECK(told[0].code == ErrorCode::artifact);
        CHECK(told[0].what == "a shard is not the one that was packed with the others");
        REQUIRE(problems.size() == 1);
        for (std::size_t i = 0; i < left.size(); ++i)
          CHECK((left[i] == complete[i]) ==
                (problems[0].hint.find(left[i].first) != std::string::npos));
      }
      if (!os.triggered()) break;
    }
  CHECK(mixed > 0);
}
