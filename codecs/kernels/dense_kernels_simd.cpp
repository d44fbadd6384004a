#include "kernels/simd_kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/dense_kernels_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "kernels/choose-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

int simd_target_here() {
#if SYNPS_X86
  return static_cast<int>(Target::cpu_avx2);
#elif SYNPS_SIMD
  return static_cast<int>(Target::cpu_neon);
#else
  return -1;
#endif
}

void run_f32(KernelOp op, Order, const KernelCall& call) {
  run_dense<F32Rows>(op, call);
}

void run_f16(KernelOp op, Order, const KernelCall& call) {
  run_dense<F16Rows>(op, call);
}

void run_bf16(KernelOp op, Order, const KernelCall& call) {
  run_dense<Bf16Rows>(op, call);
}

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::kernels {

HWY_EXPORT(run_f32);
HWY_EXPORT(run_f16);
HWY_EXPORT(run_bf16);
HWY_EXPORT(simd_target_here);

std::optional<Target> simd_target() {
  const int target = HWY_DYNAMIC_DISPATCH(simd_target_here)();
  return target < 0 ? std::nullopt : std::optional(static_cast<Target>(target));
}

void run_f32(KernelOp op, Order order, const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(run_f32)(op, order, call);
}

void run_f16(KernelOp op, Order order, const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(run_f16)(op, order, call);
}

void run_bf16(KernelOp op, Order order, const KernelCall& call) {
  HWY_DYNAMIC_DISPATCH(run_bf16)(op, order, call);
}

}  // namespace synps::kernels
#endif  // HWY_ONCE
