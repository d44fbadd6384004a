// Volatile weights give their pages back, and are read again; several threads at once.

#include <doctest/doctest.h>

#include <atomic>
#include <cerrno>
#include <cstdint>
#include <string>
#include <thread>
#include <vector>

#include "artifact_builder.h"
#include "faulty_os.h"
#include "kernel_samples.h"
#include "load_samples.h"
#include "resident_pages.h"
#include "synps/artifact.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

WeightToStore matrix(const std::string& path, const std::string& codec, bool is_volatile) {
  WeightToStore weight = sample_weight(*builtin_registry().resolve(codec), Shape{512, 2048}, 1);
  weight.path = path;
  weight.is_volatile = is_volatile;
  return weight;
}

/// Whole pages inside the bytes of the mapped volatile weights.
std::uint64_t volatile_bytes(const Artifact& artifact) {
  constexpr std::uint64_t kPage = 4096;
  std::uint64_t bytes = 0;
  for (const WeightView weight : artifact) {
    if (!weight.stored().scheme->is_volatile || weight.form().residency == Residency::heap)
      continue;
    for (std::size_t c = 0; c < weight.component_count(); ++c) {
      const auto begin = reinterpret_cast<std::uintptr_t>(weight.component(c).data());
      const std::uint64_t end = begin + weight.stored().components[c].stored_bytes;
      bytes += end / kPage * kPage - (begin + kPage - 1) / kPage * kPage;
    }
  }
  return bytes;
}

}  // namespace

TEST_CASE("end_invocation takes volatile weights out of the resident set, and nothing else") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("dense", "f16", true), matrix("stays", "q8_0", false),
                        matrix("t", "ternary", true), matrix("v", "q8_0", true)});
  const Artifact artifact = Artifact::open(file);
  std::vector<std::vector<float>> values;
  for (const WeightView weight : artifact) values.push_back(weight.decode());
  const std::uint64_t most = volatile_bytes(artifact);
  CHECK(most > (3u << 20));
  for (int round = 0; round < 3; ++round) {
    const std::uint64_t before = resident_bytes(file);
    artifact.end_invocation();
    const std::uint64_t after = resident_bytes(file);
    CHECK(before - after == most);
    for (std::size_t i = 0; i < artifact.size(); ++i)
      CHECK(artifact.weight(i).decode() == values[i]);
  }
}

TEST_CASE("what is on the heap, or not volatile, is left alone") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("stays", "q8_0", false), matrix("v", "q8_0", true)});
  FaultyOs os;
  OpenOptions options;
  options.os = &os;
  options.overrides = {{nullptr, {.residency = ResidencyRequest::heap}}};
  const Artifact on_heap = Artifact::open(file, options);
  on_heap.end_invocation();
  CHECK(os.calls(FaultyOs::Call::discard) == 0);
  options.overrides.clear();
  Artifact::open(file, options).end_invocation();
  CHECK(os.calls(FaultyOs::Call::discard) == 1);
}

TEST_CASE("a system that refuses is an I/O error, and the weights stay readable") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("v", "q8_0", true)});
  FaultyOs os({FaultyOs::Call::discard, 1, -EINVAL, true});
  OpenOptions options;
  options.os = &os;
  const Artifact artifact = Artifact::open(file, options);
  const std::vector<float> values = artifact["v"].decode();
  CHECK(thrown_problem([&] { artifact.end_invocation(); }).code == ErrorCode::io);
  CHECK(artifact["v"].decode() == values);
}

TEST_CASE("threads read and multiply while others end invocations") {
  TempDir dir;
  const std::string file = dir.file("m");
  std::vector<WeightToStore> weights;
  for (const char* codec : {"f16", "q8_0", "q4_0", "q4_k", "ternary"})
    weights.push_back(matrix(codec, codec, true));
  build_artifact(file, weights);
  const std::vector<float> x = test_values(2048, 9);
  std::vector<std::vector<float>> rows(weights.size(), std::vector<float>(2048));
  std::vector<std::vector<float>> products(weights.size(), std::vector<float>(512));
  {
    const Artifact artifact = Artifact::open(file);
    for (std::size_t i = 0; i < artifact.size(); ++i) {
      artifact.weight(i).decode({100, 1}, rows[i]);
      artifact.weight(i).matvec(x, products[i]);
    }
  }
  for (const bool profiled : {false, true}) {
    OpenOptions options;
    if (profiled) options.profile = profiles::edge();
    const Artifact artifact = Artifact::open(file, options);
    ThreadPool pool(2);
    std::atomic<std::uint64_t> wrong = 0;
    const auto use = [&](std::size_t offset) {
      for (std::size_t n = 0; n < 2 * weights.size(); ++n) {
        const std::size_t i = (n + offset) % weights.size();
        std::vector<float> row(2048);
        std::vector<float> y(512);
        artifact.weight(i).decode({100, 1}, row);
        artifact.weight(i).matvec(x, y, n % 2 == 0 ? &pool : nullptr);
        if (!same_results(row, rows[i]) || !same_results(y, products[i])) ++wrong;
        if (n % 3 == 0) artifact.end_invocation();
      }
    };
    std::vector<std::thread> threads;
    for (std::size_t t = 0; t < 4; ++t) threads.emplace_back(use, t);
    for (std::thread& thread : threads) thread.join();
    CHECK(wrong == 0);
  }
}

}  // namespace synps::testing
