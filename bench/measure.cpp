#include "measure.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <string_view>

namespace synps::bench {
namespace {

/// The number of `--name=N`, at least 1; nothing when `argument` is another one.
bool take_number(std::string_view argument, std::string_view name, std::uint64_t limit,
                 std::uint64_t& number) {
  if (argument.substr(0, name.size()) != name) return false;
  const std::string_view digits = argument.substr(name.size());
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), number);
  if (error != std::errc() || end != digits.data() + digits.size() || number < 1 ||
      number > limit) {
    std::fprintf(stderr, "%.*s: want a number from 1 to %llu\n", static_cast<int>(argument.size()),
                 argument.data(), static_cast<unsigned long long>(limit));
    std::exit(2);
  }
  return true;
}

}  // namespace

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  const double at = share * static_cast<double>(values.size() - 1);
  const auto below = static_cast<std::size_t>(at);
  const std::size_t above = std::min(below + 1, values.size() - 1);
  return values[below] + (at - std::floor(at)) * (values[above] - values[below]);
}

void Pairs::report(benchmark::State& state, const std::string& name, double work) const {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < runs_.size(); ++i) ratios.push_back(baselines_[i] / runs_[i]);
  state.counters[name] = benchmark::Counter(work / quantile(baselines_, 0.5));
  state.counters["x_" + name] = quantile(ratios, 0.5);
  state.counters["x_low"] = quantile(ratios, 0.25);
  state.counters["x_high"] = quantile(ratios, 0.75);
}

void take_number(int& argc, char** argv, const char* name, std::uint64_t limit,
                 std::uint64_t& number) {
  int kept = 1;
  for (int i = 1; i < argc; ++i)
    if (!take_number(argv[i], name, limit, number)) argv[kept++] = argv[i];
  argc = kept;
}

void take_options(int& argc, char** argv, Options& options) {
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    std::uint64_t runs = 0;
    if (take_number(argv[i], "--mib=", 1 << 20, options.mib)) continue;
    if (take_number(argv[i], "--runs=", 1 << 20, runs))
      options.runs = static_cast<std::int64_t>(runs);
    else
      argv[kept++] = argv[i];
  }
  argc = kept;
}

int run(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}

}  // namespace synps::bench
