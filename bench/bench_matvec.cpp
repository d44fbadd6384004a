// How fast the kernels multiply, beside reading the same memory in the same run.
//
//   bench_matvec [--mib=N] [--runs=N] [--benchmark_filter=REGEX …]
//   bench_matvec --mib=1 --rows=64 --times=512 …    small matrices again and again: from the caches
//
// Matrices of 4096 × 4096 (or --rows × 4096) lie side by side in --mib of memory (512 unless told
// otherwise), more than caches hold; a run multiplies each of them once. After every run the same
// bytes are only read, by the same threads; x_read is the median of that time over the kernel's,
// pair by pair: 1 means that weights are multiplied as fast as memory can be read. The kernels are
// those of this machine's best target. matvec_q8 rounds its activations anew for every matrix.
// `orders` runs rows8 beside rows1 of the same bytes: x_rows1 above 1 means that rows8 is faster.
// Times are the clock's, since several threads run: others' turns count, which the pairs make up
// for.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "measure.h"
#include "synps/builtin_kernels.h"
#include "synps/executor.h"
#include "synps/quantized_activations.h"

namespace synps {
namespace {

constexpr std::uint64_t kSide = 4096;  // rows and columns
constexpr std::uint64_t kVectors = 4;  // of matmul

struct MatvecOptions : bench::Options {
  std::uint64_t times = 1;  ///< how often a run goes over the memory
  std::uint64_t rows = kSide;
};

MatvecOptions& options() {
  static MatvecOptions options;
  return options;
}

/// Bytes that are ordinary numbers in every format: f16 near 1, bf16 and f32 near 0.01.
std::span<const std::byte> memory() {
  static const bench::Buffer<std::byte> kMemory = [] {
    std::mt19937 random(1);
    bench::Buffer<std::byte> made(options().mib << 20);
    const std::span<std::byte> all = made.elements();
    constexpr std::size_t kPattern = 1 << 20;
    for (std::size_t i = 0; i < kPattern; ++i) {
      const auto byte = static_cast<std::uint8_t>(random() >> 24);
      all[i] = std::byte{static_cast<std::uint8_t>(i % 2 == 0 ? byte : 0x3Cu | (byte & 0x80u))};
    }
    for (std::size_t at = kPattern; at < all.size(); at += kPattern)
      std::memcpy(all.data() + at, all.data(), std::min(kPattern, all.size() - at));
    return made;
  }();
  return kMemory.elements();
}

/// Scales of rows are apart, since they hardly count.
std::span<const std::byte> row_scales() {
  static const std::vector<float> kScales(kSide, 0.01f);
  return std::as_bytes(std::span(kScales));
}

/// The matrices that fit into the memory.
struct Matrices {
  explicit Matrices(const Kernel& kernel) {
    const std::uint64_t rows = options().rows;
    bytes = rows * kernel.row_bytes(0, kSide).value();
    count = memory().size() / bytes;
    if (count == 0) {
      std::fprintf(stderr, "bench_matvec: a matrix does not fit; want more --mib\n");
      std::exit(2);
    }
    components.resize(count);
    for (std::uint64_t i = 0; i < count; ++i) {
      components[i].push_back(memory().subspan(i * bytes, bytes));
      if (kernel.components == 2) components[i].push_back(row_scales().first(rows * sizeof(float)));
    }
  }

  StoredMatrix view(std::uint64_t i) const { return {options().rows, kSide, components[i]}; }
  std::uint64_t all_bytes() const { return count * bytes * options().times; }

  std::uint64_t bytes = 0;  ///< of one
  std::uint64_t count = 0;
  std::vector<std::vector<std::span<const std::byte>>> components;
};

template <typename Run>
double wall_seconds(Run run) {
  const auto begin = std::chrono::steady_clock::now();
  run();
  benchmark::ClobberMemory();
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

/// Several sums, so that no addition waits for the one before it. Asks for memory a page ahead, as
/// the kernels do.
std::uint64_t sum_words(std::span<const std::byte> bytes) {
  std::uint64_t sums[8] = {};
  for (std::size_t at = 0; at + 64 <= bytes.size(); at += 64) {
    __builtin_prefetch(
        reinterpret_cast<const void*>(reinterpret_cast<std::uintptr_t>(bytes.data()) + at + 4096));
    std::uint64_t words[8];
    std::memcpy(words, bytes.data() + at, sizeof words);
    for (std::size_t i = 0; i < 8; ++i) sums[i] += words[i];
  }
  std::uint64_t sum = 0;
  for (const std::uint64_t each : sums) sum += each;
  return sum;
}

void read_all(const Matrices& matrices, Executor& executor) {
  constexpr std::size_t kUnit = 128 << 10;
  for (std::uint64_t t = 0; t < options().times; ++t)
    for (std::uint64_t i = 0; i < matrices.count; ++i) {
      const std::span<const std::byte> bytes = matrices.components[i][0];
      const auto read = [&](std::uint64_t unit) {
        const std::size_t at = unit * kUnit;
        std::uint64_t sum = sum_words(bytes.subspan(at, std::min(kUnit, bytes.size() - at)));
        benchmark::DoNotOptimize(sum);
      };
      executor.run((bytes.size() + kUnit - 1) / kUnit, Task(read));
    }
}

/// Multiplies every matrix once.
class Multiplier {
 public:
  Multiplier(const Kernel& kernel, Executor& executor)
      : kernel_(kernel), matrices_(kernel), executor_(executor) {
    std::mt19937 random(2);
    std::normal_distribution<float> normal;
    vectors_ = kernel.key.op == KernelOp::matmul ? kVectors : 1;
    x_ = std::make_unique<bench::Buffer<float>>(vectors_ * kSide);
    for (float& value : x_->elements()) value = normal(random);
    y_.resize(vectors_ * options().rows);
  }

  void run() {
    for (std::uint64_t t = 0; t < options().times; ++t)
      for (std::uint64_t i = 0; i < matrices_.count; ++i) multiply(matrices_.view(i));
  }
  const Matrices& matrices() const { return matrices_; }

 private:
  void multiply(const StoredMatrix& weights) {
    switch (kernel_.key.op) {
      case KernelOp::matvec:
        return matvec(kernel_, weights, x_->elements(), y_, executor_);
      case KernelOp::matmul:
        return matmul(kernel_, weights, vectors_, x_->elements(), y_, executor_);
      case KernelOp::matvec_q8:
        rounded_.assign(x_->elements(), kernel_.activation_block);
        return matvec_q8(kernel_, weights, rounded_.view(), y_, executor_);
    }
  }

  const Kernel& kernel_;
  Matrices matrices_;
  Executor& executor_;
  std::uint64_t vectors_ = 1;
  std::unique_ptr<bench::Buffer<float>> x_;
  std::vector<float> y_;
  QuantizedActivations rounded_;
};

void compare(benchmark::State& state, Multiplier& multiplier, const std::string& name,
             const std::function<void()>& baseline) {
  multiplier.run();
  baseline();
  bench::Pairs pairs;
  for (auto _ : state) {
    const double time = wall_seconds([&] { multiplier.run(); });
    state.SetIterationTime(time);
    pairs.add(time, wall_seconds(baseline));
  }
  const std::uint64_t bytes = multiplier.matrices().all_bytes();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  pairs.report(state, name, static_cast<double>(bytes));
}

void beside_reading(benchmark::State& state, const Kernel& kernel, unsigned threads) {
  ThreadPool pool(threads);
  Multiplier multiplier(kernel, pool);
  compare(state, multiplier, "read", [&] { read_all(multiplier.matrices(), pool); });
}

void beside_rows1(benchmark::State& state, const Kernel& rows8, const Kernel& rows1,
                  unsigned threads) {
  ThreadPool pool(threads);
  Multiplier multiplier(rows8, pool);
  Multiplier other(rows1, pool);
  compare(state, multiplier, "rows1", [&] { other.run(); });
}

void add_benchmarks() {
  const KernelRegistry& kernels = builtin_kernels();
  for (const Kernel& kernel : kernels.all()) {
    const KernelKey& key = kernel.key;
    if (!kernel.runnable() || key.target != kernels.native()) continue;
    const std::string name = std::string(to_string(key.op)) + "/" + key.codec;
    for (const unsigned threads : {1u, 2u}) {
      const std::string end = "/threads:" + std::to_string(threads);
      bench::add(
          name + "/" + std::string(to_string(key.order)) + end, options().runs,
          [&kernel, threads](benchmark::State& state) { beside_reading(state, kernel, threads); });
      if (key.order != Order::rows8) continue;
      const Kernel* rows1 = kernels.find({key.op, key.codec, Order::rows1, key.target});
      bench::add("orders/" + name + end, options().runs,
                 [&kernel, rows1, threads](benchmark::State& state) {
                   beside_rows1(state, kernel, *rows1, threads);
                 });
    }
  }
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  using synps::options;
  options().mib = 512;
  synps::bench::take_number(argc, argv, "--times=", 1 << 20, options().times);
  synps::bench::take_number(argc, argv, "--rows=", synps::kSide, options().rows);
  synps::bench::take_options(argc, argv, options());
  synps::add_benchmarks();
  return synps::bench::run(argc, argv);
}
