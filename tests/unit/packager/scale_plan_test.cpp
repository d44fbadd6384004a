#include <doctest/doctest.h>

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

#include "pack_fixture.h"
#include "scale_values.h"
#include "synps/memory.h"
#include "synps/unpack.h"
#include "synps/verify.h"

namespace synps::testing {
namespace {

SafetensorsBuilder model() {
  SafetensorsBuilder builder;
  for (const char* name : {"a", "b"}) {
    builder.add(fmt::format("{}.weight", name), DType::f8_e4m3, {256, 128},
                std::string(256 * 128, '\x39'));
    builder.add(fmt::format("{}.weight_scale_inv", name), DType::f32, {2, 1},
                bytes_of(std::vector<float>{0.5f, 0.25f}));
  }
  builder.add("c.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  add_floats(builder, "a.input_scale", DType::f32, {}, 3);
  return builder;
}

const std::string kFormats = "[myelin]\nformats = [\"f8_e4m3\", \"bf16\"]\n";

std::string scheme(const std::string& pattern, const std::string& format) {
  return fmt::format("[[policies.\"{}\".schemes]]\nformat = \"{}\"\n", pattern, format);
}

VerifyOptions against(const Checkpoint& checkpoint) {
  VerifyOptions options;
  options.against = &checkpoint;
  return options;
}

std::vector<std::string> paths(const Plan& plan) {
  std::vector<std::string> out;
  for (const PlannedWeight& planned : plan.weights) out.push_back(plan.stored(planned).weight.path);
  return out;
}

}  // namespace

TEST_CASE("a scale goes with its weight: into it when that is decoded, beside it when it is kept") {
  const PackFixture fixture(model());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan =
      make_plan(checkpoint, policy_of(kFormats + scheme("*", "f16") + scheme("b.weight", "keep")));
  CHECK(paths(plan) == std::vector<std::string>{"a.input_scale", "a.weight", "b.weight",
                                                "b.weight_scale_inv", "c.weight"});
  const StoredWeight& a = plan.stored(plan.weights[1]);
  CHECK(a.scale == StoredScale{"a.weight_scale_inv", ScaleForm::block, true});
  CHECK_FALSE(a.lossless);  // f16 holds E4M3, and not products with f32
  CHECK(plan.weights[1].source_bytes == 256 * 128 + 8);
  CHECK(a.weight.dtype == DType::f8_e4m3);
  const StoredWeight& b = plan.stored(plan.weights[2]);
  CHECK(b.scale == StoredScale{"b.weight_scale_inv", ScaleForm::block, false});
  CHECK(b.lossless);
  CHECK(plan.weights[2].copied);
  const StoredWeight& scale = plan.stored(plan.weights[3]);
  CHECK(plan.weights[3].copied);
  CHECK_FALSE(scale.scheme);
  CHECK_FALSE(scale.scale);
  const StoredWeight& c = plan.stored(plan.weights[4]);
  CHECK_FALSE(c.scale);
  CHECK(c.lossless);
  CHECK(plan.source_bytes == checkpoint.data_bytes());
}

TEST_CASE("the artifact says which scales are in it, and reads back the same") {
  const PackFixture fixture(model());
  const Policy policy = policy_of(kFormats + scheme("*", "q8_0") + scheme("b.weight", "keep") +
                                  scheme("a.input_scale", "keep"));
  std::vector<std::uint64_t> progress;
  PackOptions options;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    progress = {done, total};
    return true;
  };
  fixture.pack(policy, options);
  CHECK(progress[0] == progress[1]);
  const ArtifactReader artifact(fixture.output);
  const auto& weights = artifact.index().weights;
  REQUIRE(weights.size() == 5);
  CHECK(weights[1].scale == StoredScale{"a.weight_scale_inv", ScaleForm::block, true});
  CHECK(weights[2].scale == StoredScale{"b.weight_scale_inv", ScaleForm::block, false});
  CHECK(weights[3].weight.path == "b.weight_scale_inv");

  const Checkpoint checkpoint = fixture.open();
  const VerifyReport report = verify(fixture.output, builtin_registry(), against(checkpoint));
  for (const Problem& problem : report.problems) MESSAGE(to_string(problem));
  CHECK(report.ok());
  CHECK(report.weights.size() == 5);
}

TEST_CASE("verify knows another scale, and a scale that is missing") {
  const PackFixture fixture(model());
  fixture.pack(policy_of(kFormats + scheme("*", "f32")));
  SafetensorsBuilder builder;
  builder.add("a.weight", DType::f8_e4m3, {256, 128}, std::string(256 * 128, '\x39'));
  builder.add("a.weight_scale", DType::f32, {}, bytes_of(std::vector<float>{0.5f}));
  builder.add("b.weight", DType::f8_e4m3, {256, 128}, std::string(256 * 128, '\x39'));
  builder.add("c.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  add_floats(builder, "a.input_scale", DType::f32, {}, 3);
  const PackFixture other(builder);
  const Checkpoint checkpoint = other.open();
  const VerifyReport report = verify(fixture.output, builtin_registry(), against(checkpoint));
  REQUIRE(report.problems.size() == 2);
  CHECK(report.problems[0].field == "a.weight");
  CHECK(report.problems[0].what == "the scale is not the checkpoint's");
  CHECK(report.problems[0].want.find("'a.weight_scale', per tensor") != std::string::npos);
  CHECK(report.problems[1].field == "b.weight");
  CHECK(report.problems[1].want == "none");
}

TEST_CASE("kept weights and their scales unpack as they were") {
  const PackFixture fixture(model());
  fixture.pack(policy_of(scheme("*", "keep")));
  const std::string unpacked = fixture.dir.file("plain.safetensors");
  unpack(fixture.output, unpacked, builtin_registry());
  const Checkpoint plain = Checkpoint::open(unpacked);
  const Checkpoint source = fixture.open();
  REQUIRE(plain.tensors().size() == source.tensors().size());
  for (std::size_t i = 0; i < plain.tensors().size(); ++i) {
    CHECK(plain.tensors()[i].weight == source.tensors()[i].weight);
    std::vector<std::byte> a(plain.tensors()[i].bytes);
    std::vector<std::byte> b(a.size());
    plain.read(plain.tensors()[i], 0, a);
    source.read(source.tensors()[i], 0, b);
    CHECK(a == b);
  }
}

TEST_CASE("a policy that names only a scale is told which weight to name") {
  const PackFixture fixture(model());
  const Checkpoint checkpoint = fixture.open();
  for (const char* format : {"f32", "keep"}) {
    CAPTURE(format);
    const auto problems = problems_of([&] {
      make_plan(checkpoint,
                policy_of(kFormats + scheme("*", "f16") + scheme("*.weight_scale_inv", format)));
    });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::policy);
    CHECK(problems[0].line == 5);
    CHECK(problems[0].what == "the pattern matches only scales, which go with their weights");
    CHECK(problems[0].found == "'a.weight_scale_inv', the scale of 'a.weight'");
    CHECK(problems[0].hint.find("[[policies.\"a.weight\".schemes]]") != std::string::npos);
  }
  // Everything is kept, the scales' weights too.
  CHECK(problems_of([&] {
          make_plan(checkpoint,
                    policy_of(scheme("*", "keep") + scheme("*.weight_scale_inv", "keep")));
        }).empty());
  // A module's policy covers both, and speaks of the weight.
  CHECK(problems_of([&] {
          make_plan(checkpoint, policy_of(kFormats + scheme("*", "f16") + scheme("a", "f32")));
        }).empty());
}

TEST_CASE("scales that fit nothing stop the plan, unless all of them are kept") {
  SafetensorsBuilder builder = model();
  builder.add("d.weight", DType::f8_e4m3, {256, 128}, std::string(256 * 128, '\x39'));
  builder.add("d.weight_scale", DType::f32, {3}, bytes_of(std::vector<float>{1, 2, 3}));
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const auto problems =
      problems_of([&] { make_plan(checkpoint, policy_of(kFormats + scheme("*", "f16"))); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::checkpoint);
  CHECK(problems[0].what.find("'d.weight_scale'") != std::string::npos);
  CHECK(problems[0].found.find("F32 [3]") != std::string::npos);
  CHECK(problems[0].found.find("F8_E4M3 [256, 128]") != std::string::npos);
  // The weight alone is not enough.
  CHECK_FALSE(problems_of([&] {
                make_plan(checkpoint,
                          policy_of(kFormats + scheme("*", "f16") + scheme("d.weight", "keep")));
              }).empty());
  const Plan plan =
      make_plan(checkpoint, policy_of(kFormats + scheme("*", "f16") + scheme("d", "keep")));
  CHECK(plan.weights.size() == 6);
}

TEST_CASE("the checkpoint's faults and the policy's problems are told together") {
  SafetensorsBuilder builder = model();
  builder.add("d.weight_scale", DType::f32, {3}, bytes_of(std::vector<float>{1, 2, 3}));
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const auto problems =
      problems_of([&] { make_plan(checkpoint, policy_of(kFormats + scheme("*", "q8_0"))); });
  REQUIRE(problems.size() >= 2);
  CHECK(problems.front().code == ErrorCode::checkpoint);
  CHECK(problems.front().what.find("'d.weight_scale'") != std::string::npos);
  CHECK(problems.back().code == ErrorCode::policy);
}

TEST_CASE("a scale that fits nothing is warned of where only the root keeps it") {
  const auto warnings = [](const SafetensorsBuilder& builder, const std::string& policy) {
    const PackFixture fixture(builder);
    const Checkpoint checkpoint = fixture.open();
    std::string text;
    for (const Problem& problem : make_plan(checkpoint, policy_of(policy)).warnings)
      text += to_string(problem) + "\n";
    return text;
  };
  SafetensorsBuilder plain;
  plain.add("a.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  add_floats(plain, "a.weight_scale", DType::f32, {}, 3);
  const struct {
    const char* weight;
    const char* scale;
    DType dtype;
    std::vector<std::uint64_t> shape;
    const char* says;
  } cases[] = {
      {"c.weight", "d.weight_scale", DType::f32, {}, "a scale without the weight"},
      {"d.weight", "d.weight_scale", DType::f32, {3}, "shape does not fit"},
      {"d.weight", "d.weight_scale", DType::f64, {}, "a dtype that no scale has"},
      {"a.weight", "a.scale_weight", DType::f32, {}, "a second scale"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.says);
    SafetensorsBuilder builder = plain;
    if (std::string(each.weight) != "a.weight") {
      builder.add(each.weight, DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
      if (std::string(each.weight) == "c.weight")
        add_floats(builder, "c.weight_scale", DType::f32, {}, 3);
    }
    const std::uint64_t bytes = Shape(each.shape).bytes(each.dtype).value();
    builder.add(each.scale, each.dtype, each.shape,
                std::string(static_cast<std::size_t>(bytes), '\0'));
    const std::string said = warnings(builder, scheme("*", "keep"));
    CHECK(said.find(each.says) != std::string::npos);
    CHECK(said.find("only because the root keeps everything") != std::string::npos);
    CHECK(std::count(said.begin(), said.end(), '\n') == 1);
    // Whoever names it means it.
    CHECK(warnings(builder, scheme("*", "keep") + scheme(each.scale, "keep") +
                                scheme("a.weight_scale", "keep"))
              .empty());
  }
  CHECK(warnings(plain, scheme("*", "keep")).empty());
}

TEST_CASE("8-bit floats without a scale are warned of where others have one") {
  const auto warnings = [](const SafetensorsBuilder& builder, const std::string& policy) {
    const PackFixture fixture(builder);
    const Checkpoint checkpoint = fixture.open();
    return make_plan(checkpoint, policy_of(kFormats + policy)).warnings;
  };
  const auto said = warnings(model(), scheme("*", "f16"));
  REQUIRE(said.size() == 1);
  CHECK(said[0].what.find("without a scale, in a checkpoint that has scales: 'c.weight'") !=
        std::string::npos);
  CHECK(said[0].found == "a scale for 2 others");
  CHECK(said[0].hint.find("[[policies.\"c.weight\".schemes]]") != std::string::npos);
  CHECK(warnings(model(), scheme("*", "keep")).empty());
  CHECK(warnings(model(), scheme("*", "f16") + scheme("c.weight", "keep")).empty());
  SafetensorsBuilder builder = model();
  builder.add("d.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  CHECK(warnings(builder, scheme("*", "f16")).at(0).what.find("2 weights, such as 'c.weight'") !=
        std::string::npos);
  // Where none has a scale, none is missing.
  SafetensorsBuilder cast;
  cast.add("c.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  cast.add("d.weight", DType::f8_e4m3, {4, 32}, std::string(4 * 32, '\x41'));
  CHECK(warnings(cast, scheme("*", "f16")).empty());
}

TEST_CASE("packing takes the memory that the plan says, also for long scales") {
  SafetensorsBuilder builder;
  const std::uint64_t rows = 1'000'000;
  builder.add("a.weight", DType::f8_e4m3, {rows, 1}, std::string(rows, '\x38'));
  add_scale(builder, "a.weight_scale", DType::f32, {rows, 1});
  SafetensorsBuilder plain;
  plain.add("a.weight", DType::f8_e4m3, {rows, 1}, std::string(rows, '\x38'));
  const auto worker_bytes = [](const SafetensorsBuilder& each) {
    const PackFixture fixture(each);
    const Checkpoint checkpoint = fixture.open();
    const Plan plan = make_plan(checkpoint, policy_of(kFormats + scheme("*", "f16")));
    return pack_memory(checkpoint, plan).worker_bytes;
  };
  const std::uint64_t with = worker_bytes(builder);
  const std::uint64_t without = worker_bytes(plain);
  CHECK(with > without);
  CHECK(with - without <= 2u << 20);  // of a piece, not of all four megabytes
}

}  // namespace synps::testing
