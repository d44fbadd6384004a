// Weights that keep their encoding are copied: from any order and compression into any other, and
// back again.

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <string>
#include <vector>

#include "faulty_os.h"
#include "pack_run.h"
#include "reencode_fixture.h"
#include "synps/conversions.h"
#include "synps/memory.h"
#include "synps/trace.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};
constexpr CompressRequest kPlain{};

/// Codecs of one component and of two, rows that end a group and rows behind it, and what is no
/// float.
SafetensorsBuilder tensors() {
  SafetensorsBuilder builder;
  builder.metadata("format", "pt").metadata("note", "stays");
  add_floats(builder, "blocks", DType::bf16, {43, 256}, 1);
  add_floats(builder, "codes", DType::bf16, {26, 384}, 2);
  add_floats(builder, "dense", DType::f32, {9, 100}, 3);
  add_floats(builder, "long", DType::f16, {17, 70'016}, 4);  // eight rows are more than a step
  add_floats(builder, "vector", DType::f16, {1000}, 5);
  builder.add("empty", DType::f16, {0, 4}, std::string_view());
  builder.add("ids", DType::i64, {3}, bytes_of(std::vector<std::int64_t>{1, -2, 3}));
  return builder;
}

Policy rules() {
  return policy_of(R"([myelin]
formats = ["f16", "bf16"]
[[policies."*".schemes]]
format = "q8_0"
[[policies."codes".schemes]]
format = "ternary"
[[policies."{dense,vector}".schemes]]
format = "keep"
[policies."blocks".form]
residency = "heap"
)");
}

ReencodeRequest form_request(std::optional<Order> order, std::optional<CompressRequest> compress) {
  ReencodeRequest request;
  request.order = order;
  request.compress = compress;
  return request;
}

/// What is stored, without who decided it.
std::string undecided(const std::string& artifact) {
  ArtifactIndex index = ArtifactSet(artifact).index();
  index.header = index.sums = {};
  index.zstd.clear();
  for (StoredWeight& weight : index.weights) {
    weight.decisions = {};
    for (StoredComponent& component : weight.components)
      component.offset = component.first_digest = 0;
  }
  return to_json(index);
}

TEST_CASE("orders and frames there and back again are the bytes of before") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "first");
  const std::string first = undecided(fixture.artifact("first"));
  for (const auto& [order, compress] :
       std::vector<std::pair<std::optional<Order>, std::optional<CompressRequest>>>{
           {Order::rows8, std::nullopt}, {std::nullopt, kZstd}, {Order::rows8, kZstd}})
    for (const std::uint64_t shard_bytes : {std::uint64_t{0}, std::uint64_t{400'000}})
      for (const unsigned jobs : {1u, 3u}) {
        const OutputForm form{{}, {}, shard_bytes, jobs};
        fixture.requantized("first", "there", form_request(order, compress), form,
                            Rounding::refused);
        const ArtifactSet there(fixture.artifact("there"));
        CHECK(there.check_all(&builtin_registry()).empty());
        CHECK(there.is_sharded() == (shard_bytes != 0));
        for (const StoredWeight& weight : there.index().weights) {
          CAPTURE(weight.weight.path);
          const bool relaid =
              order && (weight.weight.path == "blocks" || weight.weight.path == "codes" ||
                        weight.weight.path == "long");
          CHECK(weight.form.order == (relaid ? Order::rows8 : Order::rows1));
          const bool has_bytes = weight.weight.path != "empty";
          CHECK(weight.components.front().compressed() == (compress.has_value() && has_bytes));
          CHECK(weight.history.empty());
        }
        CHECK(there.source_metadata().at("note") == "stays");
        const std::string there_bytes = read_file(fixture.artifact("there"));
        fixture.requantized("there", "back", form_request(Order::rows1, kPlain), {},
                            Rounding::refused);
        CHECK(undecided(fixture.artifact("back")) == first);
        check_same_components(fixture.artifact("first"), fixture.artifact("back"));
        // And the same way once more, from one that has frames and another order already.
        fixture.requantized("there", "again", form_request(order, compress), form,
                            Rounding::refused);
        CHECK(undecided(fixture.artifact("again")) == undecided(fixture.artifact("there")));
        CHECK(fixture.unpacked("again") == fixture.unpacked("first"));
      }
}

TEST_CASE("nothing asked for, the artifact is the same file") {
  const ReencodeFixture fixture(tensors());
  for (const OutputForm& form :
       {OutputForm{}, OutputForm{rows8_target(builtin_registry()), kZstd, 0, 2}}) {
    fixture.packed(rules(), "first", form);
    for (const unsigned jobs : {1u, 4u}) {
      fixture.requantized("first", "again", ReencodeRequest{}, {{}, {}, 0, jobs},
                          Rounding::refused);
      CHECK(read_file(fixture.artifact("again")) == read_file(fixture.artifact("first")));
    }
  }
}

TEST_CASE("a policy's `as_stored` is the order that the artifact has") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "rows8", {rows8_target(builtin_registry()), {}, 0, 2});
  for (const char* order : {"as_stored", "auto"}) {
    const Policy policy = policy_of(std::string("[[policies.\"*\".schemes]]\nformat = \"keep\"\n") +
                                    "[policies.\"*\".form]\norder = \"" + order + "\"\n");
    fixture.requantized("rows8", "again", policy);  // for a target that wants no order
    const ArtifactReader again(fixture.artifact("again"));
    CHECK(again.check_all(&builtin_registry()).empty());
    CHECK(again.find("blocks")->form.order ==
          (std::string_view(order) == "as_stored" ? Order::rows8 : Order::rows1));
    CHECK(again.find("blocks")->codec.name == "q8_0");
    CHECK(again.find("blocks")->form.encoding.target == "q8_0:q8_0");  // how it came there
    CHECK(again.find("dense")->form.order == Order::rows1);
    CHECK(fixture.unpacked("again") == fixture.unpacked("rows8"));
  }
}

TEST_CASE("what is done to an artifact is what the plan says, event by event") {
  using Event =
      std::tuple<std::string, std::string, std::string, std::string, std::uint64_t, std::uint64_t>;
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "source", {rows8_target(builtin_registry()), kZstd, 0, 2});
  std::vector<ReencodeRequest> requests = {form_request({}, {}), form_request(Order::rows1, kPlain),
                                           to_codec("q4_0"), to_codec("f32")};
  requests[2].only = PathPattern::parse("{blocks,codes}");
  requests[2].order = Order::rows8;
  std::vector<std::string> kinds;
  for (const ReencodeRequest& request : requests)
    for (const unsigned jobs : {1u, 3u}) {
      const Checkpoint source = fixture.opened("source");
      const Plan plan = plan_reencode(source, request, builtin_registry(), Rounding::allowed);
      RecordingTraceSink sink;
      PackOptions options;
      options.replace = true;
      options.jobs = jobs;
      options.trace = &sink;
      const PackReport report = pack(source, plan, fixture.dir.file("out"), options);
      const ArtifactIndex& written = report.layout ? report.layout->index : plan.layout.index;
      std::vector<Event> planned;
      for (const PlannedWeight& weight : plan.weights)
        for (const PlannedConversion& each :
             planned_conversions(source, weight, written.weights[weight.stored]))
          planned.emplace_back(plan.stored(weight).weight.path, each.kind, each.from, each.to,
                               each.bytes_before, each.bytes_after);
      std::vector<Event> told;
      for (const auto& each : sink.events()) {
        CHECK(each.busy.count() >= 0);
        told.emplace_back(each.weight, each.kind, each.from, each.to, each.bytes_before,
                          each.bytes_after);
        kinds.push_back(each.kind);
      }
      std::sort(planned.begin(), planned.end());
      std::sort(told.begin(), told.end());
      CHECK(told == planned);
      CHECK_FALSE(told.empty());
    }
  for (const char* kind : {"inflate", "relayout", "encode", "compress"}) {
    CAPTURE(kind);
    CHECK(std::find(kinds.begin(), kinds.end(), kind) != kinds.end());
  }
  const Checkpoint source = fixture.opened("source");
  const Plan plan = plan_reencode(source, requests[2], builtin_registry(), Rounding::allowed);
  const auto about = planned_conversions(source, plan.weights[0], plan.stored(plan.weights[0]));
  REQUIRE(about.size() == 5);
  CHECK(about[0].from == "q8_0:q8_0 rows8 zstd");
  CHECK(about[0].to == "q8_0:q8_0 rows8");
  CHECK(about[0].bytes_before < about[0].bytes_after);
  CHECK(about[1].kind == "relayout");
  CHECK(about[2].kind == "encode");
  CHECK(about[3].kind == "relayout");
  CHECK(about[4].kind == "compress");
}

TEST_CASE("damaged bytes are never encoded anew, and leave nothing") {
  const ReencodeFixture fixture(tensors());
  for (const bool compressed : {false, true}) {
    OutputForm form;
    if (compressed) form.compress = kZstd;
    fixture.packed(rules(), "source", form);
    const std::string path = fixture.artifact("source");
    const ArtifactReader sound(path);
    std::string bytes = read_file(path);
    const StoredComponent& component = sound.find("codes")->components[1];
    bytes[sound.file_offset(component) + component.stored_bytes / 2] ^= 1;
    write_file(path, bytes);
    const Checkpoint source = fixture.opened("source");
    std::vector<ReencodeRequest> requests = {ReencodeRequest{}, to_codec("f32"), to_codec("f16")};
    for (const ReencodeRequest& request : requests) {
      const Plan plan = plan_reencode(source, request, builtin_registry(), Rounding::allowed);
      const auto problems = problems_of([&] { fixture.write(source, plan, "out"); });
      REQUIRE_FALSE(problems.empty());
      CHECK(problems[0].code == ErrorCode::artifact);
      CHECK(problems[0].field.find("codes") != std::string::npos);
      CHECK_FALSE(std::filesystem::exists(fixture.dir.file("out")));
    }
  }
}

TEST_CASE("an artifact that changes meanwhile is an error, and so is one that is its own output") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "source");
  const Checkpoint source = fixture.opened("source");
  const Plan plan = plan_reencode(source, to_codec("f32"), builtin_registry(), Rounding::allowed);
  const auto own = problems_of([&] { fixture.write(source, plan, "source"); });
  REQUIRE(own.size() == 1);
  CHECK(own[0].code == ErrorCode::output);

  PackOptions options;
  options.jobs = 1;
  bool changed = false;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    if (!changed && done > total / 2) {
      std::ofstream(fixture.artifact("source"), std::ios::app) << "more";
      changed = true;
    }
    return true;
  };
  const auto problems = problems_of([&] { pack(source, plan, fixture.dir.file("out"), options); });
  CHECK(changed);
  REQUIRE_FALSE(problems.empty());
  CHECK(problems[0].code == ErrorCode::artifact);
  CHECK_FALSE(std::filesystem::exists(fixture.dir.file("out")));
}

TEST_CASE("progress goes from nothing to all, and may stop the work") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "source", {rows8_target(builtin_registry()), kZstd, 0, 2});
  const Checkpoint source = fixture.opened("source");
  for (const ReencodeRequest& request :
       {ReencodeRequest{}, form_request(Order::rows1, kPlain), to_codec("f32")}) {
    const Plan plan = plan_reencode(source, request, builtin_registry(), Rounding::allowed);
    PackOptions options;
    options.replace = true;
    std::uint64_t last = 0;
    std::uint64_t all = 0;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      CHECK(done >= last);
      last = done;
      all = total;
      return true;
    };
    pack(source, plan, fixture.dir.file("out"), options);
    CHECK(last == all);
    options.progress = [&](std::uint64_t done, std::uint64_t) { return done < 50'000; };
    CHECK_THROWS_AS(pack(source, plan, fixture.dir.file("stopped"), options), Cancelled);
    CHECK_FALSE(std::filesystem::exists(fixture.dir.file("stopped")));
  }
}

TEST_CASE("a ceiling on memory takes workers, and is refused where none fits") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(rules(), "source", {rows8_target(builtin_registry()), kZstd, 0, 2});
  const Checkpoint source = fixture.opened("source");
  const Plan plan = plan_reencode(source, to_codec("bf16"), builtin_registry(), Rounding::allowed);
  const MemoryNeed need = pack_memory(source, plan);
  PackOptions options;
  options.replace = true;
  options.jobs = 8;
  options.max_memory = need.with_workers(1);
  pack(source, plan, fixture.dir.file("one"), options);
  options.max_memory = 0;
  pack(source, plan, fixture.dir.file("many"), options);
  CHECK(read_file(fixture.dir.file("one")) == read_file(fixture.dir.file("many")));
  options.max_memory = need.with_workers(1) - 1;
  const auto problems = problems_of([&] { pack(source, plan, fixture.dir.file("none"), options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
}

TEST_CASE("bytes that lie as they are wanted are shared where the file system can") {
  SafetensorsBuilder builder;
  add_floats(builder, "a.blocks", DType::bf16, {512, 1024}, 1);
  add_floats(builder, "b.dense", DType::f32, {512, 1024}, 2);
  const ReencodeFixture fixture(builder);
  const Policy policy = policy_of(
      "[myelin]\nformats = [\"bf16\"]\n"
      "[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
      "[[policies.\"a\".schemes]]\nformat = \"q8_0\"\n");
  struct SharingOs final : FaultyOs {
    SharingOs() : FaultyOs({Call::close, 0, 0}) { shared_block = 4096; }
  };
  fixture.packed(policy, "plain");
  fixture.packed(policy, "frames", {rows8_target(builtin_registry()), kZstd, 0, 2});
  for (const char* from : {"plain", "frames"}) {
    const Checkpoint posix = fixture.opened(from);
    const ReencodeRequest request = form_request(Order::rows1, kPlain);
    const Plan plan = plan_reencode(posix, request, builtin_registry(), Rounding::refused);
    fixture.write(posix, plan, "wanted");
    SharingOs os;
    const Checkpoint source = fixture.opened(from, os);
    PackOptions options;
    options.replace = true;
    pack(source, plan_reencode(source, request, builtin_registry(), Rounding::refused),
         fixture.dir.file("shared"), options, os);
    CHECK((os.calls(FaultyOs::Call::copy_range) > 0) == (std::string_view(from) == "plain"));
    CHECK(read_file(fixture.dir.file("shared")) == read_file(fixture.dir.file("wanted")));
  }
}

TEST_CASE("a fault at any call leaves the artifact there was, or the whole of the new one") {
  SafetensorsBuilder builder;
  add_floats(builder, "blocks", DType::bf16, {17, 64}, 1);
  add_floats(builder, "codes", DType::bf16, {9, 256}, 2);
  const ReencodeFixture fixture(builder);
  fixture.packed(one_format("ternary"), "source", {rows8_target(builtin_registry()), kZstd, 0, 1});
  ReencodeRequest request = to_codec("q8_0");
  request.only = PathPattern::parse("blocks");
  const auto run = [&](Os& os) {
    const Checkpoint source = fixture.opened("source", os);
    PackOptions options;
    options.replace = true;
    options.jobs = 1;
    pack(source, plan_reencode(source, request, builtin_registry(), Rounding::allowed),
         fixture.dir.file("out"), options, os);
  };
  run(Os::posix());
  const std::string complete = read_file(fixture.dir.file("out"));
  std::uint64_t faults = 0;
  for (const FaultyOs::Call call : FaultyOs::all_calls())
    for (const int error : {-EIO, FaultyOs::kShort}) {
      using Call = FaultyOs::Call;
      if (error == FaultyOs::kShort && call != Call::pread && call != Call::pwrite) continue;
      for (FaultyOs::Fault fault{call, 1, error};; ++fault.at) {
        CAPTURE(FaultyOs::name(call));
        CAPTURE(fault.at);
        write_file(fixture.dir.file("out"), kEarlier);
        FaultyOs os(fault);
        const auto problems = problems_of([&] { run(os); });
        if (!os.triggered()) break;
        ++faults;
        for (const Problem& problem : problems) CHECK(problem.code == ErrorCode::io);
        const std::string left = read_file(fixture.dir.file("out"));
        if (problems.empty())
          CHECK(left == complete);
        else if (call != Call::sync || left != complete)
          CHECK(left == kEarlier);
      }
    }
  CHECK(faults > 20);
}

}  // namespace
}  // namespace synps::testing
