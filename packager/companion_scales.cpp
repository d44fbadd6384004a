#include "companion_scales.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <unordered_map>

#include "tensor_names.h"

namespace synps {
namespace {

using Kind = CheckpointFault::Kind;

constexpr std::string_view kWeight = "weight";

/// The weight that a tensor is named after.
struct Named {
  std::string weight;
  bool by_convention = false;  ///< no other tensor would be called so
};

std::optional<Named> weight_named_by(std::string_view path) {
  const NameParts name = name_parts(path);
  if (name.leaf == "weight_scale" || name.leaf == "weight_scale_inv" || name.leaf == "scale_weight")
    return Named{std::string(name.module).append(kWeight), true};
  for (const std::string_view suffix : {"_scale_inv", "_scale"})
    if (name.leaf.size() > suffix.size() && name.leaf.ends_with(suffix))
      return Named{std::string(path.substr(0, path.size() - suffix.size())), false};
  return std::nullopt;
}

class Binder {
 public:
  Binder(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults)
      : tensors_(tensors), faults_(faults), names_(tensors) {
    has_float8_ = std::any_of(tensors.begin(), tensors.end(), [](const SourceTensor& tensor) {
      return is_float8(tensor.weight.dtype) && tensor.packed_as.empty();
    });
  }

  void run() {
    for (std::size_t i = 0; i < tensors_.size(); ++i)
      if (tensors_[i].packed_as.empty()) look_at(i);
  }

 private:
  void look_at(std::size_t scale) {
    const std::optional<Named> named = weight_named_by(tensors_[scale].weight.path);
    if (!named) return;
    const std::optional<std::size_t> weight = names_.find(named->weight);
    if (weight && is_float8(tensors_[*weight].weight.dtype))
      bind(scale, *weight);
    else if (named->by_convention && dtype_is_float(tensors_[scale].weight.dtype))
      refuse(scale, weight);
  }

  void bind(std::size_t scale, std::size_t weight) {
    const Weight& of = tensors_[weight].weight;
    const Weight& companion = tensors_[scale].weight;
    if (!tensors_[weight].packed_as.empty()) return;
    if (!is_scale_dtype(companion.dtype)) return add(Kind::scale_dtype, {scale, weight});
    const std::optional<ScaleForm> form = scale_form(of.shape, companion.shape);
    if (!form) return add(Kind::scale_shape, {scale, weight});
    const auto [first, is_first] = first_scales_.try_emplace(weight, scale);
    if (!is_first) return contest(scale, weight, first->second);
    tensors_[weight].scale = CompanionScale{scale, *form};
    tensors_[scale].scale_of = weight;
  }

  /// Nothing tells which of two scales is the weight's, so that it has neither.
  void contest(std::size_t scale, std::size_t weight, std::size_t first) {
    tensors_[weight].scale.reset();
    tensors_[first].scale_of.reset();
    add(Kind::second_scale, {scale, weight, first});
  }

  /// In a checkpoint without 8-bit floats, a tensor that is called so may be anything, unless it
  /// stands beside the weight that it would be the scale of.
  void refuse(std::size_t scale, std::optional<std::size_t> weight) {
    if (weight)
      add(Kind::scale_of_other_dtype, {scale, *weight});
    else if (has_float8_)
      add(Kind::scale_without_weight, {scale});
  }

  void add(Kind kind, std::vector<std::size_t> tensors) {
    faults_.push_back({kind, {}, std::move(tensors)});
  }

  std::vector<SourceTensor>& tensors_;
  std::vector<CheckpointFault>& faults_;
  TensorNames names_;
  std::unordered_map<std::size_t, std::size_t> first_scales_;  ///< of weights, by weight
  bool has_float8_ = false;
};

}  // namespace

bool is_scale_dtype(DType dtype) noexcept {
  return dtype == DType::f32 || dtype == DType::bf16 || dtype == DType::f16;
}

bool is_float8(DType dtype) noexcept {
  return dtype == DType::f8_e4m3 || dtype == DType::f8_e5m2 || dtype == DType::f8_e4m3fnuz ||
         dtype == DType::f8_e5m2fnuz;
}

bool is_activation_scale(std::string_view path) noexcept {
  constexpr std::array<std::string_view, 9> kLeaves{"input_scale",  "scale_input", "output_scale",
                                                    "scale_output", "k_scale",     "v_scale",
                                                    "q_scale",      "prob_scale",  "scaled_fp8"};
  const std::string_view leaf = name_parts(path).leaf;
  return std::find(kLeaves.begin(), kLeaves.end(), leaf) != kLeaves.end();
}

void bind_scales(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults) {
  Binder(tensors, faults).run();
}

}  // namespace synps
