#include "product_kernels.h"

#include <algorithm>
#include <string>

#include "synps/builtin_kernels.h"

namespace synps {
namespace {

constexpr const char* kF32 = "f32:f32";

WeightKernels find_kernels(const KernelRegistry& kernels, const std::string& codec, Order order) {
  return {kernels.find_runnable(KernelOp::matvec, codec, order),
          kernels.find_runnable(KernelOp::matmul, codec, order),
          kernels.find_runnable(KernelOp::matvec_q8, codec, order)};
}

/// What kernels are found by. `codec` is null for f32, and where there are none.
struct Form {
  const Codec* codec = nullptr;
  bool f32 = false;
  Order order = Order::rows1;

  bool operator==(const Form&) const = default;
};

}  // namespace

ProductKernels::ProductKernels(const KernelRegistry& kernels,
                               const std::vector<PlannedLoad>& weights,
                               const std::vector<const Codec*>& codecs)
    : f32_matmul_(kernels.find_runnable(KernelOp::matmul, kF32, Order::rows1)) {
  if (f32_matmul_ == nullptr)
    f32_matmul_ =
        builtin_kernels().find({KernelOp::matmul, kF32, Order::rows1, Target::cpu_portable});
  std::vector<Form> forms;
  set_of_.reserve(weights.size());
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const FormDecision& decision = weights[i].decision;
    const Form form{decision.dequantizes ? nullptr : codecs[i], decision.dequantizes,
                    decision.form.order};
    const auto known = std::find(forms.begin(), forms.end(), form);
    set_of_.push_back(static_cast<std::size_t>(known - forms.begin()));
    if (known != forms.end()) continue;
    forms.push_back(form);
    if (form.f32 || form.codec != nullptr)
      sets_.push_back(find_kernels(kernels, form.f32 ? kF32 : form.codec->info().id(), form.order));
    else
      sets_.emplace_back();
  }
}

}  // namespace synps
