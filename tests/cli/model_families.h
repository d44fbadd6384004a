#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

#include "synps/dtype.h"
#include "synps/policy.h"

namespace synps::cli {

/// Tensors of a model, as its family names and shapes them.
class Family {
 public:
  Family(std::string name, DType dtype) : name_(std::move(name)), dtype_(dtype) {}

  /// `#` in a name stands for the numbers from `first` to `last`, the leftmost one for `layers`,
  /// the next for `experts`.
  Family& layers(std::size_t first, std::size_t last) {
    first_layer_ = first;
    last_layer_ = last;
    return *this;
  }
  Family& experts(std::size_t count) {
    experts_ = count;
    return *this;
  }
  Family& dtype(DType dtype) {
    dtype_ = dtype;
    return *this;
  }
  /// `role` is what tests expect of the tensor.
  Family& add(const std::string& name, std::vector<std::uint64_t> shape, std::string role) {
    const std::size_t layer = name.find('#');
    if (layer == std::string::npos) return add_one(name, shape, role);
    for (std::size_t l = first_layer_; l <= last_layer_; ++l) {
      std::string in_layer = name;
      in_layer.replace(layer, 1, std::to_string(l));
      const std::size_t expert = in_layer.find('#');
      if (expert == std::string::npos) {
        add_one(in_layer, shape, role);
        continue;
      }
      for (std::size_t e = 0; e < experts_; ++e) {
        std::string in_expert = in_layer;
        in_expert.replace(expert, 1, std::to_string(e));
        add_one(in_expert, shape, role);
      }
    }
    return *this;
  }

  const std::string& name() const noexcept { return name_; }
  const std::vector<WeightFacts>& weights() const noexcept { return weights_; }
  const std::vector<std::string>& roles() const noexcept { return roles_; }

 private:
  Family& add_one(const std::string& name, const std::vector<std::uint64_t>& shape,
                  const std::string& role) {
    weights_.push_back({{name, Shape(shape), dtype_}, std::string(encoding_name(dtype_))});
    roles_.push_back(role);
    return *this;
  }

  std::string name_;
  DType dtype_;
  std::size_t first_layer_ = 0;
  std::size_t last_layer_ = 3;
  std::size_t experts_ = 8;
  std::vector<WeightFacts> weights_;
  std::vector<std::string> roles_;
};

/// Models by how their code names tensors. Shapes are those of small members.
std::vector<Family> model_families();

}  // namespace synps::cli
