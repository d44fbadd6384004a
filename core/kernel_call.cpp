#include "synps/kernel_call.h"

#include <algorithm>
#include <string>
#include <utility>

#include "synps/checked.h"
#include "synps/error.h"
#include "synps/kernel.h"
#include "synps/row_order.h"

namespace synps {
namespace {

/// Bytes of weights that a unit of work has: enough that taking it costs nothing beside it, few
/// enough that threads end together.
constexpr std::uint64_t kUnitBytes = std::uint64_t{128} << 10;

[[noreturn]] void fail(const Kernel& kernel, std::string what, std::string found,
                       std::string want) {
  Problem problem;
  problem.code = ErrorCode::usage;
  problem.what = std::move(what);
  problem.field = to_string(kernel.key);
  problem.found = std::move(found);
  problem.want = std::move(want);
  throw Error(std::move(problem));
}

bool fits(const Kernel& kernel, const StoredMatrix& weights) {
  if (weights.components.size() != kernel.components) return false;
  for (std::size_t c = 0; c < kernel.components; ++c) {
    const std::optional<std::uint64_t> row_bytes = kernel.row_bytes(c, weights.columns);
    if (!row_bytes) return false;
    const std::optional<std::uint64_t> bytes = checked_mul(weights.rows, *row_bytes);
    if (!bytes || *bytes != weights.components[c].size()) return false;
  }
  return true;
}

void check_size(const Kernel& kernel, const char* name, std::size_t found, std::uint64_t vectors,
                std::uint64_t each) {
  const std::optional<std::uint64_t> want = checked_mul(vectors, each);
  if (want && *want == found) return;
  fail(kernel, std::string(name) + " has the wrong size", std::to_string(found) + " values",
       std::to_string(vectors) + " x " + std::to_string(each));
}

void check(const Kernel& kernel, KernelOp op, const StoredMatrix& weights, std::uint64_t vectors,
           std::size_t results) {
  if (kernel.key.op != op)
    fail(kernel, "kernel is for another operation", std::string(to_string(kernel.key.op)),
         std::string(to_string(op)));
  if (!kernel.runnable())
    fail(kernel, "kernel does not run on this machine", std::string(to_string(kernel.key.target)),
         "a kernel of this machine");
  if (!fits(kernel, weights))
    fail(kernel, "stored matrix does not fit the kernel",
         std::to_string(weights.rows) + " x " + std::to_string(weights.columns),
         "components of the codec's sizes");
  check_size(kernel, "y", results, vectors, weights.rows);
}

std::uint64_t rows_a_unit(const StoredMatrix& weights) {
  std::uint64_t bytes = 0;
  for (const auto& component : weights.components) bytes += component.size();
  const std::uint64_t group = std::max<std::uint64_t>(1, bytes / weights.rows * kOrderRows);
  return kOrderRows * std::max<std::uint64_t>(1, kUnitBytes / group);
}

void run_rows(const Kernel& kernel, const KernelCall& whole, Executor& executor) {
  const std::uint64_t rows = whole.weights->rows;
  if (rows == 0 || whole.vectors == 0) return;
  if (whole.weights->columns == 0) {
    std::fill_n(whole.y, rows * whole.vectors, 0.0f);
    return;
  }
  const std::uint64_t unit_rows = rows_a_unit(*whole.weights);
  const std::uint64_t units = rows / unit_rows + (rows % unit_rows != 0 ? 1 : 0);
  const auto run_unit = [&](std::uint64_t unit) {
    KernelCall call = whole;
    call.first_row = unit * unit_rows;
    call.end_row = std::min(rows, call.first_row + unit_rows);
    kernel.run(call);
  };
  executor.run(units, Task(run_unit));
}

}  // namespace

void matvec(const Kernel& kernel, const StoredMatrix& weights, std::span<const float> x,
            std::span<float> y, Executor& executor) {
  check(kernel, KernelOp::matvec, weights, 1, y.size());
  check_size(kernel, "x", x.size(), 1, weights.columns);
  KernelCall call;
  call.weights = &weights;
  call.x = x.data();
  call.y = y.data();
  run_rows(kernel, call, executor);
}

void matmul(const Kernel& kernel, const StoredMatrix& weights, std::uint64_t vectors,
            std::span<const float> x, std::span<float> y, Executor& executor) {
  check(kernel, KernelOp::matmul, weights, vectors, y.size());
  check_size(kernel, "x", x.size(), vectors, weights.columns);
  KernelCall call;
  call.weights = &weights;
  call.vectors = vectors;
  call.x = x.data();
  call.y = y.data();
  run_rows(kernel, call, executor);
}

void matvec_q8(const Kernel& kernel, const StoredMatrix& weights, const ActivationView& activations,
               std::span<float> y, Executor& executor) {
  check(kernel, KernelOp::matvec_q8, weights, 1, y.size());
  check_size(kernel, "x", activations.columns, 1, weights.columns);
  if (activations.block != kernel.activation_block)
    fail(kernel, "activations were rounded in other blocks", std::to_string(activations.block),
         std::to_string(kernel.activation_block));
  KernelCall call;
  call.weights = &weights;
  call.activations = &activations;
  call.y = y.data();
  run_rows(kernel, call, executor);
}

}  // namespace synps
