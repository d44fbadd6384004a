// Matrix products on weights of an open artifact.

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "decoded_product.h"
#include "loaded_artifact.h"
#include "synps/artifact.h"
#include "synps/checked.h"
#include "synps/kernel_call.h"
#include "synps/quantized_activations.h"
#include "usage_error.h"

namespace synps {
namespace {

/// The caller's executor, or the calling thread.
class Runner {
 public:
  explicit Runner(Executor* executor) noexcept : executor_(executor) {}
  Executor& get() noexcept { return executor_ != nullptr ? *executor_ : serial_; }

 private:
  Executor* executor_;
  SerialExecutor serial_;
};

/// Codecs that some kernel which runs here multiplies with rounded activations.
std::string codecs_with_q8(const KernelRegistry& kernels) {
  std::set<std::string> codecs;
  for (const Kernel& kernel : kernels.all())
    if (kernel.key.op == KernelOp::matvec_q8 && kernel.runnable()) codecs.insert(kernel.key.codec);
  if (codecs.empty()) return "a registry with such kernels";
  return fmt::format("{}", fmt::join(codecs, ", "));
}

}  // namespace

void WeightView::check_matrix() const {
  const std::string& file = impl_->path();
  if (shape().rank() != 2)
    throw usage_error(file, path(), "only matrices are multiplied", shape().to_string(),
                      "a weight of rank 2");
  if (form().orientation == Orientation::in_out)
    throw usage_error(file, path(), "no kernel multiplies a weight of this orientation",
                      std::string(to_string(Orientation::in_out)),
                      std::string(to_string(Orientation::out_in)), "decode its rows instead");
  if (codec_ == nullptr)
    throw usage_error(file, path(), "nothing decodes this weight",
                      fmt::format("{} kept as stored", dtype_name(dtype())), "",
                      "read its bytes with component()");
}

void WeightView::check_size(const char* name, std::size_t found, std::uint64_t vectors,
                            std::uint64_t each) const {
  if (checked_mul(vectors, each) == found) return;
  throw usage_error(impl_->path(), path(), fmt::format("{} has the wrong size", name),
                    fmt::format("{} values", found), fmt::format("{} x {}", vectors, each));
}

void WeightView::matvec(std::span<const float> x, std::span<float> y, Executor* executor) const {
  matmul(1, x, y, executor);
}

void WeightView::matmul(std::uint64_t vectors, std::span<const float> x, std::span<float> y,
                        Executor* executor) const {
  check_matrix();
  const std::uint64_t rows = shape().rows();
  const std::uint64_t columns = shape().columns();
  check_size("x", x.size(), vectors, columns);
  check_size("y", y.size(), vectors, rows);
  if (x.empty() || y.empty()) {
    std::fill(y.begin(), y.end(), 0.0f);
    return;
  }
  Runner runner(executor);
  const WeightKernels& kernels = impl_->kernels_of(number_);
  const StoredMatrix matrix = impl_->matrix(number_);
  if (kernels.matvec != nullptr && (vectors == 1 || kernels.matmul == nullptr)) {
    for (std::uint64_t v = 0; v < vectors; ++v)
      synps::matvec(*kernels.matvec, matrix, x.subspan(v * columns, columns),
                    y.subspan(v * rows, rows), runner.get());
  } else if (kernels.matmul != nullptr) {
    synps::matmul(*kernels.matmul, matrix, vectors, x, y, runner.get());
  } else {
    const DecodeRows decode_rows = [this](std::uint64_t first, std::uint64_t count,
                                          std::span<float> out) {
      impl_->decode(number_, {first, count}, out);
    };
    multiply_decoded(impl_->f32_matmul(), {rows, columns, decode_rows}, vectors, x, y,
                     runner.get());
  }
}

const Kernel& WeightView::q8_kernel() const {
  check_matrix();
  if (const Kernel* kernel = impl_->kernels_of(number_).matvec_q8; kernel != nullptr)
    return *kernel;
  const bool f32 = decision().dequantizes;
  throw usage_error(
      impl_->path(), path(), "no kernel multiplies this weight with activations of 8 bits",
      fmt::format("{} {}", f32 ? "f32" : stored_->codec.id(), to_string(form().order)),
      codecs_with_q8(impl_->kernels()),
      f32 ? "it was loaded as f32; use matvec(), or load it as stored" : "use matvec()");
}

std::uint32_t WeightView::activation_block() const {
  const Kernel* kernel = impl_->kernels_of(number_).matvec_q8;
  return kernel != nullptr ? kernel->activation_block : 0;
}

void WeightView::matvec_q8(std::span<const float> x, std::span<float> y, Executor* executor) const {
  const Kernel& kernel = q8_kernel();
  check_size("x", x.size(), 1, shape().columns());
  QuantizedActivations rounded;
  rounded.assign(x, kernel.activation_block);
  matvec_q8(rounded.view(), y, executor);
}

void WeightView::matvec_q8(const ActivationView& x, std::span<float> y, Executor* executor) const {
  const Kernel& kernel = q8_kernel();
  check_size("x", x.columns, 1, shape().columns());
  check_size("y", y.size(), 1, shape().rows());
  Runner runner(executor);
  synps::matvec_q8(kernel, impl_->matrix(number_), x, y, runner.get());
}

}  // namespace synps
