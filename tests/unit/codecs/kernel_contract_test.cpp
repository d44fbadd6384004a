#include <doctest/doctest.h>

#include <array>
#include <bit>
#include <cmath>
#include <string>
#include <vector>

#include "float_bits.h"
#include "hard_values.h"
#include "kernel_samples.h"
#include "simd_targets.h"
#include "synps/builtin_codecs.h"
#include "synps/builtin_kernels.h"
#include "synps/error.h"
#include "synps/testing/codec_conformance.h"
#include "synps/testing/codec_io.h"

// The portable kernels against the contract of docs/kernels.md, written here once more: products of
// what the codecs decode.

namespace synps::testing {
namespace {

template <std::size_t kCount>
float reduced(std::array<float, kCount> s) {
  for (std::size_t half = kCount / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) s[k] = s[k] + s[k + half];
  return s[0];
}

std::vector<float> decoded(const std::string& codec, const StoredMatrix& weights) {
  const Weight weight = make_weight({weights.rows, weights.columns});
  std::vector<float> values(weights.rows * weights.columns);
  for (const auto& reference : make_reference_codecs())
    if (reference->info().id() == codec)
      reference->decode(whole(weight), weights.components, values);
  return values;
}

float dot(std::span<const float> w, std::span<const float> x) {
  std::array<float, 32> s{};
  for (std::size_t i = 0; i < w.size(); ++i) s[i % 32] = std::fma(w[i], x[i], s[i % 32]);
  return reduced(s);
}

/// The scale that a codec stores for element `i` of row `r`; its integers are values over scales.
float scale_of(const std::string& codec, const StoredMatrix& weights, std::uint64_t r,
               std::uint64_t i) {
  const auto at = [&](std::size_t component, std::uint64_t offset) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, weights.components[component].data() + offset, component == 0 ? 2 : 4);
    return bits;
  };
  const auto half = [&](std::uint64_t elements, std::uint64_t bytes, std::uint64_t offset) {
    const std::uint64_t block = (r * weights.columns + i) / elements;
    return f32_from_f16(static_cast<std::uint16_t>(at(0, block * bytes + offset)));
  };
  if (codec == "q8_0:q8_0") return half(32, 34, 0);
  if (codec == "q4_0:q4_0") return half(32, 18, 0);
  if (codec == "ternary:tq2_0") return half(256, 66, 64);
  return std::bit_cast<float>(at(1, r * 4));
}

/// The rounding of activations, in double precision where that is exact or rounds alike.
struct Rounded {
  std::vector<int> codes;
  std::vector<float> scales;

  Rounded(std::span<const float> x, std::size_t block) {
    for (std::size_t first = 0; first < x.size(); first += block) {
      const auto values = x.subspan(first, std::min(block, x.size() - first));
      float largest = 0;
      bool finite = true;
      for (const float value : values) {
        finite = finite && std::isfinite(value);
        largest = std::fmax(largest, std::fabs(value));
      }
      const float d = finite ? largest / 127.0f : std::nanf("");
      float inverse = finite && d != 0 ? 1.0f / d : 0.0f;
      if (!std::isfinite(inverse)) inverse = 0;
      for (const float value : values) {
        const float scaled = finite ? value * inverse : 0.0f;
        codes.push_back(static_cast<int>(std::round(static_cast<double>(scaled))));
      }
      scales.push_back(d);
    }
  }
};

float dot_q8(const std::string& codec, const StoredMatrix& weights, std::span<const float> w,
             std::uint64_t r, const Rounded& x, std::size_t block) {
  std::array<float, 8> s{};
  for (std::size_t first = 0; first < w.size(); first += block) {
    const float scale = scale_of(codec, weights, r, first);
    std::array<long, 8> sums{};
    for (std::size_t i = first; i < std::min(w.size(), first + block); ++i) {
      const double code = scale == 0 ? 0.0 : static_cast<double>(w[i]) / static_cast<double>(scale);
      sums[i % 32 / 4] += std::lround(code) * x.codes[i];
    }
    const float product = scale * x.scales[first / block];
    for (std::size_t k = 0; k < 8; ++k) s[k] = std::fma(static_cast<float>(sums[k]), product, s[k]);
  }
  return reduced(s);
}

template <typename Body>
void for_each_portable(Body body) {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  for (const Kernel& kernel : kernels.all()) {
    if (kernel.key.target != Target::cpu_portable || kernel.key.order != Order::rows1) continue;
    CAPTURE(kernel.key.codec);
    body(kernel);
  }
}

}  // namespace

TEST_CASE("the portable matvec and matmul sum what the codec decodes, in 32 chains") {
  for_each_portable([](const Kernel& kernel) {
    if (kernel.key.op == KernelOp::matvec_q8) return;
    for (const std::uint64_t columns : {1u, 20u, 32u, 100u, 256u, 512u, 1000u, 1024u})
      for (const Filling filling : {Filling::ordinary, Filling::any}) {
        if (!kernel.row_bytes(0, columns)) continue;
        CAPTURE(columns);
        const SampleMatrix sample(kernel, 11, columns, filling, 4);
        const std::uint64_t vectors = kernel.key.op == KernelOp::matmul ? 3 : 1;
        std::vector<float> x = finite_values(vectors * columns, 7);
        for (float& value : x) value = std::ldexp(value, -60);
        const std::vector<float> w = decoded(kernel.key.codec, sample.view());
        std::vector<float> want;
        for (std::uint64_t v = 0; v < vectors; ++v)
          for (std::uint64_t r = 0; r < 11; ++r)
            want.push_back(dot(std::span(w).subspan(r * columns, columns),
                               std::span(x).subspan(v * columns, columns)));
        CHECK(same_results(product(kernel, sample.view(), x, vectors), want));
      }
  });
}

TEST_CASE("the portable matvec_q8 sums exact integer products, in 8 chains") {
  for_each_portable([](const Kernel& kernel) {
    if (kernel.key.op != KernelOp::matvec_q8) return;
    for (const std::uint64_t columns : {1u, 32u, 100u, 200u, 256u, 384u, 512u, 1000u, 1024u}) {
      if (!kernel.row_bytes(0, columns)) continue;
      CAPTURE(columns);
      const SampleMatrix sample(kernel, 11, columns, Filling::ordinary, 4);
      const std::vector<float> x = near_ties(columns, 127, 5);
      const std::vector<float> w = decoded(kernel.key.codec, sample.view());
      const std::size_t block = kernel.activation_block;
      const Rounded rounded(x, block);
      std::vector<float> want;
      for (std::uint64_t r = 0; r < 11; ++r)
        want.push_back(dot_q8(kernel.key.codec, sample.view(),
                              std::span(w).subspan(r * columns, columns), r, rounded, block));
      CHECK(same_results(product(kernel, sample.view(), x), want));
    }
  });
}

TEST_CASE("a registry has these kernels, for all targets") {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  for (const char* codec : {"f32:f32", "f16:f16", "bf16:bf16", "q8_0:q8_0", "q4_0:q4_0",
                            "ternary:ternary", "ternary:tq2_0"}) {
    CAPTURE(codec);
    const Codec* stores = builtin_registry().resolve(codec);
    REQUIRE(stores != nullptr);
    for (const Target target : all_targets())
      for (const KernelOp op : {KernelOp::matvec, KernelOp::matmul, KernelOp::matvec_q8})
        for (const Order order : {Order::rows1, Order::rows8}) {
          const Kernel* kernel = kernels.find({op, codec, order, target});
          const bool packed = !stores->info().dense;
          const bool expected = packed || (order == Order::rows1 && op != KernelOp::matvec_q8);
          CHECK((kernel != nullptr) == expected);
          if (kernel == nullptr) continue;
          CHECK(kernel->dense == !packed);
          CHECK((kernel->activation_block != 0) == (op == KernelOp::matvec_q8));
        }
  }
  for (const Kernel& kernel : kernels.all()) {
    const Codec* codec = builtin_registry().resolve(kernel.key.codec);
    REQUIRE(codec != nullptr);
    for (const std::uint64_t columns : {0u, 1u, 31u, 32u, 128u, 200u, 256u, 4096u}) {
      const Weight weight = make_weight({8, columns});
      const bool supported = codec->supports(weight).ok;
      for (std::size_t c = 0; c < kernel.components; ++c) {
        const auto bytes = kernel.row_bytes(c, columns);
        if (columns != 0) CHECK(bytes.has_value() == supported);
        if (bytes) CHECK(*bytes == codec->row_bytes(c, columns));
      }
      if (supported) CHECK(codec->components(weight).size() == kernel.components);
    }
    CHECK_FALSE(kernel.row_bytes(0, ~std::uint64_t{0}).has_value());
  }
}

TEST_CASE("kernels read both orders of packed codecs, and want rows1") {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  for (const TargetRequest request : {TargetRequest::cpu, TargetRequest::cpu_portable,
                                      TargetRequest::cpu_avx2, TargetRequest::cpu_neon}) {
    const Capabilities capabilities = kernels.capabilities(request);
    for (const auto& entry : capabilities.entries())
      CHECK(capabilities.wanted_order(entry.codec) == Order::rows1);
    CHECK(capabilities.feeds(KernelOp::matvec_q8, "q4_0:q4_0", Order::rows8));
    CHECK_FALSE(capabilities.feeds("f16:f16", Order::rows8));
    CHECK_FALSE(capabilities.wanted_order("q6_k:q6_k").has_value());
  }
}

TEST_CASE("the best kernel that runs here is chosen") {
  for_each_simd_target([] {
    const KernelRegistry kernels = make_builtin_kernel_registry();
    const Kernel* kernel = kernels.find_runnable(KernelOp::matvec, "q8_0:q8_0", Order::rows8);
    REQUIRE(kernel != nullptr);
    CHECK(kernel->key.target == kernels.native());
    CHECK(kernels.find_runnable(KernelOp::matvec, "q8_0", Order::rows8) == nullptr);
    const KernelRegistry dense = kernels.only(is_dense);
    CHECK(dense.find_runnable(KernelOp::matvec, "q8_0:q8_0", Order::rows8) == nullptr);
    CHECK(dense.find_runnable(KernelOp::matvec, "f16:f16", Order::rows1) != nullptr);
  });
}

TEST_CASE("activations: bits, padding, and what is not finite") {
  for_each_simd_target([] {
    for (const std::uint32_t block : {32u, 256u})
      for (const std::size_t count : {1u, 31u, 32u, 100u, 256u, 513u, 4096u})
        for (std::uint32_t seed = 0; seed < 6; ++seed) {
          CAPTURE(block);
          CAPTURE(count);
          std::vector<float> x =
              seed % 2 == 0 ? near_ties(count, 127, seed) : finite_values(count, seed);
          if (seed == 3) x[count / 2] = special_values()[count % special_values().size()];
          QuantizedActivations rounded;
          rounded.assign(finite_values(2000, 3), 32);  // what was there before leaves nothing
          rounded.assign(x, block);
          const ActivationView view = rounded.view();
          const Rounded want(x, block);
          CHECK(view.columns == count);
          CHECK(view.block == block);
          for (std::size_t i = 0; i < count; ++i) REQUIRE(view.codes[i] == want.codes[i]);
          for (std::size_t i = count; i % block != 0; ++i) REQUIRE(view.codes[i] == 0);
          for (std::size_t b = 0; b < want.scales.size(); ++b)
            REQUIRE(same_results({view.scales[b]}, {want.scales[b]}));
          std::vector<float> back(count);
          dequantize(view, back);
          for (std::size_t i = 0; i < count; ++i) {
            const float d = want.scales[i / block];
            if (d < 0x1p-120f || std::isnan(d)) continue;
            REQUIRE(std::fabs(double{back[i]} - double{x[i]}) <= 0.5001 * double{d});
          }
        }
    QuantizedActivations rounded;
    CHECK_THROWS_AS(rounded.assign(std::vector<float>(64), 64), Error);
    rounded.assign({}, 32);
    CHECK(rounded.view().columns == 0);
  });
}

TEST_CASE("calls with the wrong sizes are refused") {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  const auto find = [&](KernelOp op, const char* codec) {
    return *kernels.find({op, codec, Order::rows1, Target::cpu_portable});
  };
  const Kernel q8 = find(KernelOp::matvec, "q8_0:q8_0");
  const SampleMatrix sample(q8, 3, 64, Filling::ordinary, 1);
  std::vector<float> x(64);
  std::vector<float> y(3);
  SerialExecutor serial;
  CHECK_NOTHROW(matvec(q8, sample.view(), x, y, serial));
  CHECK_THROWS_AS(matvec(q8, sample.view(), std::span(x).first(63), y, serial), Error);
  CHECK_THROWS_AS(matvec(q8, sample.view(), x, std::span(y).first(2), serial), Error);
  for (const auto& [rows, columns] : {std::pair{4u, 64u}, std::pair{3u, 96u}, std::pair{3u, 63u}}) {
    StoredMatrix wrong = sample.view();
    wrong.rows = rows;
    wrong.columns = columns;
    std::vector<float> fitting_x(columns);
    std::vector<float> fitting_y(rows);
    CHECK_THROWS_AS(matvec(q8, wrong, fitting_x, fitting_y, serial), Error);
  }
  CHECK_THROWS_AS(matvec(find(KernelOp::matvec, "ternary:ternary"), sample.view(), x, y, serial),
                  Error);
  CHECK_THROWS_AS(matvec(find(KernelOp::matmul, "q8_0:q8_0"), sample.view(), x, y, serial), Error);
  Kernel elsewhere = q8;
  elsewhere.run = nullptr;
  CHECK_THROWS_AS(matvec(elsewhere, sample.view(), x, y, serial), Error);
  QuantizedActivations rounded;
  rounded.assign(x, 256);
  const Kernel integers = find(KernelOp::matvec_q8, "q8_0:q8_0");
  CHECK_THROWS_AS(matvec_q8(integers, sample.view(), rounded.view(), y, serial), Error);
  rounded.assign(x, 32);
  CHECK_NOTHROW(matvec_q8(integers, sample.view(), rounded.view(), y, serial));
}

TEST_CASE("which weights may be rows8") {
  const auto can = [](const char* codec, Shape shape) {
    return can_be_rows8(*builtin_registry().resolve(codec), make_weight(std::move(shape)));
  };
  CHECK(can("q8_0", {8, 64}));
  CHECK(can("q4_0", {13, 64}));
  CHECK(can("ternary", {8, 129}));
  CHECK(can("ternary:tq2_0", {8, 512}));
  CHECK_FALSE(can("q8_0", {7, 64}));      // no group of eight rows
  CHECK_FALSE(can("q8_0", {8, 32}));      // one block a row
  CHECK_FALSE(can("ternary", {8, 128}));  // likewise
  CHECK_FALSE(can("q8_0", {2, 8, 64}));   // no matrix
  CHECK_FALSE(can("q8_0", {512}));
  CHECK_FALSE(can("q8_0", {8, 0}));
  CHECK_FALSE(can("f16", {8, 64}));
  CHECK_FALSE(can("ternary:planes", {8, 512}));
  for (const Codec* codec : builtin_registry().all())
    for (const std::uint64_t columns : {256u, 512u, 1280u}) {
      CAPTURE(codec->info().id());
      const Weight weight = make_weight({8, columns});
      for (std::size_t c = 0; c < codec->components(weight).size(); ++c)
        if (const std::uint64_t block = codec->block_bytes(c); block != 0)
          CHECK(codec->row_bytes(c, columns) % block == 0);
    }
}

TEST_CASE("a matrix without columns gives zeros, without rows nothing") {
  const KernelRegistry kernels = make_builtin_kernel_registry();
  for (const Kernel& kernel : kernels.all()) {
    if (!kernel.runnable()) continue;
    CAPTURE(kernel.key.codec);
    const SampleMatrix no_columns(kernel, 9, 0, Filling::ordinary, 1);
    CHECK(same_results(product(kernel, no_columns.view(), {}), std::vector<float>(9)));
    const SampleMatrix no_rows(kernel, 0, 256, Filling::ordinary, 1);
    CHECK(product(kernel, no_rows.view(), std::vector<float>(256)).empty());
  }
}

}  // namespace synps::testing
