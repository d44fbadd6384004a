// Products with weights of an artifact: what is refused, and what happens without a kernel.

#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "kernel_samples.h"
#include "load_samples.h"
#include "synps/artifact.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

WeightToStore weight_of(const std::string& path, const std::string& codec, Shape shape) {
  WeightToStore weight = sample_weight(*builtin_registry().resolve(codec), std::move(shape), 1);
  weight.path = path;
  return weight;
}

/// Runs units on the calling thread, the last one first.
class BackwardExecutor final : public Executor {
 public:
  unsigned workers() const noexcept override { return 3; }
  void run(std::uint64_t units, Task task) override {
    runs += units;
    for (std::uint64_t unit = units; unit > 0; --unit) task(unit - 1);
  }
  std::uint64_t runs = 0;
};

class Products {
 public:
  Products() {
    WeightToStore conv = weight_of("conv", "q8_0", {16, 64});
    conv.orientation = Orientation::in_out;
    WeightToStore ids;
    ids.path = "ids";
    ids.shape = Shape{2, 2};
    ids.dtype = DType::i16;
    ids.bytes.resize(8);
    WeightToStore thin;
    thin.path = "thin";
    thin.shape = Shape{3, 0};
    build_artifact(
        dir.file("m"),
        {weight_of("bias", "f32", {64}), conv, weight_of("cube", "q8_0", {2, 8, 64}), ids,
         weight_of("q4_k", "q4_k", {300, 512}), weight_of("q8_0", "q8_0", {16, 64}), thin});
  }
  Artifact open(const OpenOptions& options = {}) const {
    return Artifact::open(dir.file("m"), options);
  }
  TempDir dir;
};

}  // namespace

TEST_CASE("what is no matrix of orientation out_in, or undecodable, is not multiplied") {
  const Products products;
  const Artifact artifact = products.open();
  std::vector<float> x(64);
  std::vector<float> y(16);
  for (const char* path : {"bias", "conv", "cube", "ids"}) {
    CAPTURE(path);
    const WeightView weight = artifact[path];
    const auto refused = [&](const Problem& problem) {
      CHECK(problem.code == ErrorCode::usage);
      CHECK(problem.field == path);
    };
    refused(thrown_problem([&] { weight.matvec(x, y); }));
    refused(thrown_problem([&] { weight.matmul(1, x, y); }));
    refused(thrown_problem([&] { weight.matvec_q8(x, y); }));
  }
  CHECK(thrown_problem([&] { artifact["conv"].matvec(x, y); }).found == "in_out");
  CHECK(thrown_problem([&] { artifact["cube"].matvec(x, y); }).found == "[2, 8, 64]");
}

TEST_CASE("sizes that do not fit are refused") {
  const Products products;
  const WeightView weight = products.open()["q8_0"];
  std::vector<float> x(128);
  std::vector<float> y(32);
  const auto code = [](auto call) { return thrown_problem(call).code; };
  const auto some = [](std::vector<float>& of, std::size_t count) {
    return std::span(of).first(count);
  };
  CHECK(code([&] { weight.matvec(some(x, 63), some(y, 16)); }) == ErrorCode::usage);
  CHECK(code([&] { weight.matvec(some(x, 64), some(y, 17)); }) == ErrorCode::usage);
  CHECK(code([&] { weight.matmul(2, some(x, 64), some(y, 32)); }) == ErrorCode::usage);
  CHECK(code([&] { weight.matmul(2, some(x, 128), some(y, 16)); }) == ErrorCode::usage);
  CHECK(code([&] {
          weight.matmul(std::numeric_limits<std::uint64_t>::max() / 2 + 1, some(x, 0), some(y, 0));
        }) == ErrorCode::usage);
  CHECK(code([&] { weight.matvec_q8(some(x, 65), some(y, 16)); }) == ErrorCode::usage);
  CHECK(code([&] { weight.matvec_q8(some(x, 64), some(y, 15)); }) == ErrorCode::usage);
  QuantizedActivations other;
  other.assign(some(x, 64), 256);
  CHECK(code([&] { weight.matvec_q8(other.view(), some(y, 16)); }) == ErrorCode::usage);
  weight.matmul(0, {}, {});
}

TEST_CASE("activations that are rounded once serve many weights") {
  const Products products;
  const WeightView weight = products.open()["q8_0"];
  REQUIRE(weight.activation_block() == 32);
  const std::vector<float> x = test_values(64, 5);
  QuantizedActivations rounded;
  rounded.assign(x, 32);
  std::vector<float> a(16);
  std::vector<float> b(16, 1.0f);
  weight.matvec_q8(x, a);
  weight.matvec_q8(rounded.view(), b);
  CHECK(same_results(a, b));
}

TEST_CASE("matvec_q8 without a kernel says which codecs have one") {
  const Products products;
  std::vector<float> x(512);
  std::vector<float> y(300);
  const Problem none = thrown_problem([&] { products.open()["q4_k"].matvec_q8(x, y); });
  CHECK(none.code == ErrorCode::usage);
  CHECK(none.found == "q4_k:q4_k rows1");
  CHECK(none.want == "q4_0:q4_0, q8_0:q8_0, ternary:ternary, ternary:tq2_0");
  CHECK(products.open()["q4_k"].activation_block() == 0);

  OpenOptions dequantizing;
  dequantizing.overrides = {{nullptr, {.dequantize = true}}};
  const WeightView f32 = products.open(dequantizing)["q8_0"];
  const Problem dequantized =
      thrown_problem([&] { f32.matvec_q8(std::span(x).first(64), std::span(y).first(16)); });
  CHECK(dequantized.code == ErrorCode::usage);
  CHECK(dequantized.found == "f32 rows1");
  CHECK(dequantized.hint.find("as stored") != std::string::npos);

  const KernelRegistry empty;
  OpenOptions portable;
  portable.kernels = &empty;
  const WeightView weight = products.open(portable)["q8_0"];
  CHECK(thrown_problem([&] {
          weight.matvec_q8(std::span(x).first(64), std::span(y).first(16));
        }).want == "a registry with such kernels");
}

TEST_CASE("a matrix without columns gives zeros, one without rows nothing") {
  const Products products;
  const WeightView thin = products.open()["thin"];
  std::vector<float> y(3, 7.0f);
  thin.matvec({}, y);
  CHECK(y == std::vector<float>(3, 0.0f));
}

TEST_CASE("rows that are decoded to be multiplied run on the executor, in pieces") {
  const Products products;
  const WeightView weight = products.open()["q4_k"];
  const std::vector<float> x = test_values(512, 3);
  const std::vector<float> expected = product_by_definition(weight.decode(), x.data(), 512);
  std::vector<float> y(300, 1.0f);
  weight.matvec(x, y);
  CHECK(same_results(y, expected));
  BackwardExecutor executor;
  std::fill(y.begin(), y.end(), 1.0f);
  weight.matvec(x, y, &executor);
  CHECK(same_results(y, expected));
  CHECK(executor.runs == 3);  // 128 rows of 512 values are 256 KiB
}

TEST_CASE("one kind of kernel stands in for the other") {
  const Products products;
  const std::vector<float> x = test_values(2 * 64, 3);
  std::vector<float> expected(2 * 16);
  products.open()["q8_0"].matmul(2, x, expected);
  for (const KernelOp op : {KernelOp::matvec, KernelOp::matmul}) {
    const KernelRegistry kernels =
        builtin_kernels().only([op](const Kernel& kernel) { return kernel.key.op == op; });
    OpenOptions options;
    options.kernels = &kernels;
    const WeightView weight = products.open(options)["q8_0"];
    std::vector<float> y(2 * 16);
    weight.matmul(2, x, y);
    CHECK(same_results(y, expected));
    std::vector<float> one(16);
    weight.matvec(std::span(x).first(64), one);
    CHECK(same_results(one, {expected.begin(), expected.begin() + 16}));
  }
}

}  // namespace synps::testing
