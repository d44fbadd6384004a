// Every conversion at load is an event, and nothing else is.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

#include "artifact_builder.h"
#include "load_samples.h"
#include "synps/artifact.h"
#include "synps/trace.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

using Event = RecordingTraceSink::Recorded;

std::uint64_t true_bytes(const StoredWeight& weight) {
  std::uint64_t bytes = 0;
  for (const StoredComponent& stored : weight.components) bytes += stored.component.bytes;
  return bytes;
}

std::vector<Event> events_of(const std::vector<Event>& events, const std::string& path) {
  std::vector<Event> found;
  std::copy_if(events.begin(), events.end(), std::back_inserter(found),
               [&](const Event& event) { return event.weight == path; });
  return found;
}

/// The events that a plan announces for a weight, without times.
std::vector<Event> announced(const PlannedLoad& load) {
  const StoredWeight& weight = *load.weight;
  const std::uint64_t bytes = true_bytes(weight);
  const std::string plain =
      weight.codec.id() + " " + std::string(to_string(weight.components[0].order));
  std::vector<Event> events;
  const auto expect = [&](const char* kind, std::string from, std::string to, std::uint64_t before,
                          std::uint64_t after) {
    events.push_back(
        {weight.weight.path, kind, std::move(from), std::move(to), before, after, {}, {}});
  };
  if (load.decision.inflates) expect("inflate", plain + " zstd", plain, load.memory.file, bytes);
  if (load.decision.relays)
    expect("relayout", plain,
           weight.codec.id() + " " + std::string(to_string(load.decision.form.order)), bytes,
           bytes);
  if (load.decision.dequantizes)
    expect("dequantize", plain, "f32", bytes, weight.weight.shape.elements() * sizeof(float));
  return events;
}

void check_events(const Artifact& artifact, const std::vector<Event>& events) {
  std::size_t count = 0;
  for (const PlannedLoad& load : artifact.plan().weights) {
    const std::string& path = load.weight->weight.path;
    CAPTURE(path);
    const std::vector<Event> wanted = announced(load);
    const std::vector<Event> found = events_of(events, path);
    count += found.size();
    REQUIRE(found.size() == wanted.size());
    for (std::size_t i = 0; i < found.size(); ++i) {
      CHECK(found[i].kind == wanted[i].kind);
      CHECK(found[i].from == wanted[i].from);
      CHECK(found[i].to == wanted[i].to);
      CHECK(found[i].bytes_before == wanted[i].bytes_before);
      CHECK(found[i].bytes_after == wanted[i].bytes_after);
      CHECK(found[i].busy.count() > 0);
      CHECK(found[i].duration >= found[i].busy);
    }
  }
  CHECK(count == events.size());
}

}  // namespace

TEST_CASE("events are the plan's conversions, for every codec, order, profile and registry") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, samples_of_all_codecs(Shape{11, 512}));
  for (const NamedKernels& each : sample_registries())
    for (const bool profiled : {false, true})
      for (const Profile& profile : {profiles::desktop(), profiles::edge()}) {
        CAPTURE(each.name);
        RecordingTraceSink trace;
        OpenOptions options;
        options.kernels = &each.kernels;
        options.trace = &trace;
        if (profiled) options.profile = profile;
        options.budget = std::uint64_t{1} << 40;
        const Artifact artifact = Artifact::open(file, options);
        check_events(artifact, trace.events());
      }
}

TEST_CASE("weights that are inflated and relaid give both events, chunks and all") {
  TempDir dir;
  const std::string file = dir.file("m");
  WeightToStore weight = sample_weight(*builtin_registry().resolve("q8_0"), Shape{700, 4096}, 3);
  weight.path = "w";
  weight.compress = {Compression::zstd, 1};
  build_artifact(file, {weight});
  const KernelRegistry rows8 =
      builtin_kernels().only([](const Kernel& k) { return k.key.order == Order::rows8; });
  RecordingTraceSink trace;
  OpenOptions options;
  options.kernels = &rows8;
  options.trace = &trace;
  options.profile = profiles::desktop();
  options.budget = std::uint64_t{1} << 40;
  const Artifact artifact = Artifact::open(file, options);
  REQUIRE(artifact["w"].stored().components[0].chunks() == 3);
  check_events(artifact, trace.events());
  CHECK(trace.events().size() == 2);
}

TEST_CASE("what is packed for the kernels at hand loads without a conversion") {
  TempDir dir;
  const std::string file = dir.file("m");
  const Capabilities here = builtin_kernels().capabilities(TargetRequest::native);
  std::vector<WeightToStore> weights;
  for (const char* name : {"f32", "f16", "bf16", "q8_0", "q4_0", "ternary", "ternary:tq2_0"}) {
    const Codec& codec = *builtin_registry().resolve(name);
    weights.push_back(sample_weight(codec, Shape{24, 512}, 1));
    weights.back().order = here.wanted_order(codec.info().id()).value();
    weights.back().path = name;
  }
  build_artifact(file, weights);
  for (const auto& profile : {std::optional<Profile>(), std::optional(profiles::desktop()),
                              std::optional(profiles::native()), std::optional(profiles::edge()),
                              std::optional(profiles::mobile_2gb())}) {
    RecordingTraceSink trace;
    OpenOptions options;
    options.trace = &trace;
    options.profile = profile;
    options.budget = std::uint64_t{1} << 40;
    const Artifact artifact = Artifact::open(file, options);
    CHECK(trace.events().empty());
    CHECK(artifact.plan().total.conversion == 0);
    for (const WeightView weight : artifact) CHECK_FALSE(weight.decision().converts());
  }
}

}  // namespace synps::testing
