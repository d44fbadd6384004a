#include "synps/builtin_kernels.h"

#include <mutex>
#include <utility>

#include "kernel_choice.h"
#include "kernels/kernel_trial.h"
#include "kernels/portable_kernels.h"
#include "kernels/row_formats.h"
#include "kernels/simd_kernels.h"

namespace synps {
namespace {

using namespace kernels;  // NOLINT(google-build-using-namespace)

using RunSimd = void (*)(KernelOp op, Order order, const KernelCall& call);

template <typename Format>
std::optional<std::uint64_t> row_bytes(std::size_t component, std::uint64_t columns) {
  constexpr std::uint64_t kMostColumns = std::uint64_t{1} << 56;  // whose bytes fit 64 bits
  if (columns > kMostColumns) return std::nullopt;
  if (!Format::kPadded && columns % Format::kElements != 0) return std::nullopt;
  if (component == 0) return StoredRows<Format>::row_bytes(columns);
  return columns == 0 ? 0 : sizeof(float);  // scales
}

template <typename Format, KernelOp kOp, Order kOrder>
void run_portable(const KernelCall& call) {
  if constexpr (kOp == KernelOp::matvec_q8)
    portable_matvec_q8<Format, kOrder == Order::rows8>(call);
  else
    portable_matmul<Format, kOrder == Order::rows8>(call);
}

template <RunSimd kRun, KernelOp kOp, Order kOrder>
void run_simd(const KernelCall& call) {
  kRun(kOp, kOrder, call);
}

/// Lists kernels of one codec. `kRun`: all of them in SIMD.
template <typename Format, RunSimd kRun>
class Lister {
 public:
  explicit Lister(std::vector<Kernel>& kernels) : kernels_(kernels) {}

  void list() {
    list_orders<KernelOp::matvec>();
    list_orders<KernelOp::matmul>();
    if constexpr (Format::kActivationBlock != 0) list_orders<KernelOp::matvec_q8>();
  }

 private:
  template <KernelOp kOp>
  void list_orders() {
    list_targets<kOp, Order::rows1>();
    if constexpr (!Format::kDense) list_targets<kOp, Order::rows8>();
  }

  template <KernelOp kOp, Order kOrder>
  void list_targets() {
    const std::optional<Target> simd = simd_target();
    for (const Target target : all_targets()) {
      Kernel kernel;
      kernel.key = {kOp, Format::kId, kOrder, target};
      kernel.dense = Format::kDense;
      if constexpr (kOp == KernelOp::matvec_q8) kernel.activation_block = Format::kActivationBlock;
      kernel.components = Format::kRowScales ? 2 : 1;
      kernel.row_bytes = row_bytes<Format>;
      if (target == Target::cpu_portable) kernel.run = run_portable<Format, kOp, kOrder>;
      if (target == simd) kernel.run = run_simd<kRun, kOp, kOrder>;
      kernels_.push_back(std::move(kernel));
    }
  }

  std::vector<Kernel>& kernels_;
};

template <typename Format, RunSimd kRun>
void list(std::vector<Kernel>& kernels) {
  Lister<Format, kRun>(kernels).list();
}

/// None of them wants its order: as bench_matvec has it, rows8 is faster for no codec in all
/// operations (docs/kernels.md).
std::vector<Kernel> list_kernels() {
  std::vector<Kernel> kernels;
  list<F32Rows, run_f32>(kernels);
  list<F16Rows, run_f16>(kernels);
  list<Bf16Rows, run_bf16>(kernels);
  list<Q8Rows, run_q8_0>(kernels);
  list<Q4Rows, run_q4_0>(kernels);
  list<TernaryRows, run_ternary>(kernels);
  list<Tq2Rows, run_tq2_0>(kernels);
  return kernels;
}

}  // namespace

std::vector<Kernel> make_builtin_kernels() {
  static std::once_flag once;
  std::call_once(once, [] { trust_avx512_if([] { return products_agree(list_kernels()); }); });
  return list_kernels();
}

KernelRegistry make_builtin_kernel_registry() {
  KernelRegistry registry;
  for (Kernel& kernel : make_builtin_kernels()) registry.add(std::move(kernel));
  return registry;
}

const KernelRegistry& builtin_kernels() {
  static const KernelRegistry kRegistry = make_builtin_kernel_registry();
  return kRegistry;
}

}  // namespace synps
