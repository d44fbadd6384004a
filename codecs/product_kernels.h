#pragma once

#include <cstddef>
#include <vector>

#include "synps/codec.h"
#include "synps/kernel.h"
#include "synps/memory_plan.h"

namespace synps {

/// What a weight is multiplied with; null where no kernel that runs here feeds on its form.
struct WeightKernels {
  const Kernel* matvec = nullptr;
  const Kernel* matmul = nullptr;
  const Kernel* matvec_q8 = nullptr;
};

/// The kernels for the weights of a plan, looked up once.
class ProductKernels {
 public:
  /// `codecs`: of the stored bytes, by weight; null where there is none. `kernels` outlive this.
  ProductKernels(const KernelRegistry& kernels, const std::vector<PlannedLoad>& weights,
                 const std::vector<const Codec*>& codecs);

  const WeightKernels& of(std::size_t weight) const noexcept { return sets_[set_of_[weight]]; }
  /// For values that are there as f32: one of the registry, or the portable one.
  const Kernel& f32_matmul() const noexcept { return *f32_matmul_; }

 private:
  std::vector<WeightKernels> sets_;
  std::vector<std::size_t> set_of_;  ///< by weight
  const Kernel* f32_matmul_;
};

}  // namespace synps
