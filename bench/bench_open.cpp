// How long opening an artifact takes, and the first decode of one of its weights.
//
//   bench_open [--runs=N] [--benchmark_filter=REGEX …]
//
// The artifacts, of 130, 6,000 and 60,000 weights, are made in a temporary folder that is removed
// at the end; their bytes are in the page cache. All weights but one are small: opening does not
// read them.
//   open          maps the file and checks header and index. Beside it: the header and the index
//   are
//                 read into a reused buffer and hashed, the least that any check must do. x_hash is
//                 the median of that time over opening's, pair by pair.
//   first_decode  the first decode of a weight of 4096 × 4096 in q8_0 after opening: its pages come
//                 into the process and its checksums are compared. Beside it: the same decode
//                 again. x_again is the median of the second time over the first.
// One thread, its processor time. The number of weights is part of the name.

#include <benchmark/benchmark.h>
#include <fmt/format.h>
#include <stdlib.h>

#include <cstdint>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "checkpoint_file.h"
#include "measure.h"
#include "synps/artifact.h"
#include "synps/builtin_codecs.h"
#include "synps/file.h"
#include "synps/hash.h"
#include "synps/pack.h"
#include "synps/plan.h"
#include "synps/policy.h"

namespace synps {
namespace {

constexpr const char* kLarge = "model.layers.0.mlp.down_proj.weight";
constexpr std::uint64_t kLargeExtent = 4096;
constexpr std::size_t kWeightsInLayer = 8;

constexpr const char* kPolicy = R"(
[myelin]
formats = ["bf16"]
[[policies."*".schemes]]
format = "q8_0"
[[policies."**.*norm".schemes]]
format = "f32"
)";

/// A folder that goes with everything in it.
class TemporaryFolder {
 public:
  TemporaryFolder() {
    std::string pattern = (std::filesystem::temp_directory_path() / "bench_open.XXXXXX").string();
    if (::mkdtemp(pattern.data()) == nullptr)
      throw std::system_error(errno, std::generic_category(), pattern);
    path_ = pattern;
  }
  ~TemporaryFolder() {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
  }
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;

  std::string file(const std::string& name) const { return (path_ / name).string(); }

 private:
  std::filesystem::path path_;
};

/// `count` weights: layers of projections and norms, and among them one large weight.
std::vector<Weight> weights(std::size_t count) {
  std::vector<Weight> made{{kLarge, {kLargeExtent, kLargeExtent}, DType::bf16}};
  for (std::size_t layer = 0; made.size() < count; ++layer) {
    const std::string base = fmt::format("model.layers.{}.", layer + 1);
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      made.push_back({base + "self_attn." + name + ".weight", {2, 64}, DType::bf16});
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      made.push_back({base + "mlp." + name + ".weight", {2, 64}, DType::bf16});
    made.push_back({base + "input_layernorm.weight", {64}, DType::bf16});
  }
  made.resize(count);
  return made;
}

void make_artifact(const std::string& path, std::size_t count) {
  const std::string source = path + ".safetensors";
  bench::write_checkpoint(source, weights(count));
  {
    const Checkpoint checkpoint = Checkpoint::open(source);
    const Policy policy = Policy::parse(kPolicy, "synps.toml", builtin_registry());
    pack(checkpoint, make_plan(checkpoint, policy), path);
  }
  std::filesystem::remove(source);
}

/// Bytes at the front of the file that opening reads: length field, header and index.
std::uint64_t bytes_to_check(const InputFile& file) {
  std::byte length[8];
  file.read(0, length);
  std::uint64_t header = 0;
  std::memcpy(&header, length, sizeof header);  // little-endian, as this machine is
  // The index is the first entry of the data; the sums, 16 bytes a chunk, follow it and are small.
  const Artifact artifact = Artifact::open(file.path());
  std::uint64_t end = UINT64_MAX;
  for (const StoredWeight& weight : artifact.index().weights)
    for (const StoredComponent& component : weight.components)
      end = std::min(end, component.offset);
  return sizeof length + header + end;
}

void open(benchmark::State& state, const std::string& path) {
  const InputFile file(Os::posix(), path);
  const bench::Buffer<std::byte> buffer(static_cast<std::size_t>(bytes_to_check(file)));
  const auto hash = [&] {
    file.read(0, buffer.elements());
    benchmark::DoNotOptimize(xxh3_128(buffer.elements()));
  };
  std::optional<Artifact> artifact;
  const auto run = [&] { artifact = Artifact::open(path); };
  run();
  hash();
  bench::Pairs pairs;
  for (auto _ : state) {
    artifact.reset();
    const double time = bench::seconds(run);
    state.SetIterationTime(time);
    pairs.add(time, bench::seconds(hash));
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(artifact->size()));
  pairs.report(state, "hash", static_cast<double>(buffer.elements().size()));
  state.counters["weights"] = static_cast<double>(artifact->size());
  state.counters["checked_bytes"] = static_cast<double>(buffer.elements().size());
}

void first_decode(benchmark::State& state, const std::string& path) {
  const bench::Buffer<float> out(kLargeExtent * kLargeExtent);
  bench::Pairs pairs;
  for (auto _ : state) {
    const Artifact artifact = Artifact::open(path);
    const auto run = [&] { artifact[kLarge].decode({0, kLargeExtent}, out.elements()); };
    const double time = bench::seconds(run);
    state.SetIterationTime(time);
    pairs.add(time, bench::seconds(run));
  }
  const std::size_t bytes = out.elements().size_bytes();
  state.SetBytesProcessed(state.iterations() * static_cast<std::int64_t>(bytes));
  pairs.report(state, "again", static_cast<double>(bytes));
}

int run(int argc, char** argv) {
  bench::Options options;
  bench::take_options(argc, argv, options);
  const TemporaryFolder folder;
  for (const std::size_t count : {130, 6'000, 60'000}) {
    const std::string path = folder.file(std::to_string(count) + ".synps");
    make_artifact(path, count);
    const std::string name = "/weights:" + std::to_string(count);
    bench::add("open" + name, options.runs, [path](benchmark::State& state) { open(state, path); });
    bench::add("first_decode" + name, options.runs,
               [path](benchmark::State& state) { first_decode(state, path); });
  }
  return bench::run(argc, argv);
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  try {
    return synps::run(argc, argv);
  } catch (const std::exception& error) {
    fmt::print(stderr, "bench_open: error: {}\n", error.what());
    return 1;
  }
}
