// Artifacts in several files: what is planned is what is written, and each file stands alone.

#include <doctest/doctest.h>
#include <sys/resource.h>

#include <algorithm>
#include <filesystem>
#include <set>
#include <string>
#include <vector>

#include "shard_fixture.h"
#include "synps/artifact_layout.h"
#include "synps/safetensors.h"

using namespace synps;
using namespace synps::testing;
namespace fs = std::filesystem;

namespace {

SafetensorsBuilder equal_weights(int count) {
  SafetensorsBuilder builder;
  for (int i = 0; i < count; ++i)
    add_floats(builder, "layers." + std::to_string(i) + ".weight", DType::f32, {64, 256},
               static_cast<std::uint32_t>(i + 1));
  return builder;
}

constexpr const char* kCompressAll = R"([[policies."**".schemes]]
format = "q8_0"
[policies."**".form]
compress = "zstd"
)";

}  // namespace

TEST_CASE("the plan names every file and its bytes") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kMixedLimit);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = fixture.plan(checkpoint);
  REQUIRE(plan.shards.size() > 2);
  const PackReport report = fixture.pack_shards();
  REQUIRE(report.files.size() == plan.shards.size() + 1);
  std::uint64_t total = 0;
  std::size_t weights = 0;
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    const PlannedShard& shard = plan.shards[i];
    CHECK(shard.file == shard_name("model.synps", i, plan.shards.size()));
    CHECK(shard.plan.artifact_bytes == fs::file_size(fixture.dir.file(shard.file)));
    CHECK(report.files[i].name == shard.file);
    CHECK(report.files[i].bytes == shard.plan.artifact_bytes);
    const bool fits = shard.plan.artifact_bytes <= kMixedLimit;
    CHECK(fits != shard.over_limit);
    if (shard.over_limit) CHECK(shard.plan.weights.size() == 1);
    total += shard.plan.artifact_bytes;
    weights += shard.plan.weights.size();
  }
  CHECK(weights == checkpoint.tensors().size());
  CHECK(plan.shard_index_bytes == fs::file_size(fixture.index));
  CHECK(report.files.back().name == plan.shard_index);
  CHECK(plan.artifact_bytes == total + plan.shard_index_bytes);
  CHECK(report.artifact_bytes == plan.artifact_bytes);
  CHECK(fixture.names().size() == plan.shards.size() + 1);
}

TEST_CASE("every shard is a sound artifact, with its weights' components together") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kMixedLimit);
  fixture.pack_shards();
  const PackFixture in_one(mixed_tensors());
  in_one.pack(mixed_policy());
  const ArtifactReader whole(in_one.output);
  const ArtifactSet set(fixture.index);
  REQUIRE(set.is_sharded());
  REQUIRE(set.index().weights.size() == whole.index().weights.size());
  for (const auto& file : set.files()) {
    CHECK(file->check_all(&builtin_registry()).empty());
    CHECK(file->metadata().at("format") == "synps");  // that of all, also where all is dense
    CHECK(file->source_metadata() == whole.source_metadata());
    CHECK(file->index().values == whole.index().values);
  }
  for (std::size_t i = 0; i < set.index().weights.size(); ++i) {
    const StoredWeight& ours = set.index().weights[i];
    const StoredWeight& theirs = whole.index().weights[i];
    CAPTURE(ours.weight.path);
    CHECK(ours.weight == theirs.weight);
    REQUIRE(ours.components.size() == theirs.components.size());
    for (std::size_t c = 0; c < ours.components.size(); ++c) {
      const auto a = set.file_of(i).bytes(ours.components[c]);
      const auto b = whole.bytes(theirs.components[c]);
      CHECK(std::equal(a.begin(), a.end(), b.begin(), b.end()));
    }
  }
  CHECK(set.check_all(&builtin_registry()).empty());
}

TEST_CASE("weights go by path, as many into a file as fit") {
  const ShardFixture fixture(equal_weights(7), one_format("q8_0"), 2 * 17'408 + 4 * 4096);
  const Plan plan = fixture.plan(fixture.open());
  std::vector<std::size_t> counts;
  std::vector<std::string> paths;
  for (const PlannedShard& shard : plan.shards) {
    counts.push_back(shard.plan.weights.size());
    for (const PlannedWeight& weight : shard.plan.weights)
      paths.push_back(shard.plan.stored(weight).weight.path);
  }
  CHECK(counts == std::vector<std::size_t>{2, 2, 2, 1});
  CHECK(std::is_sorted(paths.begin(), paths.end()));
  // One more would not have fitted.
  for (std::size_t i = 0; i + 1 < plan.shards.size(); ++i)
    CHECK(plan.shards[i].plan.artifact_bytes + 17'408 > fixture.limit);
}

TEST_CASE("what fits one file is the plain artifact") {
  const PackFixture plain(mixed_tensors());
  plain.pack(mixed_policy());
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), fs::file_size(plain.output));
  const PackReport report = fixture.pack_shards();
  CHECK(report.files.empty());
  CHECK(fixture.names() == std::vector<std::string>{"model.synps"});
  CHECK(read_file(fixture.output) == read_file(plain.output));
  const ShardFixture smaller(mixed_tensors(), mixed_policy(), fixture.limit - 1);
  CHECK(smaller.pack_shards().files.size() == 3);
}

TEST_CASE("one weight is one file, however large") {
  const ShardFixture fixture(equal_weights(1), one_format("q8_0"), 1);
  const Plan plan = fixture.plan(fixture.open());
  CHECK(plan.shards.empty());
  CHECK(fixture.pack_shards().files.empty());
}

TEST_CASE("a limit that no weight fits gives every weight a file") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kEmptyShard);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = fixture.plan(checkpoint);
  REQUIRE(plan.shards.size() == checkpoint.tensors().size());
  for (const PlannedShard& shard : plan.shards)
    CHECK(shard.over_limit == (shard.plan.source_bytes != 0));
  fixture.pack_shards();
  CHECK(ArtifactSet(fixture.index).check_all(&builtin_registry()).empty());
}

TEST_CASE("a limit that a shard exceeds before it holds a weight is an error") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kEmptyShard - 1);
  const Checkpoint checkpoint = fixture.open();
  const auto problems = problems_of([&] { fixture.plan(checkpoint); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(problems[0].want == "more than 8192 bytes");

  SafetensorsBuilder large = equal_weights(20);
  large.metadata("notes", std::string(500'000, 'x'));
  const ShardFixture noted(large, one_format("q8_0"), 400'000);
  const Checkpoint other = noted.open();
  CHECK(problems_of([&] { noted.plan(other); }).at(0).code == ErrorCode::limit);
}

TEST_CASE("more files than may be open are refused before anything is written") {
  const ShardFixture fixture(equal_weights(20), one_format("q8_0"), 32'000);
  rlimit usual{};
  REQUIRE(getrlimit(RLIMIT_NOFILE, &usual) == 0);
  const rlimit few{40, usual.rlim_max};
  REQUIRE(setrlimit(RLIMIT_NOFILE, &few) == 0);
  const auto problems = problems_of([&] { fixture.pack_shards(); });
  REQUIRE(setrlimit(RLIMIT_NOFILE, &usual) == 0);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(fixture.names().empty());
}

TEST_CASE("names that the index could not hold, or that are the index's, are refused") {
  ShardFixture fixture(equal_weights(20), one_format("q8_0"), 80'000);
  const Checkpoint checkpoint = fixture.open();
  for (const bool sharded : {false, true}) {
    PlanOptions options;
    options.max_shard_bytes = sharded ? fixture.limit : 0;
    for (const std::string name : {"m.index.json", "m\xff.synps"}) {
      CAPTURE(name);
      options.name = name;
      const Plan plan = make_plan(checkpoint, fixture.rules, options);
      const auto problems = problems_of([&] { pack(checkpoint, plan, fixture.dir.file(name)); });
      const bool wanted = sharded || name == "m.index.json";
      REQUIRE(problems.size() == (wanted ? 1 : 0));
      if (wanted) CHECK(problems[0].code == ErrorCode::usage);
    }
  }
}

TEST_CASE("the files are the same for any number of workers") {
  for (const std::uint64_t limit : {kEmptyShard, kMixedLimit, kMixedLimit + 1000}) {
    std::vector<std::pair<std::string, std::string>> first;
    for (const unsigned jobs : {1u, 2u, 5u}) {
      const ShardFixture fixture(mixed_tensors(), mixed_policy(), limit);
      PackOptions options;
      options.jobs = jobs;
      fixture.pack_shards(options);
      if (first.empty()) first = fixture.files();
      CHECK(fixture.files() == first);
    }
  }
}

TEST_CASE("the limit holds for the most that frames can take") {
  const std::uint64_t limit = 60'000;
  const ShardFixture fixture(equal_weights(9), policy_of(kCompressAll), limit);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = fixture.plan(checkpoint);
  CHECK(plan.layout.has_bounds);
  REQUIRE(plan.shards.size() > 2);
  const PackReport report = fixture.pack_shards();
  REQUIRE(report.layout);
  CHECK(report.artifact_bytes <= plan.artifact_bytes);
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < report.files.size(); ++i) {
    CHECK(report.files[i].bytes == fs::file_size(fixture.dir.file(report.files[i].name)));
    CHECK(report.files[i].bytes <= limit);
    total += report.files[i].bytes;
  }
  CHECK(total == report.artifact_bytes);
  CHECK(report.layout->file_bytes == total);
  const ArtifactSet set(fixture.index);
  CHECK(set.check_all(&builtin_registry()).empty());
  for (std::size_t i = 0; i < set.index().weights.size(); ++i)
    CHECK(set.index().weights[i].components[0].stored_bytes ==
          report.layout->index.weights[i].components[0].stored_bytes);
}

TEST_CASE("dense shards keep the checkpoint's format, and are plain safetensors") {
  SafetensorsBuilder builder = equal_weights(4);
  builder.metadata("format", "pt");
  const ShardFixture fixture(builder, one_format("f32"), 150'000);
  fixture.pack_shards();
  const ArtifactSet set(fixture.index);
  REQUIRE(set.files().size() == 2);
  std::set<std::string> names;
  for (const auto& file : set.files()) {
    CHECK(file->metadata().at("format") == "pt");
    const InputFile input(Os::posix(), file->path());
    for (const SafetensorsEntry& entry : read_safetensors_header(input).entries)
      names.insert(entry.name);
  }
  CHECK(names.size() == 4 + 2);  // weights, index and sums
}

TEST_CASE("names that collide between shards are refused") {
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::f32, {64, 256}, 1);
  add_floats(builder, "a#blocks", DType::f32, {7}, 2);
  const ShardFixture fixture(builder, one_format("q8_0"), kEmptyShard);
  const auto problems = problems_of([&] { fixture.pack_shards(); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
}

TEST_CASE("values that cannot be stored are named for all shards, and nothing is written") {
  SafetensorsBuilder builder;
  for (const char* name : {"a", "b", "c"}) {
    std::vector<float> values(16 * 1024, 1.0f);
    if (*name != 'b') values[5] = 1e30f;
    builder.add(name, DType::f32, {16, 1024}, bytes_of(values));
  }
  const ShardFixture fixture(builder, one_format("f16"), 50'000);
  REQUIRE(fixture.plan(fixture.open()).shards.size() == 3);
  const auto problems = problems_of([&] { fixture.pack_shards(); });
  CHECK(problems.size() == 2);
  CHECK(fixture.names().empty());
}

TEST_CASE("progress reaches its end once, over all shards") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kMixedLimit);
  std::uint64_t last = 0;
  std::uint64_t total = 0;
  PackOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t all) {
    CHECK(done >= last);
    if (total != 0) CHECK(all == total);
    last = done;
    total = all;
    return true;
  };
  fixture.pack_shards(options);
  CHECK(last == total);
  CHECK(total > 0);
}

TEST_CASE("stopping leaves nothing") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kMixedLimit);
  PackOptions options;
  options.progress = [](std::uint64_t done, std::uint64_t all) { return 4 * done < 3 * all; };
  CHECK_THROWS_AS(fixture.pack_shards(options), Cancelled);
  CHECK(fixture.names().empty());
}

TEST_CASE("a plan for another name is not packed") {
  const ShardFixture fixture(mixed_tensors(), mixed_policy(), kMixedLimit);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = fixture.plan(checkpoint);
  const auto problems =
      problems_of([&] { synps::pack(checkpoint, plan, fixture.dir.file("other.synps")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::usage);
}
