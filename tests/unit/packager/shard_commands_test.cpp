// Verifying and unpacking artifacts in several files.

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <filesystem>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "shard_fixture.h"
#include "synps/unpack.h"
#include "synps/verify.h"

using namespace synps;
using namespace synps::testing;
using Call = FaultyOs::Call;
namespace fs = std::filesystem;

namespace {

/// mixed_tensors() in one file and in several, and the checkpoint.
struct Both {
  PackFixture one{mixed_tensors()};
  ShardFixture several{mixed_tensors(), mixed_policy(), kMixedLimit};

  Both() {
    one.pack(mixed_policy());
    several.pack_shards();
  }
};

void flip_byte(const std::string& path, std::size_t from_end) {
  std::string bytes = read_file(path);
  bytes[bytes.size() - from_end] ^= 1;
  write_file(path, bytes);
}

}  // namespace

TEST_CASE("shards verify, with the errors of one file") {
  const Both both;
  const Checkpoint checkpoint = both.one.open();
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport one = verify(both.one.output, builtin_registry(), options);
  const std::string paths[] = {both.several.index};
  for (const std::string& path : paths)
    for (const unsigned jobs : {1u, 4u}) {
      options.jobs = jobs;
      const VerifyReport report = verify(path, builtin_registry(), options);
      CHECK(report.ok());
      std::uint64_t bytes = 0;
      for (const auto& file : both.several.files()) bytes += file.second.size();
      CHECK(report.bytes == bytes);
      REQUIRE(report.weights.size() == one.weights.size());
      for (std::size_t i = 0; i < one.weights.size(); ++i) {
        CHECK(report.weights[i].path == one.weights[i].path);
        CHECK(report.weights[i].exact == one.weights[i].exact);
        CHECK(report.weights[i].rmse == one.weights[i].rmse);
        CHECK(report.weights[i].max_abs_error == one.weights[i].max_abs_error);
      }
    }
}

TEST_CASE("damage is reported with its shard, once, for every shard that has any") {
  const Both both;
  const Checkpoint checkpoint = both.one.open();
  const ArtifactSet set(both.several.index);
  const std::string damaged[] = {set.files().front()->path(), set.files().back()->path()};
  for (const std::string& path : damaged) {
    const ArtifactReader file(path);
    std::string bytes = read_file(path);
    for (const StoredWeight& weight : file.index().weights)
      if (weight.components[0].component.bytes != 0)
        bytes[file.file_offset(weight.components[0])] ^= 1;
    write_file(path, bytes);
  }
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport report = verify(both.several.index, builtin_registry(), options);
  REQUIRE_FALSE(report.ok());
  for (const std::string& path : damaged)
    CHECK(std::any_of(report.problems.begin(), report.problems.end(),
                      [&](const Problem& problem) { return problem.file == path; }));
  for (const Problem& problem : report.problems) CHECK(problem.code == ErrorCode::artifact);
}

TEST_CASE("what keeps shards from opening is in the report") {
  const Both both;
  fs::remove(both.several.shard(1, both.several.files().size() - 1));
  const VerifyReport report = verify(both.several.index, builtin_registry());
  REQUIRE(report.problems.size() == 1);
  CHECK(report.problems[0].what == "a shard is missing");
}

TEST_CASE("weights that are not the checkpoint's") {
  const Both both;
  SafetensorsBuilder other;
  add_floats(other, "more", DType::f32, {2, 32});
  const PackFixture fixture(other);
  const Checkpoint checkpoint = fixture.open();
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport report = verify(both.several.index, builtin_registry(), options);
  const auto count = std::to_string(ArtifactSet(both.several.index).index().weights.size());
  REQUIRE(report.problems.size() == 2);  // many weights are one problem
  CHECK(report.problems[0].what == "the checkpoint's weight is not in the artifact");
  CHECK(report.problems[1].what == "weights are not in the checkpoint");
  CHECK(report.problems[1].found.find(count + " of " + count + ", such as ") == 0);
}

TEST_CASE("shards unpack to what one file unpacks to") {
  const Both both;
  const std::string plain = both.one.dir.file("plain.safetensors");
  const UnpackReport one = unpack(both.one.output, plain, builtin_registry());
  const std::string folder = both.several.dir.file("out");
  fs::create_directory(folder);
  for (const std::string& path : {both.several.index}) {
    const std::string output = folder + "/plain.safetensors";
    UnpackOptions options;
    options.replace = true;
    const UnpackReport report = unpack(path, output, builtin_registry(), options);
    CHECK(report.bytes == one.bytes);
    CHECK(report.widened == one.widened);
    CHECK(read_file(output) == read_file(plain));
  }
}

TEST_CASE("damaged shards are not unpacked, and no shard is overwritten") {
  const Both both;
  const std::string shard = ArtifactSet(both.several.index).files().back()->path();
  UnpackOptions options;
  options.replace = true;
  for (const std::string& output : {shard, both.several.index}) {
    const auto before = both.several.files();
    const auto problems =
        problems_of([&] { unpack(both.several.index, output, builtin_registry(), options); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::output);
    CHECK(both.several.files() == before);
  }
  const ArtifactReader last(shard);
  const StoredWeight& weight = last.index().weights.back();
  flip_byte(shard, last.file().size() - last.file_offset(weight.components[0]));
  const std::string plain = both.several.dir.file("plain.safetensors");
  const auto problems =
      problems_of([&] { unpack(both.several.index, plain, builtin_registry(), options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::artifact);
  CHECK(problems[0].file == shard);
  CHECK_FALSE(fs::exists(plain));
}

TEST_CASE("faults while reading shards are I/O errors, never damage") {
  const Both both;
  for (const Call call : {Call::open, Call::pread, Call::map})
    for (FaultyOs::Fault fault{call, 1, -EIO};; ++fault.at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(fault.at);
      FaultyOs os(fault);
      const auto problems = problems_of([&] {
        VerifyOptions options;
        options.jobs = 1;
        const bool ok = verify(both.several.index, builtin_registry(), options, os).ok();
        CHECK(ok);
      });
      for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::io);
      if (!os.triggered()) {
        CHECK(problems.empty());
        break;
      }
      CHECK(problems.size() == 1);
    }
}

TEST_CASE("an artifact in several files is no checkpoint") {
  const Both both;
  fs::remove(both.several.input);
  const std::string shard = both.several.shard(0, both.several.files().size() - 1);
  for (const std::string& path : {both.several.index, shard, both.several.dir.path().string()}) {
    CAPTURE(path);
    const auto problems = problems_of([&] { Checkpoint::open(path); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::checkpoint);
    CHECK(problems[0].what == "the file is a synps artifact, not a checkpoint");
  }
}
