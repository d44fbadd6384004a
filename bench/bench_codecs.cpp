// How fast every built-in codec encodes and decodes, in bytes of f32 a second, beside memcpy and
// the checksum in the same run. On a shared machine only the ratios mean something.

#include <benchmark/benchmark.h>

#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "synps/builtin_codecs.h"
#include "synps/hash.h"

namespace synps {
namespace {

constexpr std::uint64_t kRows = 2048;
constexpr std::uint64_t kColumns = 4096;

const Weight& weight() {
  static const Weight kWeight{"w", Shape{kRows, kColumns}, DType::f32};
  return kWeight;
}

const std::vector<float>& values() {
  static const std::vector<float> kValues = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    std::vector<float> made(kRows * kColumns);
    for (float& value : made) value = normal(random);
    return made;
  }();
  return kValues;
}

/// Buffers for all components of the weight.
struct Stored {
  explicit Stored(const Codec& codec) {
    for (const Component& component : codec.components(weight()))
      buffers.emplace_back(component.bytes);
    analysis = codec.begin_analysis(weight());
    if (analysis) analysis->add(values());
    for (std::size_t i = 0; i < buffers.size(); ++i) {
      const bool per_weight = codec.components(weight())[i].per_weight;
      if (per_weight) analysis->store(i, buffers[i]);
      out.push_back(per_weight ? std::span<std::byte>() : std::span(buffers[i]));
      in.push_back(buffers[i]);
    }
  }

  std::vector<std::vector<std::byte>> buffers;
  std::unique_ptr<Analysis> analysis;
  std::vector<std::span<std::byte>> out;
  std::vector<std::span<const std::byte>> in;
};

const Piece& all() {
  static const Piece kAll{&weight(), 0, kRows, kColumns};
  return kAll;
}

void count_bytes(benchmark::State& state) {
  state.SetBytesProcessed(static_cast<std::int64_t>(state.iterations() * values().size() * 4));
}

void encode(benchmark::State& state, const Codec& codec) {
  const Stored stored(codec);
  for (auto _ : state) {
    ValueReport report;
    codec.encode(all(), values(), stored.analysis.get(), stored.out, report);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void decode(benchmark::State& state, const Codec& codec) {
  const Stored stored(codec);
  if (codec.info().encodes) {
    ValueReport report;
    codec.encode(all(), values(), stored.analysis.get(), stored.out, report);
  }
  std::vector<float> decoded(values().size());
  for (auto _ : state) {
    codec.decode(all(), stored.in, decoded);
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void copy(benchmark::State& state) {
  std::vector<float> target(values().size());
  for (auto _ : state) {
    std::memcpy(target.data(), values().data(), values().size() * sizeof(float));
    benchmark::ClobberMemory();
  }
  count_bytes(state);
}

void checksum(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(xxh3_128(std::as_bytes(std::span(values()))));
  count_bytes(state);
}

void add_codecs() {
  for (const Codec* codec : builtin_registry().all()) {
    const std::string id = codec->info().id();
    if (codec->info().encodes)
      benchmark::RegisterBenchmark(("encode/" + id).c_str(),
                                   [codec](benchmark::State& state) { encode(state, *codec); });
    benchmark::RegisterBenchmark(("decode/" + id).c_str(),
                                 [codec](benchmark::State& state) { decode(state, *codec); });
  }
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  benchmark::RegisterBenchmark("memcpy", synps::copy);
  benchmark::RegisterBenchmark("checksum", synps::checksum);
  synps::add_codecs();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
