// Packing compressed components: bytes, plan, workers, stops.

#include <doctest/doctest.h>

#include <atomic>
#include <map>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include "pack_fixture.h"
#include "synps/component_reader.h"
#include "synps/memory.h"
#include "synps/unpack.h"
#include "synps/verify.h"
#include "turns.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};

Plan plan_with(const Checkpoint& checkpoint, const Policy& policy,
               const std::optional<CompressRequest>& compress) {
  PlanOptions options;
  options.compress = compress;
  return make_plan(checkpoint, policy, options);
}

/// True bytes of every component, by entry without its suffix.
std::map<std::string, std::string> components_of(const std::string& path) {
  const ArtifactReader artifact(path);
  CHECK(artifact.check_all(&builtin_registry()).empty());
  ComponentReader reader(artifact);
  std::map<std::string, std::string> found;
  for (const StoredWeight& weight : artifact.index().weights)
    for (const StoredComponent& stored : weight.components) {
      std::string bytes(stored.component.bytes, '\0');
      reader.read(weight, stored, 0, std::as_writable_bytes(std::span(bytes)));
      found[weight.weight.path + "#" + stored.component.name] = bytes;
    }
  return found;
}

/// Packs plainly and compressed, with several numbers of workers, and compares.
void check_compressed(const PackFixture& fixture, const Policy& policy,
                      const CompressRequest& compress) {
  const Checkpoint checkpoint = fixture.open();
  PackOptions replace;
  replace.replace = true;
  pack(checkpoint, make_plan(checkpoint, policy), fixture.output, replace);
  const auto expected = components_of(fixture.output);
  const Plan plan = plan_with(checkpoint, policy, compress);
  CHECK(plan.layout.has_bounds);
  std::string first;
  for (const unsigned jobs : {1u, 2u, 5u}) {
    CAPTURE(jobs);
    PackOptions options;
    options.jobs = jobs;
    options.replace = true;
    const PackReport report = pack(checkpoint, plan, fixture.output, options);
    const std::string bytes = read_file(fixture.output);
    CHECK(report.artifact_bytes == bytes.size());
    CHECK(report.layout->file_bytes == bytes.size());
    CHECK(bytes.size() <= plan.artifact_bytes);
    if (first.empty()) first = bytes;
    CHECK(bytes == first);
  }
  CHECK(components_of(fixture.output) == expected);
  VerifyOptions against;
  against.against = &checkpoint;
  CHECK(verify(fixture.output, builtin_registry(), against).ok());
}

}  // namespace

TEST_CASE("weights of every kind come back from compressed components") {
  check_compressed(PackFixture(mixed_tensors()), mixed_policy(), kZstd);
}

TEST_CASE("every codec's components compress, over shapes, with chunks of several segments too") {
  SafetensorsBuilder builder;
  std::uint32_t seed = 0;
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {}, {1}, {512}, {300'000}, {3, 256}, {1000, 768}, {2, 3, 512}, {9, 65'536}}) {
    add_floats(builder, "w" + std::to_string(seed), seed % 2 == 0 ? DType::f32 : DType::bf16, shape,
               seed + 1);
    ++seed;
  }
  const PackFixture fixture(builder);
  for (const Codec* codec : builtin_registry().all()) {
    if (!codec->info().encodes) continue;
    CAPTURE(codec->info().id());
    check_compressed(fixture, one_format(codec->info().id()), kZstd);
  }
}

TEST_CASE("a plan with compression is exact for the rest, and a bound for it") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Policy policy = policy_of(R"([myelin]
formats = ["f16", "bf16", "f64", "f8_e4m3", "f4"]
[policies."**"]
fallback = "f16"
[[policies."**".schemes]]
format = "q8_0"
[[policies."kept".schemes]]
format = "keep"
[policies."embed".form]
compress = "zstd:5"
)");
  const Plan plan = make_plan(checkpoint, policy);
  const PackReport report = pack(checkpoint, plan, fixture.output);
  REQUIRE(report.layout->index.weights.size() == plan.layout.index.weights.size());
  std::uint64_t saved = 0;
  std::uint64_t inflated = 0;
  for (std::size_t w = 0; w < plan.layout.index.weights.size(); ++w) {
    const StoredWeight& planned = plan.layout.index.weights[w];
    for (std::size_t c = 0; c < planned.components.size(); ++c) {
      const StoredComponent& a = planned.components[c];
      const StoredComponent& b = report.layout->index.weights[w].components[c];
      CHECK(a.compressed() == (planned.weight.path == "embed.weight"));
      CHECK(a.offset == b.offset);  // the only compressed one is the first and the last
      if (a.compressed()) inflated += (a.component.bytes + 63) / 64 * 64;
      if (!a.compressed()) CHECK(a.stored_bytes == b.stored_bytes);
      saved += a.stored_bytes - b.stored_bytes;
    }
  }
  CHECK(saved > 0);
  CHECK(plan.artifact_bytes - saved == report.artifact_bytes);
  CHECK(plan.conversion_bytes == inflated);
  CHECK(plan.resident_bytes == inflated);
  CHECK(report.layout->header_bytes == plan.layout.header_bytes);
}

TEST_CASE("weights without elements stay plain, and the artifact says who asked") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  pack(checkpoint, plan_with(checkpoint, mixed_policy(), CompressRequest{Compression::zstd, 4}),
       fixture.output);
  const ArtifactReader artifact(fixture.output);
  for (const StoredWeight& weight : artifact.index().weights) {
    CAPTURE(weight.weight.path);
    const bool empty = weight.weight.path == "empty";
    CHECK(weight.asked.compress == CompressRequest{Compression::zstd, 4});
    CHECK((weight.form.residency == Residency::heap) == !empty);
    for (const StoredComponent& stored : weight.components) CHECK(stored.compressed() == !empty);
    bool said = false;
    for (const Decision& decision : weight.decisions)
      said = said || (decision.key == "form.compress" && decision.pattern.empty());
    CHECK(said);
  }
  CHECK(artifact.metadata().at("format") == "synps");
  CHECK(artifact.metadata().at("synps.source.format") == "pt");
}

TEST_CASE("compressed weights unpack to the same file as plain ones") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const std::string plain = fixture.dir.file("plain.safetensors");
  UnpackOptions replace;
  replace.replace = true;
  fixture.pack(mixed_policy());
  unpack(fixture.output, plain, builtin_registry(), replace);
  const std::string expected = read_file(plain);
  PackOptions options;
  options.replace = true;
  pack(checkpoint, plan_with(checkpoint, mixed_policy(), kZstd), fixture.output, options);
  unpack(fixture.output, plain, builtin_registry(), replace);
  CHECK(read_file(plain) == expected);
}

TEST_CASE("stopping at any moment leaves nothing, and nobody waits for ever") {
  SafetensorsBuilder builder;
  for (int i = 0; i < 6; ++i)
    add_floats(builder, "w" + std::to_string(i), DType::bf16, {600, 1024}, 7u + unsigned(i));
  add_floats(builder, "wide", DType::f32, {9, 70'000}, 3);
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = plan_with(checkpoint, one_format("bf16"), kZstd);
  bool complete = false;
  for (int stop_at = 1; !complete; stop_at += 3) {
    CAPTURE(stop_at);
    PackOptions options;
    options.jobs = 4;
    int calls = 0;
    options.progress = [&](std::uint64_t, std::uint64_t) { return ++calls != stop_at; };
    try {
      pack(checkpoint, plan, fixture.output, options);
      complete = true;
    } catch (const Cancelled&) {
      CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
    }
  }
  CHECK(ArtifactReader(fixture.output).check_all().empty());
}

TEST_CASE("memory for compression is in the plan's need, and the ceiling counts it") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::bf16, {3000, 1024});
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Policy policy = one_format("q8_0");
  constexpr std::uint64_t kMiB = 1u << 20;
  const auto worker_bytes = [&](const std::optional<CompressRequest>& compress) {
    return pack_memory(checkpoint, plan_with(checkpoint, policy, compress)).worker_bytes;
  };
  const std::uint64_t plain = worker_bytes({});
  const std::uint64_t fast = worker_bytes(kZstd);
  const std::uint64_t best = worker_bytes(CompressRequest{Compression::zstd, 19});
  CHECK(plain < fast);
  CHECK(fast < 8 * kMiB);
  CHECK(worker_bytes(CompressRequest{Compression::zstd, 6}) < 8 * kMiB + kMiB / 2);
  CHECK(best > 16 * kMiB);
  const Plan plan = plan_with(checkpoint, policy, CompressRequest{Compression::zstd, 19});
  PackOptions options;
  options.max_memory = pack_memory(checkpoint, plan).with_workers(1) - 1;
  const auto problems = problems_of([&] { pack(checkpoint, plan, fixture.output, options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  options.max_memory += 1;
  pack(checkpoint, plan, fixture.output, options);
  CHECK(ArtifactReader(fixture.output).check_all().empty());
}

TEST_CASE("turns come in sequence, and a failure releases only those behind it") {
  Turns turns;
  std::vector<int> passed;
  std::atomic<int> abandoned = 0;
  {
    std::vector<std::jthread> threads;
    for (const int number : {5, 3, 1, 0, 4, 2})
      threads.emplace_back([&, number] {
        try {
          if (number == 3) {
            turns.fail(3);
            return;
          }
          turns.wait(static_cast<std::uint64_t>(number));
          passed.push_back(number);
          turns.pass();
        } catch (const Turns::Abandoned&) {
          ++abandoned;
        }
      });
  }
  CHECK(passed == std::vector<int>{0, 1, 2});
  CHECK(abandoned == 2);
}
