// What a plan says that loading takes is what loading takes, to the byte: of the heap by counting
// what operator new gives, of mappings by the pages that are touched.

#include <doctest/doctest.h>
#include <malloc.h>

#include <algorithm>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "counted_new.h"
#include "load_samples.h"
#include "synps/artifact.h"
#include "synps/load_memory.h"
#include "temp_dir.h"
#include "touched_pages.h"

namespace synps::testing {
namespace {

/// Looks at the heap while weights are read.
class HeapWatch : public TouchedPages {
 public:
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    most_ = std::max(most_, in_use());
    return TouchedPages::pread(descriptor, data, size, offset);
  }
  /// All that malloc has given out; 0 where it does not say.
  static std::uint64_t in_use() {
    const struct mallinfo2 info = mallinfo2();
    return info.uordblks + info.hblkhd;
  }
  std::uint64_t most() const { return most_; }

 private:
  std::uint64_t most_ = 0;
};

void check_mapped(const Artifact& artifact) {
  const std::uint64_t opened = TouchedPages::count();
  Pages pages;
  std::uint64_t bytes = 0;
  for (const WeightView weight : artifact) {
    for (std::size_t c = 0; c < weight.component_count(); ++c) {
      const auto component = weight.component(c);  // compared with its digest, all of it
      if (weight.form().residency == Residency::heap) continue;
      const std::uint64_t stored = weight.stored().components[c].stored_bytes;
      pages.add({component.data(), stored});
      bytes += stored;
    }
    weight.decode();
  }
  CHECK(bytes == artifact.plan().total.mapped);
  // Header, index and sums are no part of the weights, and end with a page.
  CHECK(TouchedPages::count() - opened == pages.count());
}

void check_load(const std::string& file, OpenOptions options) {
  HeapWatch os;
  options.os = &os;
  aligned_bytes.reset_peak();
  const std::uint64_t aligned_before = aligned_bytes.live();
  const Artifact artifact = Artifact::open(file, options);
  const std::uint64_t peak = aligned_bytes.peak() - aligned_before;
  const WeightMemory& total = artifact.plan().total;

  CHECK(aligned_bytes.live() - aligned_before == total.resident);
  CHECK(peak <= total.resident + total.transient);
  // Whatever is not the weights' is there before and after.
  const std::uint64_t after = HeapWatch::in_use();
  if (after != 0 && total.resident > (1u << 20)) CHECK(os.most() <= after + total.transient);

  std::uint64_t sum = 0;
  for (const WeightView weight : artifact) sum += weight.memory().resident;
  CHECK(sum == total.resident);
  check_mapped(artifact);
}

std::vector<OpenOptions> all_options(const KernelRegistry& kernels) {
  std::vector<OpenOptions> all;
  for (const Profile& profile : {profiles::desktop(), profiles::native(), profiles::edge(),
                                 lenient(profiles::mobile_2gb())}) {
    OpenOptions options;
    options.kernels = &kernels;
    options.profile = profile;
    options.budget = std::uint64_t{1} << 40;
    all.push_back(options);
  }
  OpenOptions packed;
  packed.kernels = &kernels;
  all.push_back(packed);
  return all;
}

}  // namespace

TEST_CASE("every codec, order, compression, profile and registry") {
  TempDir dir;
  std::map<std::string, std::vector<WeightToStore>> by_codec;
  for (WeightToStore& sample : samples_of_all_codecs(Shape{83, 1024}))
    by_codec[sample.codec].push_back(std::move(sample));
  const std::vector<NamedKernels> registries = sample_registries();
  std::size_t number = 0;
  for (auto& [codec, samples] : by_codec) {
    CAPTURE(codec);
    const std::string file = dir.file(std::to_string(++number));
    // One that the artifact itself wants on the heap, and one of pages of its own.
    samples.push_back(samples.front());
    samples.back().path = "heap";
    samples.back().residency = ResidencyRequest::heap;
    samples.push_back(samples.front());
    samples.back().path = "volatile";
    samples.back().is_volatile = true;
    build_artifact(file, samples);
    for (const NamedKernels& each : registries)
      for (const OpenOptions& options : all_options(each.kernels)) {
        CAPTURE(each.name);
        CAPTURE((options.profile ? options.profile->name : "none"));
        check_load(file, options);
      }
    std::filesystem::remove(file);
  }
}

TEST_CASE("weights of many chunks, one after the other") {
  TempDir dir;
  const std::string file = dir.file("m.synps");
  std::vector<WeightToStore> samples;
  for (const char* codec : {"f16", "q8_0", "q4_0", "ternary"})
    for (const Order order : {Order::rows1, Order::rows8}) {
      const Codec& found = *builtin_registry().resolve(codec);
      if (order == Order::rows8 && found.info().dense) continue;
      for (const bool compress : {false, true}) {
        samples.push_back(sample_weight(found, Shape{700, 4096}, 5));
        samples.back().order = order;
        if (compress) samples.back().compress = {Compression::zstd, 1};
        samples.back().path = std::to_string(samples.size());
      }
    }
  build_artifact(file, samples);
  for (const NamedKernels& each : sample_registries())
    for (const OpenOptions& options : all_options(each.kernels)) {
      CAPTURE(each.name);
      check_load(file, options);
    }
}

TEST_CASE("a weight that is converted needs its buffer, and no more") {
  TempDir dir;
  const std::string file = dir.file("m.synps");
  WeightToStore sample = sample_weight(*builtin_registry().resolve("q8_0"), Shape{700, 4096}, 3);
  sample.path = "w";
  build_artifact(file, {sample});
  for (const NamedKernels& each : sample_registries()) {
    if (each.name != "rows8" && each.name != "empty") continue;
    OpenOptions options;
    options.kernels = &each.kernels;
    options.profile = profiles::desktop();
    options.budget = std::uint64_t{1} << 40;
    aligned_bytes.reset_peak();
    const std::uint64_t before = aligned_bytes.live();
    const Artifact artifact = Artifact::open(file, options);
    const WeightMemory& memory = artifact["w"].memory();
    CHECK(memory.transient > (1u << 19));
    CHECK(aligned_bytes.peak() - before == memory.resident + memory.transient);
  }
}

}  // namespace synps::testing
