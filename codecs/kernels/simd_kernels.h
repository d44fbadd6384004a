#pragma once

#include <optional>

#include "synps/kernel.h"

namespace synps::kernels {

/// The target whose instructions the SIMD kernels below use on this machine; nothing where they
/// run the scalar code.
std::optional<Target> simd_target();

// The kernels of a codec: each does what `op` and `order` say, on the best instruction set. Dense
// codecs have order rows1 alone, and no matvec_q8.
void run_f32(KernelOp op, Order order, const KernelCall& call);
void run_f16(KernelOp op, Order order, const KernelCall& call);
void run_bf16(KernelOp op, Order order, const KernelCall& call);
void run_q8_0(KernelOp op, Order order, const KernelCall& call);
void run_q4_0(KernelOp op, Order order, const KernelCall& call);
void run_ternary(KernelOp op, Order order, const KernelCall& call);
void run_tq2_0(KernelOp op, Order order, const KernelCall& call);

}  // namespace synps::kernels
