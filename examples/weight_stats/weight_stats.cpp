// Prints the statistics of the weights of an artifact. Links nothing but synps::runtime.
//
//   weight_stats ARTIFACT [WEIGHT...]

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <limits>
#include <string>
#include <vector>

#include "synps/artifact.h"
#include "synps/error.h"
#include "synps/form.h"

namespace {

struct Statistics {
  double min = std::numeric_limits<double>::infinity();
  double max = -std::numeric_limits<double>::infinity();
  double sum = 0;
  double sum_of_squares = 0;
  std::uint64_t count = 0;

  void add(double value) {
    min = std::fmin(min, value);
    max = std::fmax(max, value);
    sum += value;
    sum_of_squares += value * value;
    ++count;
  }
  double mean() const { return sum / static_cast<double>(count); }
  double rms() const { return std::sqrt(sum_of_squares / static_cast<double>(count)); }
};

// Decodes some rows at a time, so that memory does not grow with the weight.
Statistics statistics(const synps::WeightView& weight) {
  constexpr std::uint64_t kValuesAtOnce = 1 << 20;
  const std::uint64_t columns = weight.shape().columns();
  const std::uint64_t rows = columns == 0 ? 0 : weight.shape().rows();
  const std::uint64_t rows_at_once =
      std::max<std::uint64_t>(1, columns == 0 ? 1 : kValuesAtOnce / columns);

  Statistics result;
  std::vector<float> values;
  for (std::uint64_t row = 0; row < rows; row += rows_at_once) {
    const std::uint64_t count = std::min(rows_at_once, rows - row);
    values.resize(count * columns);
    weight.decode({row, count}, values);
    for (const float value : values) result.add(static_cast<double>(value));
  }
  return result;
}

void print(const synps::WeightView& weight) {
  const synps::WeightForm& form = weight.form();
  std::printf("%s %s %s %s %s %s", synps::escape_for_display(weight.path()).c_str(),
              weight.shape().to_string().c_str(), weight.stored().codec.id().c_str(),
              synps::to_string(weight.stored().form.encoding).c_str(),
              std::string(synps::to_string(form.order)).c_str(),
              std::string(synps::to_string(form.residency)).c_str());
  if (weight.codec() == nullptr) {
    std::printf(" (kept as stored, not decoded)\n");
    return;
  }
  const Statistics found = statistics(weight);
  if (found.count == 0) {
    std::printf(" (no elements)\n");
    return;
  }
  std::printf(" min %.9g max %.9g mean %.9g rms %.9g\n", found.min, found.max, found.mean(),
              found.rms());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    std::fprintf(stderr, "usage: weight_stats ARTIFACT [WEIGHT...]\n");
    return 2;
  }
  try {
    const synps::Artifact artifact = synps::Artifact::open(argv[1]);
    if (argc == 2) {
      for (const synps::WeightView& weight : artifact) print(weight);
    }
    for (int i = 2; i < argc; ++i) print(artifact[argv[i]]);
  } catch (const synps::Error& error) {
    std::fprintf(stderr, "weight_stats: error: %s\n", error.what());
    return static_cast<int>(error.code());
  }
  return 0;
}
