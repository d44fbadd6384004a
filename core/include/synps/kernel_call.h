#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "synps/executor.h"

namespace synps {

struct Kernel;

/// A matrix as it is stored, all of it: the components in the codec's sequence, without padding.
/// They need no alignment, and must stay while a kernel runs.
struct StoredMatrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;
  std::span<const std::span<const std::byte>> components{};
};

/// Activations rounded to 8 bits a block (see QuantizedActivations). Blocks are padded with zeros.
struct ActivationView {
  std::uint64_t columns = 0;
  std::uint32_t block = 0;             ///< elements that share a scale
  const std::int8_t* codes = nullptr;  ///< `block` for each block
  const float* scales = nullptr;       ///< one for each block
  const std::int16_t* sums = nullptr;  ///< 16 for each block; for the built-in kernels alone
};

/// What a kernel is called with, never without columns: it writes y[v × rows + r] for rows r in
/// [first_row, end_row) and every vector v. Sizes have been checked. Kernels of order rows8 get
/// whole groups: first_row is a multiple of 8, and end_row too unless it is the number of rows. No
/// row depends on which others are asked for at the same time.
struct KernelCall {
  const StoredMatrix* weights = nullptr;
  std::uint64_t first_row = 0;
  std::uint64_t end_row = 0;
  std::uint64_t vectors = 1;
  const float* x = nullptr;                     ///< vectors × columns; not for matvec_q8
  const ActivationView* activations = nullptr;  ///< for matvec_q8
  float* y = nullptr;                           ///< vectors × rows
};

/// Allocates nothing, throws nothing, and may run on any number of threads.
using KernelRun = void (*)(const KernelCall& call);
/// Bytes that a row of `columns` elements takes in a component; nothing when the codec has no such
/// rows.
using KernelRowBytes = std::optional<std::uint64_t> (*)(std::size_t component,
                                                        std::uint64_t columns);

/// y = W x with a kernel of KernelOp::matvec. `x` has `columns` values, `y` has `rows`, and they do
/// not overlap. The result does not depend on the executor. Throws Error(usage) for sizes that do
/// not fit, a kernel for something else, or one that does not run here.
void matvec(const Kernel& kernel, const StoredMatrix& weights, std::span<const float> x,
            std::span<float> y, Executor& executor);

/// `vectors` products at once, with a kernel of KernelOp::matmul. `x` is vectors × columns and `y`
/// vectors × rows, both row-major. Each is what matvec() gives. Meant for up to some dozens.
void matmul(const Kernel& kernel, const StoredMatrix& weights, std::uint64_t vectors,
            std::span<const float> x, std::span<float> y, Executor& executor);

/// y = W x̂ with a kernel of KernelOp::matvec_q8, where x̂ are activations that were rounded in
/// blocks of kernel.activation_block elements.
void matvec_q8(const Kernel& kernel, const StoredMatrix& weights, const ActivationView& activations,
               std::span<float> y, Executor& executor);

}  // namespace synps
