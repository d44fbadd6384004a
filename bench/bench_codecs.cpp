// How fast every built-in codec encodes and decodes, beside memcpy in the same run.
//
//   bench_codecs [--benchmark_filter=REGEX …]
//   bench_codecs --self-check    no benchmark; see self_check.h
//
// Counted are bytes of f32 values a second, whatever the codec stores. After every run of a codec,
// as many bytes are copied by memcpy; x_memcpy is the median time of these copies over the median
// time of the codec: 1 means that the codec takes f32 values as fast as memcpy copies them. On a
// shared machine only this ratio means something. All buffers are larger than caches, and reused:
// no page is touched for the first time while the clock runs. One thread, its processor time.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstring>
#include <ctime>
#include <memory>
#include <random>
#include <span>
#include <string>
#include <vector>

#include "self_check.h"
#include "synps/builtin_codecs.h"
#include "synps/hash.h"

namespace synps {
namespace {

constexpr std::uint64_t kRows = 16384;  // 256 MiB of f32
constexpr std::uint64_t kColumns = 4096;
constexpr int kRuns = 9;

const Weight& weight() {
  static const Weight kWeight{"w", Shape{kRows, kColumns}, DType::f32};
  return kWeight;
}

/// Elements from the beginning of a page on, as a program that packs would keep them. All pages are
/// there.
template <typename Element>
class Buffer {
 public:
  explicit Buffer(std::size_t count) : memory_(count * sizeof(Element) + kPage, std::byte{1}) {
    void* begin = memory_.data();
    std::size_t space = memory_.size();
    std::align(kPage, count * sizeof(Element), begin, space);
    elements_ = {static_cast<Element*>(begin), count};
  }
  std::span<Element> elements() const { return elements_; }

 private:
  static constexpr std::size_t kPage = 4096;
  std::vector<std::byte> memory_;
  std::span<Element> elements_;
};

std::span<const float> values() {
  static const Buffer<float> kValues = [] {
    std::mt19937 random(1);
    std::normal_distribution<float> normal(0.0f, 0.02f);
    Buffer<float> made(kRows * kColumns);
    for (float& value : made.elements()) value = normal(random);
    return made;
  }();
  return kValues.elements();
}

/// Where decoders and memcpy write.
std::span<float> target() {
  static const Buffer<float> kTarget(kRows * kColumns);
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
  static const Piece kAll{&weight(), 0, kRows, kColumns};
  return kAll;
}

/// Of this thread's processor time: on a shared machine the clock also counts others' turns.
double now() {
  timespec time{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

template <typename Run>
double seconds(Run run) {
  const double begin = now();
  run();
  benchmark::ClobberMemory();
  return now() - begin;
}

void copy_values() {
  std::memcpy(target().data(), values().data(), values().size() * sizeof(float));
}

double median(std::vector<double> times) {
  std::sort(times.begin(), times.end());
  return times[times.size() / 2];
}

/// Runs `run` and memcpy in turn.
template <typename Run>
void compare(benchmark::State& state, Run run) {
  copy_values();
  run();
  std::vector<double> runs;
  std::vector<double> copies;
  for (auto _ : state) {
    runs.push_back(seconds(run));
    state.SetIterationTime(runs.back());
    copies.push_back(seconds(copy_values));
  }
  const double bytes = static_cast<double>(values().size() * sizeof(float));
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  state.counters["memcpy"] = benchmark::Counter(bytes / median(copies));
  state.counters["x_memcpy"] = median(copies) / median(runs);
  state.counters["x_best"] =
      *std::min_element(copies.begin(), copies.end()) / *std::min_element(runs.begin(), runs.end());
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
  } else {  // f64
    for (std::size_t i = 0; i < values().size(); ++i) {
      const double value = static_cast<double>(values()[i]) * 1.1;
      std::memcpy(stored.out[0].data() + i * sizeof value, &value, sizeof value);
    }
  }
  compare(state, [&] { codec.decode(all(), stored.in, target()); });
}

void checksum(benchmark::State& state) {
  compare(state, [] { benchmark::DoNotOptimize(xxh3_128(std::as_bytes(values()))); });
}

template <typename Body>
void add(const std::string& name, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseManualTime()
      ->Iterations(kRuns)
      ->Unit(benchmark::kMillisecond);
}

void add_codecs() {
  for (const Codec* codec : builtin_registry().all()) {
    const std::string id = codec->info().id();
    if (codec->begin_analysis(weight()))
      add("analyse/" + id, [codec](benchmark::State& state) { analyse(state, *codec); });
    if (codec->info().encodes)
      add("encode/" + id, [codec](benchmark::State& state) { encode(state, *codec); });
    add("decode/" + id, [codec](benchmark::State& state) { decode(state, *codec); });
  }
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  if (argc == 2 && std::string(argv[1]) == "--self-check") return synps::self_check() ? 0 : 1;
  synps::add("checksum", synps::checksum);
  synps::add_codecs();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
