// What callers ask for when they open an artifact, and what is refused before a weight is read.

#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "faulty_os.h"
#include "load_samples.h"
#include "synps/artifact.h"
#include "synps/artifact_reader.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

/// Counts reads of what follows the index.
class ReadCounter : public Os {
 public:
  explicit ReadCounter(std::uint64_t weights_begin) : weights_begin_(weights_begin) {}
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    if (offset + size > weights_begin_) ++reads;
    return Os::pread(descriptor, data, size, offset);
  }
  std::uint64_t reads = 0;

 private:
  std::uint64_t weights_begin_;
};

/// Cuts the file when weights begin to be read.
class CuttingOs : public Os {
 public:
  CuttingOs(std::string path, std::uint64_t weights_begin, std::uint64_t size)
      : path_(std::move(path)), weights_begin_(weights_begin), size_(size) {}
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    if (offset >= weights_begin_) std::filesystem::resize_file(path_, size_);
    return Os::pread(descriptor, data, size, offset);
  }

 private:
  std::string path_;
  std::uint64_t weights_begin_;
  std::uint64_t size_;
};

WeightToStore matrix(const std::string& path, const std::string& codec,
                     ResidencyRequest residency = ResidencyRequest::automatic) {
  WeightToStore weight = sample_weight(*builtin_registry().resolve(codec), Shape{64, 512}, 1);
  weight.path = path;
  weight.residency = residency;
  return weight;
}

std::uint64_t begin_of_weights(const std::string& file) {
  const ArtifactReader reader(file);
  std::uint64_t begin = ~std::uint64_t{0};
  for (const StoredWeight& weight : reader.index().weights)
    for (const StoredComponent& component : weight.components)
      begin = std::min(begin, reader.file_offset(component));
  return begin;
}

OpenOptions with(const Profile& profile, std::uint64_t budget) {
  OpenOptions options;
  options.profile = profile;
  options.budget = budget;
  return options;
}

LoadOverride ask(std::string prefix, const LoadRequest& request) {
  return {[prefix = std::move(prefix)](std::string_view path) { return path.starts_with(prefix); },
          request};
}

}  // namespace

TEST_CASE("what does not fit the budget is refused before a weight is read") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("a", "q8_0", ResidencyRequest::heap), matrix("b", "f16")});
  const std::uint64_t begin = begin_of_weights(file);
  const std::uint64_t need = 64 * 512 / 32 * 34;
  for (const bool profiled : {true, false})
    for (const Verification verification : {Verification::first_use, Verification::all}) {
      CAPTURE(profiled);
      ReadCounter os(begin);
      OpenOptions options = with(profiles::edge(), need - 1);
      if (!profiled) options.profile.reset();
      options.verification = verification;
      options.os = &os;
      const Problem problem = thrown_problem([&] { Artifact::open(file, options); });
      CHECK(problem.code == ErrorCode::limit);
      CHECK(problem.file == file);
      CHECK(os.reads == 0);

      options.allow_over_budget = true;
      const Artifact artifact = Artifact::open(file, options);
      CHECK_FALSE(artifact.plan().fits);
      CHECK(artifact.plan().total.resident == need);
      CHECK(os.reads > 0);
      CHECK(artifact["a"].decode().size() == 64 * 512);

      options.allow_over_budget = false;
      options.budget = need;
      CHECK(Artifact::open(file, options).plan().fits);
    }
}

TEST_CASE("a strict profile refuses to dequantize, before a weight is read") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("a", "q8_0")});
  const KernelRegistry empty;
  ReadCounter os(begin_of_weights(file));
  OpenOptions options = with(profiles::mobile_2gb(), std::uint64_t{1} << 40);
  options.kernels = &empty;
  options.os = &os;
  const Problem problem = thrown_problem([&] { Artifact::open(file, options); });
  CHECK(problem.code == ErrorCode::limit);
  CHECK(problem.field == "a");
  CHECK(os.reads == 0);
  options.overrides = {ask("a", {.order = OrderRequest::as_stored})};
  CHECK_FALSE(Artifact::open(file, options)["a"].decision().converts());
}

TEST_CASE("the budget maps what only the profile wants on the heap") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("a", "f32"), matrix("b", "q8_0"), matrix("c", "f16")});
  const KernelRegistry rows1 =
      builtin_kernels().only([](const Kernel& k) { return k.key.order == Order::rows1; });
  const std::uint64_t b_and_c = 64 * 512 / 32 * 34 + 64 * 512 * 2;
  OpenOptions options = with(profiles::desktop(), b_and_c);
  options.kernels = &rows1;
  const Artifact artifact = Artifact::open(file, options);
  CHECK(artifact["a"].form().residency == Residency::mapped);
  CHECK(artifact["a"].decision().reason == FormReason::undone);
  CHECK(artifact["b"].form().residency == Residency::heap);
  CHECK(artifact["c"].form().residency == Residency::heap);
  CHECK(artifact.plan().total.resident == b_and_c);
  options.budget = b_and_c - 1;
  CHECK(Artifact::open(file, options)["c"].form().residency == Residency::mapped);
  options.budget = 0;
  CHECK(Artifact::open(file, options).plan().total.resident == 0);
}

TEST_CASE("the first override that matches a path holds, with and without a profile") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("a.x", "q8_0"), matrix("a.y", "q8_0"), matrix("b", "q8_0")});
  for (const bool profiled : {false, true}) {
    OpenOptions options = with(profiles::edge(), std::uint64_t{1} << 40);
    if (!profiled) options = {};
    options.overrides = {ask("a.y", {.residency = ResidencyRequest::heap}),
                         ask("a", {.dequantize = true})};
    const Artifact artifact = Artifact::open(file, options);
    CHECK(artifact["a.x"].decision().reason == FormReason::asked_dequantized);
    CHECK(artifact["a.x"].form().residency == Residency::heap);
    CHECK(to_string(artifact["a.x"].form().encoding) == "dequantize_to(f32)");
    CHECK_FALSE(artifact["a.y"].decision().converts());
    CHECK(artifact["a.y"].form().residency == Residency::heap);
    CHECK(artifact["b"].form().residency == Residency::mapped);
  }
}

TEST_CASE("components are those of the loaded form") {
  TempDir dir;
  const std::string file = dir.file("m");
  build_artifact(file, {matrix("q", "q4_0"), matrix("t", "ternary")});
  OpenOptions options;
  options.overrides = {ask("t", {.dequantize = true}),
                       ask("q", {.order = OrderRequest::kernel_feed})};
  KernelRegistry kernels =
      builtin_kernels().only([](const Kernel& k) { return k.key.order == Order::rows8; });
  options.kernels = &kernels;
  const Artifact artifact = Artifact::open(file, options);

  const WeightView t = artifact["t"];
  CHECK(t.component_count() == 1);
  const auto values = t.component("values");
  REQUIRE(values.size() == 64 * 512 * sizeof(float));
  const std::vector<float> decoded = t.decode();
  CHECK(std::memcmp(values.data(), decoded.data(), values.size()) == 0);
  CHECK(thrown_problem([&] { t.component("codes"); }).want == "values");
  CHECK(thrown_problem([&] { t.component(1); }).code == ErrorCode::usage);
  CHECK(t.stored().components.size() == 2);
  CHECK(t.codec() == builtin_registry().resolve("ternary"));

  const WeightView q = artifact["q"];
  CHECK(q.form().order == Order::rows8);
  CHECK(q.stored().form.order == Order::rows1);
  const Artifact packed = Artifact::open(file);
  const auto rows1 = packed["q"].component(0);
  std::vector<std::byte> rows8(rows1.size());
  rows8_from_rows1({64, 512 / 32 * 18, 18}, rows1, rows8);
  const auto loaded = q.component("blocks");
  CHECK(std::equal(rows8.begin(), rows8.end(), loaded.begin(), loaded.end()));
}

TEST_CASE("a file that is cut while weights are read is an I/O error, whatever becomes of them") {
  TempDir dir;
  const std::string original = dir.file("original");
  WeightToStore compressed = matrix("z", "q8_0");
  compressed.compress = {Compression::zstd, 1};
  for (const WeightToStore& weight : {matrix("w", "q8_0"), compressed}) {
    const std::string file = dir.file("m" + weight.path);
    build_artifact(file, {weight});
    const std::uint64_t begin = begin_of_weights(file);
    const std::string bytes = read_file(file);
    for (const NamedKernels& each : sample_registries())
      for (const Verification verification : {Verification::first_use, Verification::never}) {
        CAPTURE(each.name);
        write_file(file, bytes);
        CuttingOs os(file, begin, begin + 100);
        OpenOptions options = with(profiles::desktop(), std::uint64_t{1} << 40);
        options.kernels = &each.kernels;
        options.verification = verification;
        options.os = &os;
        CHECK(thrown_problem([&] { Artifact::open(file, options); }).code == ErrorCode::io);
      }
  }
}

TEST_CASE("reads that fail or are short while weights are converted") {
  TempDir dir;
  const std::string file = dir.file("m");
  WeightToStore compressed = matrix("z", "q4_0");
  compressed.compress = {Compression::zstd, 1};
  build_artifact(file, {matrix("a", "q8_0"), matrix("b", "ternary"), compressed});
  const KernelRegistry empty;
  const KernelRegistry rows8 =
      builtin_kernels().only([](const Kernel& k) { return k.key.order == Order::rows8; });
  const Artifact expected = Artifact::open(file);
  for (const KernelRegistry* kernels : {&empty, &rows8})
    for (const int error : {-EIO, -EINTR, FaultyOs::kShort})
      for (FaultyOs::Fault fault{FaultyOs::Call::pread, 1, error};; ++fault.at) {
        FaultyOs os(fault);
        OpenOptions options = with(profiles::desktop(), std::uint64_t{1} << 40);
        options.kernels = kernels;
        options.os = &os;
        const Problem problem = thrown_problem([&] {
          const Artifact artifact = Artifact::open(file, options);
          for (const WeightView weight : artifact)
            CHECK(weight.decode() == expected[weight.path()].decode());
        });
        if (!os.triggered()) break;
        CHECK((error == -EIO) == (problem.code == ErrorCode::io && !problem.file.empty()));
      }
}

TEST_CASE("chunks that cut groups of rows are refused where weights are converted") {
  TempDir dir;
  WeightToStore weight = sample_weight(*builtin_registry().resolve("q8_0"), Shape{700, 4096}, 1);
  weight.path = "w";
  for (const bool rows : {true, false}) {
    build_artifact(dir.file(rows ? "rows" : "bytes"), {weight}, {}, builtin_registry(),
                   [rows](ArtifactLayout& layout) {
                     StoredComponent& component = layout.index.weights[0].components[0];
                     REQUIRE(component.chunks() == 3);
                     if (rows)
                       component.chunk_rows -= 4;
                     else
                       component.chunk_bytes -= 34;
                     REQUIRE(component.chunks() == 3);
                   });
    for (const NamedKernels& each : sample_registries()) {
      CAPTURE(each.name);
      OpenOptions options = with(profiles::desktop(), std::uint64_t{1} << 40);
      options.kernels = &each.kernels;
      const bool converts = each.name == "rows8" || each.name == "dense" || each.name == "empty";
      const Problem problem =
          thrown_problem([&] { Artifact::open(dir.file(rows ? "rows" : "bytes"), options); });
      CHECK((problem.code == ErrorCode::artifact) == converts);
      if (converts) CHECK(problem.field == "w#blocks");
    }
  }
}

}  // namespace synps::testing
