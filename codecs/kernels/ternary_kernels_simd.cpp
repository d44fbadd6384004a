#include "kernels/simd_kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/ternary_kernels_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "kernels/choose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

void run_ternary(KernelOp op, Order order, const KernelCall& call) {
  run_packed<TernaryRows>(op, order, call);
}

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::kernels {

HWY_EXPORT(run_ternary);

void run_ternary(KernelOp op, Order order, const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(run_ternary)(op, order, call);
}

}  // namespace synps::kernels
#endif  // HWY_ONCE
