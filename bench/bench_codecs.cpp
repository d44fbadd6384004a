// How fast every built-in codec encodes and decodes, beside memcpy in the same run.
//
//   bench_codecs [--mib=N] [--runs=N] [--benchmark_filter=REGEX …]
//   bench_codecs --self-check    no benchmark; see self_check.h
//
// Counted are bytes of f32 values a second, whatever the codec stores. After every run of a codec,
// as many bytes are copied by memcpy; x_memcpy is the median of memcpy's time over the codec's,
// pair by pair: 1 means that the codec takes f32 values as fast as memcpy copies them. On a shared
// machine only this ratio means something. All buffers are larger than caches, and reused. One
// thread, its processor time.

#include <benchmark/benchmark.h>

#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "measure.h"
#include "self_check.h"
#include "synps/builtin_codecs.h"

namespace synps {
namespace {

using bench::Buffer;
using bench::Options;

constexpr std::uint64_t kColumns = 4096;
constexpr std::uint64_t kRowsInMib = (1u << 20) / (kColumns * sizeof(float));

Options& options() {
  static Options options;
  return options;
}

/// Set before the first benchmark runs.
std::uint64_t row_count() {
  return kRowsInMib * options().mib;
}

const Weight& weight() {
  static const Weight kWeight{"w", Shape{row_count(), kColumns}, DType::f32};
  return kWeight;
}

std::span<const float> values() {
  static const Buffer<float> kValues = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    Buffer<float> made(row_count() * kColumns);
    for (float& value : made.elements()) value = normal(random);
    return made;
  }();
  return kValues.elements();
}

/// Where decoders and memcpy write.
std::span<float> target() {
  static const Buffer<float> kTarget(row_count() * kColumns);
  return kTarget.elements();
}

/// Buffers for all components of the weight.
struct Stored {
  explicit Stored(const Codec& codec) {
    for (const Component& component : codec.components(weight()))
      buffers.emplace_back(component.bytes);
    analysis = codec.begin_analysis(weight());
    if (analysis) analysis->add(values());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const std::span<std::byte> bytes = buffers[i].elements();
      const bool per_weight = codec.components(weight())[i].per_weight;
      if (per_weight) analysis->store(i, bytes);
      out.push_back(per_weight ? std::span<std::byte>() : bytes);
      in.push_back(bytes);
    }
  }

  std::vector<Buffer<std::byte>> buffers;
  std::unique_ptr<Analysis> analysis;
  std::vector<std::span<std::byte>> out;
  std::vector<std::span<const std::byte>> in;
};

const Piece& all() {
  static const Piece kAll{&weight(), 0, row_count(), kColumns};
  return kAll;
}

void copy_values() {
  std::memcpy(target().data(), values().data(), values().size() * sizeof(float));
}

/// Runs `run` and memcpy in turn.
template <typename Run>
void compare(benchmark::State& state, Run run) {
  copy_values();
  run();
  bench::Pairs pairs;
  for (auto _ : state) {
    const double time = bench::seconds(run);
    state.SetIterationTime(time);
    pairs.add(time, bench::seconds(copy_values));
  }
  const double bytes = static_cast<double>(values().size() * sizeof(float));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  pairs.report(state, "memcpy", bytes);
}

void analyse(benchmark::State& state, const Codec& codec) {
  compare(state, [&] {
    const auto analysis = codec.begin_analysis(weight());
    analysis->add(values());
    benchmark::DoNotOptimize(analysis.get());
  });
}

void encode(benchmark::State& state, const Codec& codec) {
  const Stored stored(codec);
  compare(state, [&] {
    ValueReport report;
    codec.encode(all(), values(), stored.analysis.get(), stored.out, report);
  });
}

void decode(benchmark::State& state, const Codec& codec) {
  const Stored stored(codec);
  if (codec.info().encodes) {
    ValueReport report;
    codec.encode(all(), values(), stored.analysis.get(), stored.out, report);
  } else if (!codec.info().dense) {
    // Read only: bytes that make scales of ordinary size, in f16 and in f32.
    std::memset(stored.out[0].data(), 0x2C, stored.out[0].size());
  } else if (codec.info().dense_dtype != DType::f64) {  // 8 bits: ordinary values
    std::memset(stored.out[0].data(), 0x2C, stored.out[0].size());
  } else {
    for (std::size_t i = 0; i < values().size(); ++i) {
      const double value = static_cast<double>(values()[i]) * 1.1;
      std::memcpy(stored.out[0].data() + i * sizeof value, &value, sizeof value);
    }
  }
  compare(state, [&] { codec.decode(all(), stored.in, target()); });
}

void add_codecs() {
  for (const Codec* codec : builtin_registry().all()) {
    const std::string id = codec->info().id();
    if (codec->begin_analysis(weight()))
      bench::add("analyse/" + id, options().runs,
                 [codec](benchmark::State& state) { analyse(state, *codec); });
    if (codec->info().encodes)
      bench::add("encode/" + id, options().runs,
                 [codec](benchmark::State& state) { encode(state, *codec); });
    bench::add("decode/" + id, options().runs,
               [codec](benchmark::State& state) { decode(state, *codec); });
  }
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--self-check") return synps::self_check() ? 0 : 1;
  synps::bench::take_options(argc, argv, synps::options());
  synps::add_codecs();
  return synps::bench::run(argc, argv);
}
