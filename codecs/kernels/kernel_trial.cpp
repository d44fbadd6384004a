#include "kernels/kernel_trial.h"

#include <bit>
#include <cmath>
#include <cstdint>

#include "synps/quantized_activations.h"

namespace synps {
namespace {

/// A group of eight rows and one more; a block of 256, and a part of one where rows may end
/// anywhere.
constexpr std::uint64_t kRows = 9;
constexpr std::uint64_t kColumns = 256;
constexpr std::uint64_t kRaggedColumns = 273;
constexpr std::uint64_t kVectors = 2;

/// Bytes that no encoder made, but that as f16, bf16 or f32 are below 2, so that sums stay finite.
std::vector<std::byte> made_up(std::size_t size, std::uint32_t state) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i) {
    state = state * 1664525u + 1013904223u;
    bytes[i] = static_cast<std::byte>((state >> 24) & (i % 2 == 0 ? 0xFFu : 0xBFu));
  }
  return bytes;
}

std::vector<float> activations(std::uint64_t count) {
  std::vector<float> values(count);
  std::uint32_t state = 7;
  for (float& value : values) {
    state = state * 1664525u + 1013904223u;
    value = std::ldexp(static_cast<float>(static_cast<std::int32_t>(state) >> 8), -20);
  }
  return values;
}

/// Components of sizes that the kernel reads, for as many columns as it takes.
struct Trial {
  explicit Trial(const Kernel& kernel) {
    for (const std::uint64_t columns : {kRaggedColumns, kColumns}) {
      weights = {kRows, columns, {}};
      if (!kernel.row_bytes(0, columns)) continue;
      for (std::size_t c = 0; c < kernel.components; ++c)
        bytes.push_back(
            made_up(kRows * kernel.row_bytes(c, columns).value(), static_cast<std::uint32_t>(c)));
      break;
    }
    spans.assign(bytes.begin(), bytes.end());
    weights.components = spans;
    x = activations(kVectors * weights.columns);
  }

  std::vector<float> product(const Kernel& kernel) const {
    SerialExecutor serial;
    const std::span<const float> one = std::span(x).first(weights.columns);
    std::vector<float> y(kRows);
    switch (kernel.key.op) {
      case KernelOp::matvec:
        matvec(kernel, weights, one, y, serial);
        break;
      case KernelOp::matmul:
        y.resize(kVectors * kRows);
        matmul(kernel, weights, kVectors, x, y, serial);
        break;
      case KernelOp::matvec_q8: {
        QuantizedActivations rounded;
        rounded.assign(one, kernel.activation_block);
        matvec_q8(kernel, weights, rounded.view(), y, serial);
        break;
      }
    }
    return y;
  }

  StoredMatrix weights;
  std::vector<std::vector<std::byte>> bytes;
  std::vector<std::span<const std::byte>> spans;
  std::vector<float> x;
};

/// Equal bits; of NaN, that it is one.
bool same_values(const std::vector<float>& a, const std::vector<float>& b) {
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    if (!same && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

const Kernel* portable_of(const std::vector<Kernel>& kernels, KernelKey key) {
  key.target = Target::cpu_portable;
  for (const Kernel& kernel : kernels)
    if (kernel.key == key) return &kernel;
  return nullptr;
}

}  // namespace

bool products_agree(const std::vector<Kernel>& kernels) {
  for (const Kernel& kernel : kernels) {
    if (!kernel.runnable() || kernel.key.target == Target::cpu_portable) continue;
    const Kernel* portable = portable_of(kernels, kernel.key);
    const Trial trial(kernel);
    if (portable == nullptr || !same_values(trial.product(kernel), trial.product(*portable)))
      return false;
  }
  return true;
}

}  // namespace synps
