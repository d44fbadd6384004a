#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <fstream>
#include <string>
#include <vector>

#include "hard_values.h"
#include "kernel_samples.h"
#include "simd_targets.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"
#include "synps/testing/codec_io.h"

// The bounds of docs/kernels.md, against sums in double precision; and tests/golden/dot, where
// there are such sums of somebody else's, and what ggml's kernels make of the same weights.

namespace synps::testing {
namespace {

/// A matrix as a codec stores it, and what it decodes to.
struct Stored {
  Stored(const std::string& id, std::uint64_t rows, std::uint64_t columns,
         std::span<const float> values)
      : weight(make_weight({rows, columns})) {
    const Codec& codec = *builtin_registry().resolve(id);
    components = encode_pieces(codec, weight, values, {whole(weight)}).components;
    std::vector<std::span<const std::byte>> in(components.begin(), components.end());
    decoded.resize(values.size());
    codec.decode(whole(weight), in, decoded);
  }

  Weight weight;
  std::vector<std::vector<std::byte>> components;
  std::vector<float> decoded;
};

/// What the products of a row are compared with.
struct Exact {
  double sum = 0;         ///< w · x
  double magnitudes = 0;  ///< |w| · |x|
  double rounding = 0;    ///< |w| · d / 2, d the scale of the block that x_i is in
};

Exact exact_of(std::span<const float> w, std::span<const float> x, std::size_t block) {
  Exact exact;
  for (std::size_t first = 0; first < x.size(); first += block) {
    double largest = 0;
    const std::size_t end = std::min(x.size(), first + block);
    for (std::size_t i = first; i < end; ++i) largest = std::max(largest, std::fabs(double{x[i]}));
    for (std::size_t i = first; i < end; ++i) {
      exact.sum += double{w[i]} * double{x[i]};
      exact.magnitudes += std::fabs(double{w[i]} * double{x[i]});
      exact.rounding += std::fabs(double{w[i]}) * largest / 254;
    }
  }
  return exact;
}

/// How far a result may be off.
double bound(const Kernel& kernel, const Exact& exact, std::size_t columns) {
  constexpr double kUnit = 0x1p-24;
  if (kernel.key.op != KernelOp::matvec_q8)
    return (std::ceil(static_cast<double>(columns) / 32) + 5) * kUnit * exact.magnitudes;
  const double steps = std::ceil(static_cast<double>(columns) / kernel.activation_block) + 5;
  return 1.0003 * exact.rounding + steps * kUnit * (exact.magnitudes + exact.rounding);
}

std::vector<float> read_f32(const std::string& name) {
  std::ifstream file(std::string(SYNPS_SOURCE_DIR) + "/tests/golden/dot/" + name, std::ios::binary);
  std::vector<float> values;
  float value = 0;
  while (file.read(reinterpret_cast<char*>(&value), sizeof value)) values.push_back(value);
  return values;
}

std::vector<double> read_f64(const std::string& name) {
  std::ifstream file(std::string(SYNPS_SOURCE_DIR) + "/tests/golden/dot/" + name, std::ios::binary);
  std::vector<double> values;
  double value = 0;
  while (file.read(reinterpret_cast<char*>(&value), sizeof value)) values.push_back(value);
  return values;
}

double rms_error(const std::vector<float>& y, const std::vector<double>& exact) {
  double sum = 0;
  for (std::size_t i = 0; i < y.size(); ++i)
    sum += (double{y[i]} - exact[i]) * (double{y[i]} - exact[i]);
  return std::sqrt(sum / static_cast<double>(y.size()));
}

}  // namespace

TEST_CASE("accuracy: every result is within the documented bound of the exact sum") {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  constexpr std::uint64_t kRows = 48;
  for (const std::uint64_t columns : {256u, 1024u, 4096u})
    for (const Kernel& kernel : kernels.all()) {
      if (kernel.key.target != Target::cpu_portable || kernel.key.order != Order::rows1 ||
          kernel.key.op == KernelOp::matmul)
        continue;
      const std::string name = to_string(kernel.key);
      CAPTURE(name);
      std::mt19937 random(static_cast<std::uint32_t>(columns));
      std::normal_distribution<float> normal;
      std::vector<float> values(kRows * columns);
      for (float& value : values) value = 0.02f * normal(random);
      const Stored stored(kernel.key.codec, kRows, columns, values);
      const SampleMatrix sample(kRows, columns, stored.components);
      for (int outliers = 0; outliers < 2; ++outliers) {
        std::vector<float> x(columns);
        for (float& value : x) value = normal(random);
        if (outliers == 1) x[columns / 3] = 300;
        const std::vector<float> y = product(kernel, sample.view(), x);
        for (std::uint64_t r = 0; r < kRows; ++r) {
          const std::size_t block = kernel.activation_block == 0 ? 32 : kernel.activation_block;
          const Exact exact =
              exact_of(std::span(stored.decoded).subspan(r * columns, columns), x, block);
          CHECK(std::fabs(double{y[r]} - exact.sum) <= bound(kernel, exact, columns));
        }
      }
    }
}

TEST_CASE("accuracy: beside ggml, on the same weights") {
  constexpr std::uint64_t kRows = 64;
  constexpr std::uint64_t kColumns = 512;
  const std::vector<float> w = read_f32("W.f32");
  const std::vector<float> x = read_f32("x.f32");
  REQUIRE(w.size() == kRows * kColumns);
  REQUIRE(x.size() == kColumns);
  const KernelRegistry kernels = make_builtin_kernel_registry();
  for (const std::string format : {"f32", "f16", "bf16", "q8_0", "q4_0", "tq2_0"}) {
    CAPTURE(format);
    const std::string id = format == "tq2_0" ? "ternary:tq2_0" : format + ":" + format;
    const std::vector<double> exact = read_f64("y." + format + ".exact.f64");
    const std::vector<float> ggml = read_f32("y." + format + ".ggml_avx2.f32");
    REQUIRE(exact.size() == kRows);
    REQUIRE(ggml.size() == kRows);
    const Stored stored(id, kRows, kColumns, w);
    const SampleMatrix sample(kRows, kColumns, stored.components);
    const auto run = [&](KernelOp op) {
      return product(*kernels.find({op, id, Order::rows1, Target::cpu_portable}), sample.view(), x);
    };
    double size = 0;
    for (const double value : exact) size += value * value;
    size = std::sqrt(size / kRows);
    // f32 activations: nothing is lost but what sums round.
    CHECK(rms_error(run(KernelOp::matvec), exact) <= 2e-7 * size);
    if (kernels.find({KernelOp::matvec_q8, id, Order::rows1, Target::cpu_portable}) == nullptr)
      continue;
    // 8-bit activations, as ggml has them: as accurate as it is.
    const double error = rms_error(run(KernelOp::matvec_q8), exact);
    MESSAGE(format << ": matvec_q8 " << error / size << ", ggml " << rms_error(ggml, exact) / size);
    CHECK(error <= 1.05 * rms_error(ggml, exact));
    CHECK(error <= 0.01 * size);
  }
}

}  // namespace synps::testing
