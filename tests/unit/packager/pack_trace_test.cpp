// What pack tells of conversions is what the plan says, no more and no less.

#include <doctest/doctest.h>

#include <algorithm>
#include <optional>
#include <string>
#include <tuple>
#include <vector>

#include "order_targets.h"
#include "pack_fixture.h"
#include "synps/conversions.h"
#include "synps/trace.h"

namespace synps::testing {
namespace {

using Event =
    std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint64_t>;

std::vector<Event> planned_events(const Checkpoint& checkpoint, const Plan& plan,
                                  const ArtifactIndex& written) {
  std::vector<Event> events;
  for (const PlannedWeight& planned : plan.weights) {
    const StoredWeight& stored = written.weights[planned.stored];
    for (const PlannedConversion& each : planned_conversions(checkpoint, planned, stored))
      events.emplace_back(stored.weight.path, each.kind, each.from, each.to, each.bytes_before,
                          each.bytes_after);
  }
  std::sort(events.begin(), events.end());
  return events;
}

std::vector<Event> told_events(const RecordingTraceSink& sink) {
  std::vector<Event> events;
  for (const auto& each : sink.events()) {
    CAPTURE(each.weight);
    CAPTURE(each.kind);
    CHECK(each.duration.count() > 0);
    CHECK(each.busy.count() >= 0);
    events.emplace_back(each.weight, each.kind, each.from, each.to, each.bytes_before,
                        each.bytes_after);
  }
  std::sort(events.begin(), events.end());
  return events;
}

/// A checkpoint with a scale to fold, weights to encode, to lay in order, to compress and to copy.
SafetensorsBuilder tensors() {
  SafetensorsBuilder builder = mixed_tensors();
  builder.add("f8.weight", DType::f8_e4m3, {16, 64}, std::string(16 * 64, '\x30'));
  builder.add("f8.weight_scale_inv", DType::f32, {}, bytes_of(std::vector<float>{0.5f}));
  return builder;
}

Policy policy_for_all() {
  return policy_of(R"([myelin]
formats = ["f64", "f8_e4m3", "f4", "bf16", "f16"]
[policies."**"]
fallback = "f16"
[[policies."**".schemes]]
format = "q8_0"
[[policies."layers.0.norm".schemes]]
format = "keep"
[policies."layers.0.norm".form]
compress = "zstd"
[[policies."layers.1.mlp".schemes]]
format = "ternary:absmean"
[[policies."kept".schemes]]
format = "keep"
[policies."embed".form]
compress = "zstd"
)");
}

TEST_CASE("every planned conversion is traced once, for any number of workers and files") {
  const PackFixture fixture(tensors());
  const Checkpoint checkpoint = fixture.open();
  for (const std::uint64_t shard_bytes : {std::uint64_t{0}, std::uint64_t{40'000}})
    for (const unsigned jobs : {1u, 3u}) {
      PlanOptions how;
      how.target = rows8_target(builtin_registry());
      how.max_shard_bytes = shard_bytes;
      const Plan plan = make_plan(checkpoint, policy_for_all(), how);
      CHECK(plan.shards.empty() == (shard_bytes == 0));
      RecordingTraceSink sink;
      PackOptions options;
      options.replace = true;
      options.jobs = jobs;
      options.trace = &sink;
      const PackReport report = pack(checkpoint, plan, fixture.output, options);
      REQUIRE(report.layout);
      const auto told = told_events(sink);
      CHECK(told == planned_events(checkpoint, plan, report.layout->index));
      for (const char* kind : {"encode", "relayout", "fold_scale", "compress"}) {
        CAPTURE(kind);
        CHECK(std::any_of(told.begin(), told.end(),
                          [&](const Event& event) { return std::get<1>(event) == kind; }));
      }
      const auto about = [&](const char* path) {
        return std::count_if(told.begin(), told.end(),
                             [&](const Event& event) { return std::get<0>(event) == path; });
      };
      CHECK(about("ids") == 0);
      CHECK(about("empty") == 0);
      CHECK(about("kept.f8") == 0);
      CHECK(about("f8.weight") == 3);
      CHECK(about("embed.weight") == 3);
      CHECK(about("layers.0.norm.weight") == 1);
    }
}

TEST_CASE("events say what was before and after, in bytes") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::bf16, {16, 64}, 1);
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  PlanOptions how;
  how.target = rows8_target(builtin_registry());
  const Plan plan = make_plan(checkpoint, one_format("q4_0"), how);
  RecordingTraceSink sink;
  PackOptions options;
  options.trace = &sink;
  pack(checkpoint, plan, fixture.output, options);
  const auto events = sink.events();
  REQUIRE(events.size() == 2);
  CHECK(events[0].kind == "encode");
  CHECK(events[0].from == "bf16");
  CHECK(events[0].to == "q4_0:q4_0 rows1");
  CHECK(events[0].bytes_before == 2048);
  CHECK(events[0].bytes_after == 576);
  CHECK(events[1].kind == "relayout");
  CHECK(events[1].from == "q4_0:q4_0 rows1");
  CHECK(events[1].to == "q4_0:q4_0 rows8");
  CHECK(events[1].bytes_before == 576);
  CHECK(events[1].bytes_after == 576);
  CHECK(events[0].duration == events[1].duration);
  CHECK(events[0].busy + events[1].busy <= events[0].duration);
}

TEST_CASE("packing into GGUF is traced, and has one order") {
  GgufBuilder builder;
  builder.text("general.architecture", "llama");
  builder.tensor("a", {64, 16}, gguf::kF32, bytes_of(test_values(64 * 16)));
  builder.tensor("b", {64, 16}, gguf::kF32, bytes_of(test_values(64 * 16)));
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  PlanOptions how;
  how.output = OutputKind::gguf;
  how.target = rows8_target(builtin_registry());
  const Policy policy = policy_of(
      "[[policies.\"*\".schemes]]\nformat = \"q4_0\"\n"
      "[[policies.\"b\".schemes]]\nformat = \"keep\"\n");
  const Plan plan = make_plan(checkpoint, policy, how);
  RecordingTraceSink sink;
  PackOptions options;
  options.trace = &sink;
  pack(checkpoint, plan, fixture.output, options);
  const auto events = sink.events();
  REQUIRE(events.size() == 1);
  CHECK(events[0].weight == "a");
  CHECK(events[0].kind == "encode");
  CHECK(events[0].to == "q4_0:q4_0 rows1");
  CHECK(events[0].bytes_after == 576);
}

TEST_CASE("a trace changes no byte") {
  const PackFixture fixture(tensors());
  const Checkpoint checkpoint = fixture.open();
  PlanOptions how;
  how.target = rows8_target(builtin_registry());
  const Plan plan = make_plan(checkpoint, policy_for_all(), how);
  PackOptions options;
  options.replace = true;
  pack(checkpoint, plan, fixture.output, options);
  const std::string bytes = read_file(fixture.output);
  RecordingTraceSink sink;
  options.trace = &sink;
  pack(checkpoint, plan, fixture.output, options);
  CHECK(read_file(fixture.output) == bytes);
}

}  // namespace
}  // namespace synps::testing
