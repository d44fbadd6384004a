// What a plan says, before a value is read.

#include "synps/plan.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <string>

#include "pack_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

const PlannedWeight& planned(const Plan& plan, std::string_view path) {
  const auto at = std::find_if(
      plan.weights.begin(), plan.weights.end(),
      [&](const PlannedWeight& weight) { return plan.stored(weight).weight.path == path; });
  REQUIRE(at != plan.weights.end());
  return *at;
}

}  // namespace

TEST_CASE("a plan names every weight once, by path, with tensors and stored weights in step") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  REQUIRE(plan.weights.size() == checkpoint.tensors().size());
  for (std::size_t i = 0; i < plan.weights.size(); ++i) {
    const std::string& path = plan.stored(plan.weights[i]).weight.path;
    CHECK(path == checkpoint.tensors()[plan.weights[i].tensor].weight.path);
    if (i != 0) CHECK(plan.stored(plan.weights[i - 1]).weight.path < path);
  }
}

TEST_CASE("a weight whose source encoding is the wanted codec is copied") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  const PlannedWeight& embed = planned(plan, "embed.weight");
  CHECK(embed.copied);
  CHECK(embed.lossless);
  CHECK(embed.bytes == embed.source_bytes);
  CHECK(embed.policy == "embed");
  const StoredWeight& stored = plan.stored(embed);
  CHECK(stored.codec.id() == "bf16:bf16");
  CHECK(stored.source == "bf16");
  CHECK(stored.compute == "f32");
  CHECK(stored.form.encoding.kind == Encoding::Kind::keep_as_stored);
  REQUIRE(stored.components.size() == 1);
  CHECK(stored.components[0].component.name == "values");
  CHECK(stored.components[0].entry == "embed.weight");
}

TEST_CASE("an encoded weight has its codec's components, form and deciding policies") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  const PlannedWeight& mlp = planned(plan, "layers.1.mlp.weight");
  CHECK_FALSE(mlp.copied);
  CHECK_FALSE(mlp.lossless);
  const StoredWeight& stored = plan.stored(mlp);
  CHECK(stored.codec.id() == "ternary:absmean");
  CHECK(stored.form.encoding == Encoding{Encoding::Kind::requantize_to, "ternary:absmean"});
  CHECK(stored.form.residency == Residency::heap);
  REQUIRE(stored.components.size() == 2);
  CHECK(stored.components[0].component.name == "codes");
  CHECK(stored.components[1].component.name == "scales");
  CHECK(stored.components[1].component.per_weight);
  REQUIRE(stored.scheme);
  CHECK(stored.scheme->format == "ternary:absmean");
  // Only keys that a policy set: nobody set dtype or the device.
  CHECK(stored.decisions == std::vector<Decision>{{"fallback", "**"},
                                                  {"form.residency", "layers.1"},
                                                  {"format", "layers.1.mlp"}});
}

TEST_CASE("what is no float, has no elements or is kept stays as stored") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  for (const char* path : {"ids", "mask", "empty", "kept.f8", "kept.f4"}) {
    CAPTURE(path);
    const PlannedWeight& weight = planned(plan, path);
    const StoredWeight& stored = plan.stored(weight);
    CHECK(weight.copied);
    CHECK(weight.lossless);
    CHECK(weight.source_codec == nullptr);
    CHECK(weight.codec == nullptr);
    CHECK(stored.form.encoding.kind == Encoding::Kind::keep_as_stored);
    CHECK(stored.components.at(0).component.dtype == stored.weight.dtype);
    CHECK(stored.components.at(0).component.shape == stored.weight.shape);
  }
  CHECK(plan.stored(planned(plan, "ids")).codec.is_keep());
  CHECK(plan.stored(planned(plan, "ids")).compute.empty());
  CHECK_FALSE(plan.stored(planned(plan, "ids")).scheme);
  CHECK(plan.stored(planned(plan, "kept.f4")).codec.is_keep());
  CHECK(plan.stored(planned(plan, "kept.f8")).codec.id() == "f8_e4m3:f8_e4m3");
  // A dense codec decodes f16, also where there is nothing to decode.
  CHECK(plan.stored(planned(plan, "empty")).codec.id() == "f16:f16");
}

TEST_CASE("a shape that the codec does not take falls back, and the plan says why") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  const PlannedWeight& scale = planned(plan, "scale");
  CHECK(scale.used_fallback);
  CHECK_FALSE(scale.fallback_reason.empty());
  CHECK(plan.stored(scale).codec.id() == "f16:f16");
  CHECK_FALSE(planned(plan, "embed.weight").used_fallback);
}

TEST_CASE("lossless is told by types") {
  SafetensorsBuilder builder;
  add_floats(builder, "bf16", DType::bf16, {4, 32});
  add_floats(builder, "f16", DType::f16, {4, 32});
  builder.add("f64", DType::f64, {2}, bytes_of(std::vector<double>{1, 2}));
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Plan wide = make_plan(checkpoint, one_format("f32"));
  CHECK(planned(wide, "bf16").lossless);
  CHECK(planned(wide, "f16").lossless);
  CHECK_FALSE(planned(wide, "f64").lossless);  // f32 holds these two values, but not every f64
  CHECK_FALSE(planned(wide, "bf16").copied);
  const Plan half = make_plan(checkpoint, one_format("f16"));
  CHECK_FALSE(planned(half, "bf16").lossless);
  CHECK(planned(half, "f16").copied);
}

TEST_CASE("totals are sums over weights") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  std::uint64_t heap = 0;
  std::uint64_t mapped = 0;
  std::uint64_t source = 0;
  for (const PlannedWeight& weight : plan.weights) {
    source += weight.source_bytes;
    const bool on_heap = plan.stored(weight).form.residency == Residency::heap;
    if (!on_heap) mapped += weight.bytes;
    for (const StoredComponent& component : plan.stored(weight).components)
      if (on_heap) heap += (component.stored_bytes + 63) / 64 * 64;
  }
  CHECK(plan.resident_bytes == heap);
  CHECK(plan.mapped_bytes == mapped);
  CHECK(heap > 0);
  CHECK(plan.source_bytes == source);
  CHECK(plan.source_bytes == checkpoint.data_bytes());
  CHECK(plan.conversion_bytes == 0);
  CHECK(plan.artifact_bytes == plan.layout.file_bytes);
}

TEST_CASE("encodings that nothing decodes can be kept, not converted; all are named") {
  SafetensorsBuilder builder;
  builder.add("a", DType::f8_e8m0, {2}, "\x01\x02").add("b", DType::f4, {4}, "\x01\x02");
  add_floats(builder, "c", DType::f32, {4});
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Policy policy = policy_of(
      "[myelin]\nformats = [\"f8_e8m0\", \"f4\"]\n[[policies.\"*\".schemes]]\nformat = "
      "\"f16\"\n");
  const auto problems = problems_of([&] { make_plan(checkpoint, policy); });
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(problems[0].field == "f8_e8m0");
  CHECK(problems[1].field == "f4");
}

TEST_CASE("names that collide with entries of ours are refused, naming the checkpoint") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::f32, {2, 32});
  add_floats(builder, "w#blocks", DType::f32, {3});
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  CHECK_NOTHROW(make_plan(checkpoint, one_format("f32")));
  const auto problems = problems_of([&] { make_plan(checkpoint, one_format("q8_0")); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
  CHECK(problems[0].file == fixture.input);
  CHECK(problems[0].field == "w#blocks");
}

TEST_CASE("schemes for values that are not constants are carried along, narrowest first") {
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::f32, {4});
  const PackFixture fixture(builder);
  const Plan plan = make_plan(fixture.open(), policy_of(R"([[policies."*".schemes]]
format = "f16"
[[policies."layers.*.cache".schemes]]
scope = "internal"
lifetime = "session"
update = "region"
format = "q8_0"
[[policies."a".schemes]]
scope = "any"
format = "bf16"
[[policies."layers".schemes]]
scope = "internal"
format = "f16"
[[policies."*".schemes]]
scope = "any"
format = "f32"
)"));
  const auto& values = plan.layout.index.values;
  REQUIRE(values.size() == 4);
  CHECK(values[0].pattern == "layers.*.cache");
  CHECK(values[0].scheme ==
        Scheme{Scope::internal, Lifetime::session, Update::region, "q8_0:q8_0", false});
  CHECK(values[1].pattern == "a");
  CHECK(values[1].scheme.scope == Scope::any);
  CHECK(values[2].pattern == "layers");
  CHECK(values[2].scheme.lifetime == Lifetime::invocation);
  CHECK(values[2].scheme.update == Update::whole);
  CHECK(values[3].pattern == "*");
  CHECK(parse_index(to_json(plan.layout.index), "x").values == values);
}
