// How fast the digests of an artifact's chunks are taken, beside reading the same memory in the
// same run.
//
//   bench_checksum [--mib=N] [--runs=N] [--benchmark_filter=REGEX …]
//
// A chunk is what one XXH3-128 of the artifact covers: 1 MiB of a large weight, all of a small one.
// "whole" hashes each chunk in one call, as a mapped artifact is checked; "pieces" hands each to a
// Hasher piece by piece, as pack does with what it has just encoded (131,072 values are 136 KiB of
// q8_0). Then every 64-bit word of the same bytes is read and added up; x_read is the median of
// that time over the hash's, pair by pair: 1 means that hashing is as fast as memory can be read.
// The bytes come from memory where --mib exceeds the caches. One thread, its processor time.

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <span>
#include <string>

#include "measure.h"
#include "synps/hash.h"

namespace synps {
namespace {

using Word = std::uint64_t;

constexpr std::size_t kPiece = 128 * 1024;  // bytes

bench::Options& options() {
  static bench::Options options;
  return options;
}

std::span<const Word> words() {
  static const bench::Buffer<Word> kWords = [] {
    std::mt19937_64 random(1);
    bench::Buffer<Word> made(options().mib * (1u << 20) / sizeof(Word));
    for (Word& word : made.elements()) word = random();
    return made;
  }();
  return kWords.elements();
}

/// Several sums, so that no addition waits for the one before it; named one by one, so that they
/// are registers whatever the optimisation.
void read_words() {
  Word a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0;
  const std::span<const Word> all = words();
  const Word* const end = all.data() + all.size();
  for (const Word* at = all.data(); at != end; at += 8) {  // whole MiB
    a += at[0];
    b += at[1];
    c += at[2];
    d += at[3];
    e += at[4];
    f += at[5];
    g += at[6];
    h += at[7];
  }
  benchmark::DoNotOptimize(a + b + c + d + e + f + g + h);
}

template <typename Hash>
void compare(benchmark::State& state, std::size_t chunk, Hash hash) {
  const std::span<const std::byte> bytes = std::as_bytes(words());
  const auto run = [&] {
    for (std::size_t at = 0; at < bytes.size(); at += chunk)
      benchmark::DoNotOptimize(hash(bytes.subspan(at, std::min(chunk, bytes.size() - at))));
  };
  run();
  read_words();
  bench::Pairs pairs;
  for (auto _ : state) {
    const double time = bench::seconds(run);
    state.SetIterationTime(time);
    pairs.add(time, bench::seconds(read_words));
  }
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes.size()));
  pairs.report(state, "read", static_cast<double>(bytes.size()));
}

void whole(benchmark::State& state, std::size_t chunk) {
  compare(state, chunk, [](std::span<const std::byte> bytes) { return xxh3_128(bytes); });
}

void pieces(benchmark::State& state, std::size_t chunk) {
  Hasher hasher;
  compare(state, chunk, [&](std::span<const std::byte> bytes) {
    hasher.reset();
    for (std::size_t at = 0; at < bytes.size(); at += kPiece)
      hasher.update(bytes.subspan(at, std::min(kPiece, bytes.size() - at)));
    return hasher.digest();
  });
}

void add_benchmarks() {
  for (const std::size_t kib : {4, 64, 1024}) {
    const std::size_t chunk = kib * 1024;
    const std::string name = "/chunk_kib:" + std::to_string(kib);
    bench::add("whole" + name, options().runs,
               [chunk](benchmark::State& state) { whole(state, chunk); });
    bench::add("pieces" + name, options().runs,
               [chunk](benchmark::State& state) { pieces(state, chunk); });
  }
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  synps::bench::take_options(argc, argv, synps::options());
  synps::add_benchmarks();
  return synps::bench::run(argc, argv);
}
