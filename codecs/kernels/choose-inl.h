// Calls the kernel of an operation and an order. Included once for every target, as
// simd/vectors-inl.h.

#if defined(SYNPS_CODECS_KERNELS_CHOOSE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_KERNELS_CHOOSE_INL_H
#undef SYNPS_CODECS_KERNELS_CHOOSE_INL_H
#else
#define SYNPS_CODECS_KERNELS_CHOOSE_INL_H
#endif

#include <hwy/highway.h>

#include "kernels/matmul-inl.h"
#include "kernels/matvec_q8-inl.h"
#include "synps/kernel.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

template <class Format>
void run_dense(KernelOp op, const KernelCall& call) {
  if (op == KernelOp::matvec) return matvec_rows<Format, false>(call);
  matmul_rows<Format, false>(call);
}

template <class Format, bool kRows8>
void run_order(KernelOp op, const KernelCall& call) {
  switch (op) {
    case KernelOp::matvec:
      return matvec_rows<Format, kRows8>(call);
    case KernelOp::matmul:
      return matmul_rows<Format, kRows8>(call);
    case KernelOp::matvec_q8:
      return matvec_q8_rows<Format, kRows8>(call);
  }
}

template <class Format>
void run_packed(KernelOp op, Order order, const KernelCall& call) {
  if (order == Order::rows8) return run_order<Format, true>(op, call);
  run_order<Format, false>(op, call);
}

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_KERNELS_CHOOSE_INL_H
