#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "pack_fixture.h"

namespace synps::testing {
namespace {

struct Tensor {
  std::string name;
  DType dtype;
  std::vector<std::uint64_t> shape;
};
using Tensors = std::vector<Tensor>;

void add(SafetensorsBuilder& builder, const Tensor& tensor, const std::string& module) {
  builder.add(
      module + tensor.name, tensor.dtype, tensor.shape,
      std::string(static_cast<std::size_t>(Shape(tensor.shape).bytes(tensor.dtype).value()), '\1'));
}

SafetensorsBuilder modules(const Tensors& tensors, int count = 2) {
  SafetensorsBuilder builder;
  for (int i = 0; i < count; ++i)
    for (const Tensor& tensor : tensors) add(builder, tensor, fmt::format("layers.{}.proj.", i));
  add(builder, {"weight", DType::f32, {4}}, "norm.");
  return builder;
}

const struct {
  std::string scheme;
  std::string tool;
  Tensors tensors;
} kSchemes[] = {
    {"GPTQ",
     "GPTQModel",
     {{"qweight", DType::i32, {8, 64}},
      {"qzeros", DType::i32, {2, 8}},
      {"scales", DType::f16, {2, 64}},
      {"g_idx", DType::i32, {64}}}},
    {"GPTQ",
     "GPTQModel",
     {{"qweight", DType::i32, {8, 64}},
      {"qzeros", DType::i32, {2, 8}},
      {"scales", DType::bf16, {2, 64}}}},
    {"GPTQ", "GPTQModel", {{"qweight", DType::i32, {8, 64}}, {"scales", DType::f32, {2, 64}}}},
    {"AWQ",
     "AutoAWQ",
     {{"qweight", DType::i32, {64, 8}},
      {"qzeros", DType::i32, {2, 8}},
      {"scales", DType::f16, {2, 64}}}},
    {"bitsandbytes 4-bit",
     "bitsandbytes",
     {{"weight", DType::u8, {128, 1}},
      {"weight.absmax", DType::f32, {4}},
      {"weight.quant_map", DType::f32, {16}},
      {"weight.quant_state.bitsandbytes__nf4", DType::u8, {80}}}},
    {"bitsandbytes 4-bit",
     "bitsandbytes",
     {{"weight", DType::u8, {128, 1}},
      {"weight.absmax", DType::u8, {4}},
      {"weight.quant_map", DType::f32, {16}},
      {"weight.nested_absmax", DType::f32, {1}},
      {"weight.nested_quant_map", DType::f32, {256}},
      {"weight.quant_state.bitsandbytes__fp4", DType::u8, {80}}}},
    {"bitsandbytes int8",
     "bitsandbytes",
     {{"weight", DType::i8, {16, 16}},
      {"SCB", DType::f32, {16}},
      {"weight_format", DType::u8, {}}}},
    {"compressed-tensors packed integers",
     "compressed-tensors",
     {{"weight_packed", DType::i32, {16, 8}},
      {"weight_scale", DType::bf16, {16, 1}},
      {"weight_shape", DType::i64, {2}},
      {"weight_zero_point", DType::i32, {2, 1}},
      {"weight_g_idx", DType::i32, {64}}}},
    {"compressed-tensors int8",
     "compressed-tensors",
     {{"weight", DType::i8, {16, 16}}, {"weight_scale", DType::bf16, {16, 1}}}},
    {"compressed-tensors with zero points",
     "compressed-tensors",
     {{"weight", DType::f8_e4m3, {16, 16}},
      {"weight_scale", DType::f32, {}},
      {"weight_zero_point", DType::f8_e4m3, {}}}},
    {"NVFP4",
     "compressed-tensors",
     {{"weight_packed", DType::u8, {16, 8}},
      {"weight_scale", DType::f8_e4m3, {16, 1}},
      {"weight_global_scale", DType::f32, {1}}}},
    {"NVFP4",
     "Model Optimizer",
     {{"weight", DType::u8, {16, 8}},
      {"weight_scale", DType::f8_e4m3, {16, 1}},
      {"weight_scale_2", DType::f32, {}}}},
    {"MXFP4",
     "Mxfp4Config",
     {{"gate_up_proj_blocks", DType::u8, {2, 4, 2, 16}},
      {"gate_up_proj_scales", DType::u8, {2, 4, 2}}}},
    {"bytes with a scale",
     "the tool that made it",
     {{"weight", DType::u8, {4, 16}}, {"weight_scale", DType::bf16, {1}}}},
};

std::string keep_all() {
  return "[[policies.\"*\".schemes]]\nformat = \"keep\"\n";
}

const char* const kConvert =
    "[myelin]\nformats = [\"f16\", \"bf16\", \"f8_e4m3\"]\n"
    "[[policies.\"*\".schemes]]\nformat = \"f32\"\n";

}  // namespace

TEST_CASE("schemes are known by names and dtypes together, and refused in a sentence") {
  for (const auto& each : kSchemes) {
    CAPTURE(each.scheme);
    const PackFixture fixture(modules(each.tensors));
    const Checkpoint checkpoint = fixture.open();
    REQUIRE(checkpoint.faults().size() == 2);
    for (const CheckpointFault& fault : checkpoint.faults()) {
      CHECK(fault.kind == CheckpointFault::Kind::packed);
      CHECK(fault.scheme == each.scheme);
      CHECK(fault.tensors.size() == each.tensors.size());
    }
    for (const SourceTensor& tensor : checkpoint.tensors())
      CHECK(tensor.packed_as == (tensor.weight.path == "norm.weight" ? "" : each.scheme));
    const auto problems = problems_of([&] { make_plan(checkpoint, policy_of(kConvert)); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::checkpoint);
    CHECK(problems[0].what == fmt::format("weights packed as {}, which nothing here decodes: 2 "
                                          "modules, such as 'layers.0.proj'",
                                          each.scheme));
    CHECK(problems[0].hint.find(each.tool) != std::string::npos);
    CHECK(problems[0].hint.find("[[policies.\"layers.0.proj\".schemes]] with format = \"keep\"") !=
          std::string::npos);
  }
}

TEST_CASE("told to keep them, a policy keeps them: all of a module, in so many words") {
  for (const auto& each : kSchemes) {
    CAPTURE(each.scheme);
    const PackFixture fixture(modules(each.tensors));
    const Checkpoint checkpoint = fixture.open();
    const Plan plan = make_plan(checkpoint, policy_of(keep_all()));
    CHECK(plan.weights.size() == checkpoint.tensors().size());
    for (const PlannedWeight& planned : plan.weights) {
      CHECK(planned.copied);
      CHECK_FALSE(planned.scale);
    }
    // A module by its name, the rest converted.
    const std::string apart =
        std::string(kConvert) + "[[policies.\"layers.*.proj\".schemes]]\nformat = \"keep\"\n";
    CHECK(make_plan(checkpoint, policy_of(apart)).weights.size() == plan.weights.size());
    // One of the modules only.
    const std::string half =
        std::string(kConvert) + "[[policies.\"layers.1.proj\".schemes]]\nformat = \"keep\"\n";
    const auto problems = problems_of([&] { make_plan(checkpoint, policy_of(half)); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what.find("decodes: 'layers.0.proj'") != std::string::npos);
    // All floats kept, and not a word on the integers of the module.
    if (each.scheme != "GPTQ") continue;
    const std::string floats = std::string(kConvert) +
                               "[[policies.\"layers.*.proj.scales\".schemes]]\nformat = \"keep\"\n";
    CHECK(problems_of([&] { make_plan(checkpoint, policy_of(floats)); }).size() == 1);
  }
}

TEST_CASE("names alone, and dtypes alone, are no scheme") {
  const Tensors cases[] = {
      {{"scales", DType::f32, {4}}},
      {{"scales", DType::f32, {4}}, {"qzeros", DType::i32, {2, 8}}},
      {{"qweight", DType::f32, {8, 64}},
       {"qzeros", DType::i32, {2, 8}},
       {"scales", DType::f16, {2, 64}}},
      {{"qweight", DType::i32, {8, 64}}, {"qzeros", DType::i32, {2, 8}}},
      {{"qweight", DType::i32, {8, 64}},
       {"qzeros", DType::i32, {2, 8}},
       {"scales", DType::i32, {2, 64}}},
      {{"weight", DType::i8, {16, 16}}},
      {{"weight", DType::u8, {16, 16}}},
      {{"weight", DType::u8, {128, 1}}, {"weight.absmax", DType::f32, {4}}},
      {{"weight", DType::f32, {4, 4}}, {"SCB", DType::f32, {4}}},
      {{"weight_packed", DType::f32, {4, 4}}},
      {{"weight_packed", DType::i32, {4, 4}}},
      {{"res_blocks", DType::u8, {4}}},
      {{"res_blocks", DType::f32, {4}}, {"res_scales", DType::f32, {4}}},
  };
  for (const Tensors& tensors : cases) {
    CAPTURE(tensors.front().name);
    const PackFixture fixture(modules(tensors));
    CHECK(fixture.open().faults().empty());
  }
  // The parts of a scheme in two modules.
  SafetensorsBuilder builder;
  add(builder, {"qweight", DType::i32, {8, 64}}, "a.");
  add(builder, {"qzeros", DType::i32, {2, 8}}, "b.");
  add(builder, {"scales", DType::f16, {2, 64}}, "b.");
  CHECK(PackFixture(builder).open().faults().empty());
}

}  // namespace synps::testing
