#pragma once

#include <benchmark/benchmark.h>

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace synps::bench {

/// Elements from the beginning of a page on, as a program that packs would keep them. All pages are
/// there: none is touched for the first time while the clock runs.
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

/// Processor time of this thread, in seconds: on a shared machine the clock also counts others'
/// turns.
inline double now() {
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

/// Of `values`, not empty, the one below which the part `share` of them lies (0: the smallest, 1:
/// the largest); between two neighbours it is interpolated.
double quantile(std::vector<double> values, double share);

/// Times of a run and of the baseline that took its turn just after, pair by pair.
class Pairs {
 public:
  void add(double run, double baseline) {
    runs_.push_back(run);
    baselines_.push_back(baseline);
  }

  /// Adds counters: x_NAME, the median of the pairs' baseline time ÷ run time (1: as fast as the
  /// baseline), x_low and x_high, its quartiles, and NAME, what the baseline did a second, of
  /// `work` bytes or things.
  void report(benchmark::State& state, const std::string& name, double work) const;

 private:
  std::vector<double> runs_;
  std::vector<double> baselines_;
};

/// What every benchmark program here takes beside Google Benchmark's own options:
///   --mib=N   MiB of values or bytes that each benchmark goes over
///   --runs=N  how often
struct Options {
  std::uint64_t mib = 256;  ///< larger than most caches
  std::int64_t runs = 9;
};

/// Takes `NAME=N`, at least 1 and at most `limit`, out of argc and argv, if it is there. `name`
/// ends with "=". Ends the program with status 2 when a number is not one.
void take_number(int& argc, char** argv, const char* name, std::uint64_t limit,
                 std::uint64_t& number);

/// Takes these out of argc and argv. Ends the program with status 2 when a number is not one.
void take_options(int& argc, char** argv, Options& options);

/// Registers a benchmark that tells its time itself, `runs` times.
template <typename Body>
void add(const std::string& name, std::int64_t runs, Body body) {
  benchmark::RegisterBenchmark(name.c_str(), body)
      ->UseManualTime()
      ->Iterations(runs)
      ->Unit(benchmark::kMillisecond);
}

/// Runs what is registered, under Google Benchmark's options. Returns the exit status.
int run(int argc, char** argv);

}  // namespace synps::bench
