#include "kernels/simd_kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/tq2_0_kernels_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "kernels/choose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

void run_tq2_0(KernelOp op, Order order, const KernelCall& call) {
  run_packed<Tq2Rows>(op, order, call);
}

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::kernels {

HWY_EXPORT(run_tq2_0);

void run_tq2_0(KernelOp op, Order order, const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(run_tq2_0)(op, order, call);
}

}  // namespace synps::kernels
#endif  // HWY_ONCE
