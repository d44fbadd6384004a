#include "checkpoint_file.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <span>

#include "safetensors_output.h"
#include "synps/builtin_codecs.h"
#include "synps/file.h"
#include "synps/parallel.h"

namespace synps::bench {
namespace {

constexpr std::uint64_t kSlabElements = 1u << 18;

/// SplitMix64 (Steele, Lea and Flood, 2014): the next of a sequence that its seed determines.
std::uint64_t next_random(std::uint64_t& state) {
  std::uint64_t z = state += 0x9E3779B97F4A7C15u;
  z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9u;
  z = (z ^ (z >> 27)) * 0x94D049BB133111EBu;
  return z ^ (z >> 31);
}

/// The standard normal distribution by its quantiles, straight lines between them: exact enough for
/// data that only has to look like weights, and as fast as it can be written.
class Normal {
 public:
  Normal() {
    for (std::size_t i = 1; i < kIntervals; ++i)
      quantiles_[i] = quantile(static_cast<double>(i) / kIntervals);
    quantiles_.front() = -kLargest;
    quantiles_.back() = kLargest;
  }

  float at(std::uint32_t random) const {
    const std::size_t i = random >> kFractionBits;
    const auto part = static_cast<float>(random & ((1u << kFractionBits) - 1)) * kFractionUnit;
    return quantiles_[i] + part * (quantiles_[i + 1] - quantiles_[i]);
  }

 private:
  static constexpr std::size_t kIntervals = 4096;
  static constexpr unsigned kFractionBits = 20;
  static constexpr float kFractionUnit = 1.0f / (1u << kFractionBits);
  static constexpr float kLargest = 4.5f;

  /// Where the distribution's integral, erfc(−x/√2)/2, is `share`.
  static float quantile(double share) {
    double low = -kLargest;
    double high = kLargest;
    for (int step = 0; step < 40; ++step) {
      const double middle = (low + high) / 2;
      (std::erfc(-middle / std::sqrt(2.0)) / 2 < share ? low : high) = middle;
    }
    return static_cast<float>(low);
  }

  std::array<float, kIntervals + 1> quantiles_{};
};

/// A stretch of one weight.
struct Slab {
  std::size_t weight = 0;
  std::uint64_t begin = 0;  ///< elements
  std::uint64_t end = 0;
};

std::vector<Slab> cut(const std::vector<Weight>& weights) {
  std::vector<Slab> slabs;
  for (std::size_t i = 0; i < weights.size(); ++i)
    for (std::uint64_t at = 0; at < weights[i].shape.elements(); at += kSlabElements)
      slabs.push_back({i, at, std::min(at + kSlabElements, weights[i].shape.elements())});
  return slabs;
}

void fill(const Normal& normal, const Weight& weight, const Slab& slab, std::span<float> out) {
  const bool norm = weight.shape.rank() < 2;
  const float mean = norm ? 1.0f : 0.0f;
  const float width = norm ? 0.1f : 0.01f * static_cast<float>(2 + slab.weight % 4);
  std::uint64_t state = (slab.weight << 32) + slab.begin;
  for (std::size_t i = 0; i < out.size(); i += 2) {
    const std::uint64_t random = next_random(state);
    out[i] = mean + width * normal.at(static_cast<std::uint32_t>(random));
    if (i + 1 < out.size())
      out[i + 1] = mean + width * normal.at(static_cast<std::uint32_t>(random >> 32));
  }
}

/// A worker's memory, used slab after slab.
struct Buffers {
  std::vector<float> values = std::vector<float>(kSlabElements);
  std::vector<std::byte> bytes = std::vector<std::byte>(kSlabElements * sizeof(float));
};

}  // namespace

void write_checkpoint(const std::string& path, const std::vector<Weight>& weights) {
  std::vector<SafetensorsEntry> entries;
  entries.reserve(weights.size());
  for (const Weight& weight : weights) entries.push_back({weight.path, weight.dtype, weight.shape});
  const SafetensorsLayout layout = lay_out_safetensors(entries, {{"format", "pt"}}, path);
  AtomicFile file(Os::posix(), path, {});
  file.allocate(layout.file_bytes);
  file.write(0, std::as_bytes(std::span(layout.header)));

  const Normal normal;
  const std::vector<Slab> slabs = cut(weights);
  std::vector<Buffers> buffers(worker_count(0, slabs.size()));
  run_parallel(
      static_cast<unsigned>(buffers.size()), slabs.size(),
      [&](unsigned worker, std::uint64_t number) {
        const Slab& slab = slabs[static_cast<std::size_t>(number)];
        const Weight& weight = weights[slab.weight];
        const std::uint64_t width = dtype_bits(weight.dtype) / 8;
        const auto values = std::span(buffers[worker].values).first(slab.end - slab.begin);
        const auto bytes = std::span(buffers[worker].bytes).first(values.size() * width);
        fill(normal, weight, slab, values);
        const std::array<std::span<std::byte>, 1> out{bytes};
        ValueReport report;
        builtin_registry()
            .for_dtype(weight.dtype)
            ->encode({&weight, slab.begin, 1, values.size()}, values, nullptr, out, report);
        file.write(layout.header.size() + entries[slab.weight].begin + slab.begin * width, bytes);
      });
  file.commit();
}

}  // namespace synps::bench
