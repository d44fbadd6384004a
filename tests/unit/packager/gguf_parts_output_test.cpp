// GGUF output in parts.

#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "gguf_output_fixture.h"
#include "synps/artifact_shards.h"

namespace synps {
namespace {

using namespace synps::testing;
namespace fs = std::filesystem;

constexpr std::uint64_t kLimit = 3'500;

/// Tensors in an order that is not that of their names, and a key that is no part's own.
GgufBuilder checkpoint_builder() {
  GgufBuilder builder;
  builder.text("general.architecture", "llama").u32("general.file_type", 1);
  for (const char* name : {"z.matrix", "a.matrix", "m.matrix", "b.matrix"})
    builder.tensor(name, {64, 20}, gguf::kF16,
                   dense_bytes_of(DType::f16, test_values(64 * 20, static_cast<unsigned>(*name))));
  builder.tensor("c.norm", {7}, gguf::kF32, bytes_of(test_values(7, 3)));
  return builder;
}

struct PartsRun : GgufOutputRun {
  PartsRun() : GgufOutputRun(checkpoint_builder()) {}

  Plan plan(const Checkpoint& checkpoint, std::uint64_t limit = kLimit) const {
    PlanOptions options;
    options.output = OutputKind::gguf;
    options.max_shard_bytes = limit;
    options.name = "out.gguf";
    return make_plan(checkpoint, matrices_as("q8_0"), options);
  }
  PackReport pack_parts(unsigned jobs = 1, Os& os = Os::posix(),
                        std::uint64_t limit = kLimit) const {
    const Checkpoint checkpoint = Checkpoint::open(input, os);
    PackOptions options;
    options.jobs = jobs;
    return synps::pack(checkpoint, plan(checkpoint, limit), output, options, os);
  }
  std::string part(std::uint64_t number, std::uint64_t count) const {
    return dir.file(shard_name("out.gguf", number, count));
  }
  std::vector<std::pair<std::string, std::string>> files() const {
    std::vector<std::pair<std::string, std::string>> found;
    for (const std::string& name : dir.list())
      if (name != "model.gguf") found.emplace_back(name, read_file(dir.file(name)));
    return found;
  }
  void clear() const {
    for (const auto& each : files()) fs::remove(dir.file(each.first));
  }
};

}  // namespace

TEST_CASE("parts are planned to the byte, and one checkpoint together") {
  const PartsRun run;
  const Checkpoint checkpoint = Checkpoint::open(run.input);
  const Plan plan = run.plan(checkpoint);
  REQUIRE(plan.shards.size() > 1);
  CHECK(plan.shard_index.empty());
  const PackReport report = run.pack_parts();
  REQUIRE(report.files.size() == plan.shards.size());
  std::uint64_t total = 0;
  for (std::size_t i = 0; i < plan.shards.size(); ++i) {
    CHECK(plan.shards[i].file == shard_name("out.gguf", i, plan.shards.size()));
    CHECK(report.files[i].name == plan.shards[i].file);
    CHECK(fs::file_size(run.dir.file(plan.shards[i].file)) == plan.shards[i].plan.artifact_bytes);
    CHECK(plan.shards[i].plan.artifact_bytes <= kLimit);
    total += plan.shards[i].plan.artifact_bytes;
  }
  CHECK(total == plan.artifact_bytes);
  CHECK(report.artifact_bytes == total);
  CHECK(run.files().size() == plan.shards.size());

  // Opening checks names and split keys of all parts against each other.
  const Checkpoint parts = Checkpoint::open(run.part(1, plan.shards.size()));
  CHECK(parts.files().size() == plan.shards.size());
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport verified =
      verify(run.part(0, plan.shards.size()), builtin_registry(), options);
  for (const Problem& problem : verified.problems) FAIL_CHECK(to_string(problem));
  CHECK(verified.weights.size() == 5);
}

TEST_CASE("tensors keep their order, and have the bytes that one file gives them") {
  const PartsRun run;
  run.pack_parts();
  const PartsRun whole;
  whole.pack_parts(1, Os::posix(), 1 << 20);
  REQUIRE(whole.files().size() == 1);
  const std::uint64_t count = run.files().size();
  const InputFile one(Os::posix(), whole.output);
  const GgufHeader header = read_gguf_header(one);
  std::size_t next = 0;
  for (std::uint64_t i = 0; i < count; ++i) {
    const InputFile file(Os::posix(), run.part(i, count));
    const GgufHeader part = read_gguf_header(file);
    std::vector<std::string> keys;
    for (const GgufKeyValue& each : part.key_values) keys.push_back(each.key);
    const std::vector<std::string> split = {"split.no", "split.count", "split.tensors.count"};
    CHECK(std::equal(split.rbegin(), split.rend(), keys.rbegin()));
    CHECK((keys.size() > 3) == (i == 0));
    CHECK(part.find("split.no")->type == GgufValueType::uint16);
    CHECK(part.find("split.count")->type == GgufValueType::uint16);
    CHECK(part.find("split.tensors.count")->type == GgufValueType::int32);
    CHECK(GgufValueReader(file).unsigned_integer(*part.find("split.no")) == i);
    for (const GgufTensor& tensor : part.tensors) {
      REQUIRE(next < header.tensors.size());
      const GgufTensor& same = header.tensors[next++];
      CHECK(tensor.name == same.name);
      CHECK(tensor.type == same.type);
      std::vector<std::byte> a(tensor.bytes);
      std::vector<std::byte> b(same.bytes);
      file.read(tensor.offset, a);
      one.read(same.offset, b);
      CHECK(a == b);
    }
  }
  CHECK(next == header.tensors.size());
}

TEST_CASE("parts are the same for any number of workers") {
  const PartsRun run;
  run.pack_parts(1);
  const auto first = run.files();
  run.clear();
  run.pack_parts(4);
  CHECK(run.files() == first);
}

TEST_CASE("parts of parts: the keys of the checkpoint's own cut are replaced") {
  const PartsRun run;
  run.pack_parts();
  const std::uint64_t count = run.files().size();
  const Checkpoint parts = Checkpoint::open(run.part(0, count));
  TempDir elsewhere;
  const std::string output = elsewhere.file("out.gguf");
  PlanOptions options;
  options.output = OutputKind::gguf;
  options.max_shard_bytes = 2'000;
  options.name = "out.gguf";
  const Plan plan = make_plan(parts, keep_all(), options);
  REQUIRE(plan.shards.size() > count);
  synps::pack(parts, plan, output);
  const Checkpoint again = Checkpoint::open(elsewhere.file(plan.shards.front().file));
  CHECK(again.files().size() == plan.shards.size());
  CHECK(again.tensors().size() == parts.tensors().size());
}

TEST_CASE("a name that no part can have is refused") {
  const PartsRun run;
  const Checkpoint checkpoint = Checkpoint::open(run.input);
  PlanOptions options;
  options.output = OutputKind::gguf;
  options.max_shard_bytes = kLimit;
  options.name = "out.bin";
  const auto problems = problems_of([&] { make_plan(checkpoint, matrices_as("q8_0"), options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::usage);
}

TEST_CASE("a fault at any call leaves all parts, or none") {
  const PartsRun run;
  run.pack_parts();
  const auto complete = run.files();
  for (const FaultyOs::Call call : FaultyOs::all_calls())
    for (FaultyOs::Fault fault{call, 1, -5};; ++fault.at) {
      CAPTURE(FaultyOs::name(call));
      CAPTURE(fault.at);
      run.clear();
      FaultyOs os(fault);
      const auto problems = problems_of([&] { run.pack_parts(1, os); });
      for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::io);
      const auto left = run.files();
      const bool all_or_none = left == complete || left.empty();
      CHECK(all_or_none);
      if (problems.empty()) CHECK(left == complete);
      if (!os.triggered()) break;
    }
}

}  // namespace synps
