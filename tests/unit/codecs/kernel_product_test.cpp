#include <doctest/doctest.h>

#include <algorithm>
#include <string>
#include <vector>

#include "hard_values.h"
#include "kernel_samples.h"
#include "kernels/kernel_trial.h"
#include "simd_targets.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"

// The SIMD kernels against the portable ones, which define the bits.

namespace synps::testing {
namespace {

/// For every set of SIMD instructions, calls body(kernel, portable kernel of the order rows1).
template <typename Body>
void for_each_kernel(Body body) {
  for_each_simd_target([&] {
    const KernelRegistry kernels = make_builtin_kernel_registry();
    for (const Kernel& kernel : kernels.all()) {
      if (!kernel.runnable()) continue;
      KernelKey key = kernel.key;
      key.order = Order::rows1;
      key.target = Target::cpu_portable;
      const Kernel* portable = kernels.find(key);
      REQUIRE(portable != nullptr);
      const std::string name = to_string(kernel.key);
      CAPTURE(name);
      if (&kernel != portable) body(kernel, *portable);
    }
  });
}

std::uint64_t block_bytes(const Kernel& kernel) {
  return builtin_registry().resolve(kernel.key.codec)->block_bytes(0);
}

/// Activations of many sizes; `special`: NaN and infinities too.
std::vector<float> activations(std::size_t count, std::uint32_t seed, bool special) {
  std::mt19937 random(seed);
  std::vector<float> values(count);
  for (float& value : values) {
    const auto bits = static_cast<std::uint32_t>(random());
    value = special ? float_of(bits)
                    : std::ldexp(float_of((bits & 0x807F'FFFFu) | 0x3F00'0000u),
                                 static_cast<int>(random() % 24) - 12);
    if (random() % 16 == 0) value = special_values()[random() % special_values().size()];
    if (!special && !std::isfinite(value)) value = -0.0f;
  }
  return values;
}

void check_alike(const Kernel& kernel, const Kernel& portable, const SampleMatrix& sample,
                 std::span<const float> x, std::uint64_t vectors) {
  const std::vector<float> want = product(portable, sample.view(), x, vectors);
  if (kernel.key.order == Order::rows1) {
    CHECK(same_results(product(kernel, sample.view(), x, vectors), want));
    return;
  }
  const SampleMatrix relaid(sample.view().rows, sample.view().columns,
                            sample.as_rows8(block_bytes(kernel)));
  CHECK(same_results(product(kernel, relaid.view(), x, vectors), want));
}

std::uint64_t vectors_of(const Kernel& kernel, std::uint64_t vectors) {
  return kernel.key.op == KernelOp::matmul ? vectors : 1;
}

}  // namespace

TEST_CASE("products: rows of every length") {
  for_each_kernel([](const Kernel& kernel, const Kernel& portable) {
    for (std::uint64_t columns = 1; columns <= 1100; columns += columns < 160 ? 1 : 43) {
      const std::uint64_t whole = columns <= 6 ? columns * 256 : columns;
      const std::uint64_t taken = kernel.row_bytes(0, columns) ? columns : whole;
      if (!kernel.row_bytes(0, taken)) continue;
      CAPTURE(taken);
      const auto seed = static_cast<std::uint32_t>(columns);
      const SampleMatrix sample(kernel, 9, taken, Filling::ordinary, seed);
      const std::uint64_t vectors = vectors_of(kernel, 1 + columns % 3);
      check_alike(kernel, portable, sample, activations(vectors * taken, seed, false), vectors);
    }
  });
}

TEST_CASE("products: any number of rows and vectors") {
  for_each_kernel([](const Kernel& kernel, const Kernel& portable) {
    for (std::uint64_t rows = 0; rows <= 26; ++rows) {
      CAPTURE(rows);
      const std::uint64_t columns = 256;
      const auto seed = static_cast<std::uint32_t>(rows);
      const SampleMatrix sample(kernel, rows, columns, Filling::ordinary, seed);
      const std::uint64_t vectors = vectors_of(kernel, std::min<std::uint64_t>(rows, 11));
      check_alike(kernel, portable, sample, activations(vectors * columns, seed, false), vectors);
    }
  });
}

TEST_CASE("products: any bits at all") {
  for_each_kernel([](const Kernel& kernel, const Kernel& portable) {
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
      CAPTURE(seed);
      const std::uint64_t columns = seed % 2 == 0 || !kernel.row_bytes(0, 333) ? 512 : 333;
      const std::uint64_t vectors = vectors_of(kernel, 1 + seed % 5);
      const SampleMatrix sample(kernel, 24, columns, Filling::any, seed);
      check_alike(kernel, portable, sample, activations(vectors * columns, seed, false), vectors);
      check_alike(kernel, portable, sample, activations(vectors * columns, seed, true), vectors);
      const SampleMatrix tame(kernel, 24, columns, Filling::ordinary, seed);
      check_alike(kernel, portable, tame, activations(vectors * columns, seed, true), vectors);
    }
  });
}

TEST_CASE("products: zeros keep their signs, and chains without products stay as they are") {
  for_each_kernel([](const Kernel& kernel, const Kernel& portable) {
    const std::uint64_t vectors = vectors_of(kernel, 2);
    for (const std::uint64_t columns : {1u, 31u, 33u, 250u, 256u, 300u}) {
      if (!kernel.row_bytes(0, columns)) continue;
      const SampleMatrix sample(kernel, 9, columns, Filling::ordinary, 3);
      // Products that underflow leave negative zeros behind.
      for (const float value : {-0x1p-149f, 0x1p-149f, -0.0f, 0.0f})
        check_alike(kernel, portable, sample, std::vector<float>(vectors * columns, value),
                    vectors);
    }
  });
}

TEST_CASE("products: a large matrix, any number of threads") {
  for_each_simd_target([] {
    const KernelRegistry kernels = make_builtin_kernel_registry();
    for (const Kernel& kernel : kernels.all()) {
      if (!kernel.runnable()) continue;
      const std::string name = to_string(kernel.key);
      CAPTURE(name);
      const bool small = kernel.key.target == Target::cpu_portable;
      const SampleMatrix sample(kernel, small ? 203 : 1501, small ? 256 : 512, Filling::ordinary,
                                5);
      const std::uint64_t vectors = vectors_of(kernel, 2);
      const std::vector<float> x = activations(vectors * sample.view().columns, 6, false);
      const std::vector<float> want = product(kernel, sample.view(), x, vectors);
      for (unsigned threads = 1; threads <= 7; ++threads) {
        ThreadPool pool(threads);
        CHECK(same_results(product(kernel, sample.view(), x, vectors, pool), want));
      }
    }
  });
}

TEST_CASE("products: any partition into ranges of rows") {
  for_each_kernel([](const Kernel& kernel, const Kernel&) {
    constexpr std::uint64_t kRows = 61;
    constexpr std::uint64_t kColumns = 512;
    const SampleMatrix sample(kernel, kRows, kColumns, Filling::ordinary, 8);
    const std::vector<float> x = activations(kColumns, 9, false);
    const std::vector<float> want = product(kernel, sample.view(), x);
    QuantizedActivations rounded;
    if (kernel.activation_block != 0) rounded.assign(x, kernel.activation_block);
    const ActivationView view = rounded.view();
    const std::uint64_t step = kernel.key.order == Order::rows8 ? 8 : 1;
    for (std::uint64_t size = step; size < kRows; size += step) {
      std::vector<float> y(kRows, -1.0f);
      KernelCall call;
      call.weights = &sample.view();
      call.x = x.data();
      call.activations = &view;
      call.y = y.data();
      for (std::uint64_t first = 0; first < kRows; first += size) {
        call.first_row = first;
        call.end_row = std::min(kRows, first + size);
        kernel.run(call);
      }
      CHECK(same_results(y, want));
    }
  });
}

TEST_CASE("the trial of kernels finds a wrong one") {
  for_each_simd_target([] {
    const std::vector<Kernel> kernels = make_builtin_kernels();
    CHECK(products_agree(kernels));
    for (std::size_t i = 0; i < kernels.size(); ++i) {
      if (!kernels[i].runnable() || kernels[i].key.target == Target::cpu_portable) continue;
      std::vector<Kernel> bad = kernels;
      bad[i].run = [](const KernelCall& call) {
        for (std::uint64_t r = call.first_row; r < call.end_row; ++r) call.y[r] = 1.0f;
      };
      CHECK_FALSE(products_agree(bad));
    }
  });
}

}  // namespace synps::testing
