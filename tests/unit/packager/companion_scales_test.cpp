#include <doctest/doctest.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "companion_scales.h"
#include "pack_fixture.h"

namespace synps::testing {
namespace {

using Extents = std::vector<std::uint64_t>;
using Kind = CheckpointFault::Kind;

void add_zeros(SafetensorsBuilder& builder, std::string_view name, DType dtype,
               const Extents& shape) {
  builder.add(name, dtype, shape,
              std::string(static_cast<std::size_t>(Shape(shape).bytes(dtype).value()), '\0'));
}

Checkpoint opened(const SafetensorsBuilder& builder) {
  return PackFixture(builder).open();
}

/// A checkpoint with one weight and one scale.
Checkpoint pair(std::string_view weight, DType weight_dtype, const Extents& weight_shape,
                std::string_view scale, DType scale_dtype, const Extents& scale_shape) {
  SafetensorsBuilder builder;
  add_zeros(builder, weight, weight_dtype, weight_shape);
  add_zeros(builder, scale, scale_dtype, scale_shape);
  return opened(builder);
}

const SourceTensor& tensor(const Checkpoint& checkpoint, std::string_view path) {
  for (const SourceTensor& each : checkpoint.tensors())
    if (each.weight.path == path) return each;
  FAIL("no tensor " << path);
  return checkpoint.tensors().front();
}

}  // namespace

TEST_CASE("shapes of scales") {
  const struct {
    Extents weight;
    Extents scale;
    std::optional<ScaleForm> form;
  } cases[] = {
      {{300, 200}, {}, ScaleForm::tensor},
      {{300, 200}, {1}, ScaleForm::tensor},
      {{300, 200}, {1, 1}, ScaleForm::tensor},
      {{300, 200}, {300}, ScaleForm::row},
      {{300, 200}, {300, 1}, ScaleForm::row},
      {{300, 200}, {3, 2}, ScaleForm::block},
      {{256, 128}, {2, 1}, ScaleForm::block},
      {{257, 129}, {3, 2}, ScaleForm::block},
      {{1, 200}, {1, 2}, ScaleForm::block},
      {{128, 128}, {1, 1}, ScaleForm::tensor},  // one block: one number, whatever it is called
      {{1, 64}, {1}, ScaleForm::tensor},        // one row
      {{2, 64}, {2}, ScaleForm::row},
      {{200, 200}, {200}, ScaleForm::row},  // never by column
      {{300, 200}, {200}, std::nullopt},
      {{300, 200}, {1, 200}, std::nullopt},
      {{300, 200}, {2, 3}, std::nullopt},
      {{300, 200}, {3, 3}, std::nullopt},
      {{300, 200}, {6}, std::nullopt},
      {{300, 200}, {300, 2}, std::nullopt},
      {{300, 200}, {3, 2, 1}, std::nullopt},
      {{300, 200}, {0}, std::nullopt},
      {{64}, {}, ScaleForm::tensor},
      {{64}, {64}, std::nullopt},
      {{}, {}, ScaleForm::tensor},
      {{}, {1}, ScaleForm::tensor},
      {{4, 300, 200}, {4, 300}, ScaleForm::row},
      {{4, 300, 200}, {4, 300, 1}, ScaleForm::row},
      {{4, 300, 200}, {4, 3, 2}, ScaleForm::block},
      {{4, 300, 200}, {4}, std::nullopt},
      {{4, 300, 200}, {4, 1, 1}, std::nullopt},
      {{4, 300, 200}, {3, 2}, std::nullopt},
  };
  for (const auto& each : cases) {
    CAPTURE(Shape(each.weight).to_string());
    CAPTURE(Shape(each.scale).to_string());
    CHECK(scale_form(Shape(each.weight), Shape(each.scale)) == each.form);
  }
}

TEST_CASE("every name, form and dtype binds") {
  const struct {
    std::string weight;
    std::string scale;
  } names[] = {{"a.weight", "a.weight_scale"},
               {"a.weight", "a.weight_scale_inv"},
               {"a.weight", "a.scale_weight"},
               {"weight", "weight_scale"},
               {"weight", "scale_weight"},
               {"a.b.weight", "a.b.weight_scale_inv"},
               {"e.gate_up_proj", "e.gate_up_proj_scale"},
               {"e.gate_up_proj", "e.gate_up_proj_scale_inv"}};
  const std::pair<Extents, ScaleForm> forms[] = {
      {{}, ScaleForm::tensor}, {{1}, ScaleForm::tensor},   {{1, 1}, ScaleForm::tensor},
      {{130}, ScaleForm::row}, {{130, 1}, ScaleForm::row}, {{2, 3}, ScaleForm::block}};
  for (const auto& name : names)
    for (const auto& lies : forms)
      for (const DType dtype : {DType::f32, DType::bf16, DType::f16})
        for (const DType weight_dtype :
             {DType::f8_e4m3, DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
          CAPTURE(name.scale);
          CAPTURE(Shape(lies.first).to_string());
          const Checkpoint checkpoint =
              pair(name.weight, weight_dtype, {130, 300}, name.scale, dtype, lies.first);
          CHECK(checkpoint.faults().empty());
          const SourceTensor& weight = tensor(checkpoint, name.weight);
          REQUIRE(weight.scale);
          CHECK(weight.scale->form == lies.second);
          const SourceTensor& scale = checkpoint.tensors()[weight.scale->tensor];
          CHECK(scale.weight.path == name.scale);
          REQUIRE(scale.scale_of);
          CHECK(&checkpoint.tensors()[*scale.scale_of] == &weight);
        }
}

TEST_CASE("what fits nothing is a fault") {
  const struct {
    std::string weight;
    DType weight_dtype;
    std::string scale;
    DType scale_dtype;
    Extents shape;
    Kind kind;
    std::string says;
    std::string wants;
  } cases[] = {
      {"b.weight",
       DType::f8_e4m3,
       "a.weight_scale",
       DType::f32,
       {},
       Kind::scale_without_weight,
       "without the weight",
       "its weight beside it"},
      {"b.weight",
       DType::f8_e4m3,
       "a.scale_weight",
       DType::f32,
       {},
       Kind::scale_without_weight,
       "without the weight",
       "its weight beside it"},
      {"a.weight",
       DType::bf16,
       "a.weight_scale",
       DType::f32,
       {},
       Kind::scale_of_other_dtype,
       "no 8-bit float",
       "F8_E4M3"},
      {"a.weight",
       DType::f32,
       "a.weight_scale_inv",
       DType::f32,
       {2, 3},
       Kind::scale_of_other_dtype,
       "no 8-bit float",
       "F8_E4M3"},
      {"a.weight",
       DType::f8_e4m3,
       "a.weight_scale",
       DType::f64,
       {},
       Kind::scale_dtype,
       "a dtype that no scale has",
       "F32, BF16 or F16"},
      {"a.weight",
       DType::f8_e4m3,
       "a.weight_scale",
       DType::f8_e8m0,
       {2, 3},
       Kind::scale_dtype,
       "a dtype that no scale has",
       "F32, BF16 or F16"},
      {"a.weight",
       DType::f8_e4m3,
       "a.weight_scale",
       DType::i64,
       {},
       Kind::scale_dtype,
       "a dtype that no scale has",
       "F32, BF16 or F16"},
      {"a.weight",
       DType::f8_e4m3,
       "a.weight_scale",
       DType::f32,
       {300},
       Kind::scale_shape,
       "shape does not fit",
       "[] for the whole, [130, 1] for rows, or [2, 3] for blocks of 128x128"},
      {"a.weight",
       DType::f8_e5m2,
       "a.scale_weight",
       DType::bf16,
       {3, 2},
       Kind::scale_shape,
       "shape does not fit",
       "[130, 1] for rows"},
      {"e.proj",
       DType::f8_e4m3,
       "e.proj_scale",
       DType::f32,
       {5},
       Kind::scale_shape,
       "shape does not fit",
       "[130, 1] for rows"},
  };
  for (const auto& each : cases) {
    CAPTURE(each.scale);
    const Checkpoint checkpoint =
        pair(each.weight, each.weight_dtype, {130, 300}, each.scale, each.scale_dtype, each.shape);
    REQUIRE(checkpoint.faults().size() == 1);
    const CheckpointFault& fault = checkpoint.faults().front();
    CHECK(fault.kind == each.kind);
    CHECK(checkpoint.tensors()[fault.tensors.front()].weight.path == each.scale);
    CHECK_FALSE(tensor(checkpoint, each.weight).scale);
    const Problem problem = fault_problems(checkpoint, {&fault}).at(0);
    const std::string text = to_string(problem);
    CAPTURE(text);
    CHECK(problem.code == ErrorCode::checkpoint);
    CHECK(problem.what.find(each.says) != std::string::npos);
    CHECK(problem.want.find(each.wants) != std::string::npos);
    // Both shapes, where there are two.
    CHECK(problem.found.find(Shape(each.shape).to_string()) != std::string::npos);
    if (each.kind != Kind::scale_without_weight)
      CHECK(problem.found.find("[130, 300]") != std::string::npos);
    CHECK(problem.hint.find("keep") != std::string::npos);
  }
}

TEST_CASE("a weight has one scale: of several, none is bound, and the hint names all") {
  SafetensorsBuilder builder;
  add_zeros(builder, "a.weight", DType::f8_e4m3, {130, 300});
  add_zeros(builder, "a.scale_weight", DType::f32, {});
  add_zeros(builder, "a.weight_scale", DType::f32, {130});
  const Checkpoint checkpoint = opened(builder);
  REQUIRE(checkpoint.faults().size() == 1);
  CHECK(checkpoint.faults()[0].kind == Kind::second_scale);
  CHECK(checkpoint.faults()[0].tensors.size() == 3);
  CHECK_FALSE(tensor(checkpoint, "a.weight").scale);
  for (const char* scale : {"a.scale_weight", "a.weight_scale"})
    CHECK_FALSE(tensor(checkpoint, scale).scale_of);
  const std::string hint = fault_problems(checkpoint, {&checkpoint.faults()[0]}).at(0).hint;
  for (const char* path : {"a.weight_scale\"", "'a.weight'", "'a.scale_weight'"}) {
    CAPTURE(path);
    CHECK(hint.find(path) != std::string::npos);
  }

  add_zeros(builder, "a.weight_scale_inv", DType::f32, {2, 3});
  const Checkpoint three = opened(builder);
  CHECK(three.faults().size() == 2);
  for (const SourceTensor& each : three.tensors()) {
    CHECK_FALSE(each.scale);
    CHECK_FALSE(each.scale_of);
  }
}

TEST_CASE("scales of activations, markers and other models' names are no companions") {
  SafetensorsBuilder builder;
  add_zeros(builder, "a.weight", DType::f8_e4m3, {4, 4});
  for (const char* name : {"a.input_scale", "a.scale_input", "a.k_scale", "a.v_scale",
                           "a.output_scale", "logit_scale", "a.scale"}) {
    add_zeros(builder, name, DType::f32, {});
    CHECK(is_activation_scale(name) ==
          (std::string(name) != "logit_scale" && std::string(name) != "a.scale"));
  }
  add_zeros(builder, "scaled_fp8", DType::f8_e4m3, {2});
  CHECK(is_activation_scale("scaled_fp8"));
  CHECK(is_activation_scale("model.diffusion_model.scaled_fp8"));
  const Checkpoint checkpoint = opened(builder);
  CHECK(checkpoint.faults().empty());
  for (const SourceTensor& each : checkpoint.tensors()) {
    CHECK_FALSE(each.scale);
    CHECK_FALSE(each.scale_of);
  }
  // A learned parameter of a model that has no 8-bit floats.
  const Checkpoint other = pair("b.weight", DType::f32, {4, 4}, "a.scale_weight", DType::f32, {2});
  CHECK(other.faults().empty());
}

TEST_CASE("many of the same fault are one problem") {
  SafetensorsBuilder builder;
  for (int i = 0; i < 30; ++i) {
    add_zeros(builder, fmt::format("m.{}.weight", i), DType::f8_e4m3, {4, 4});
    add_zeros(builder, fmt::format("m.{}.weight_scale", i), DType::f32, {3});
  }
  const Checkpoint checkpoint = opened(builder);
  REQUIRE(checkpoint.faults().size() == 30);
  std::vector<const CheckpointFault*> faults;
  for (const CheckpointFault& fault : checkpoint.faults()) faults.push_back(&fault);
  const std::vector<Problem> problems = fault_problems(checkpoint, faults);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what.find("30 scales, such as") != std::string::npos);
}

}  // namespace synps::testing
