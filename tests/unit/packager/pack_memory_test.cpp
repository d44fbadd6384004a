// Peak memory does not grow with the largest weight.

#include <doctest/doctest.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <functional>
#include <optional>
#include <string>

#include "gguf_builder.h"
#include "order_targets.h"
#include "pack_fixture.h"
#include "synps/memory.h"
#include "synps/pack.h"
#include "synps/reencode.h"

using namespace synps;
using namespace synps::testing;

namespace {

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
constexpr bool kSanitized = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;
#else
constexpr bool kSanitized = false;
#endif
#else
constexpr bool kSanitized = false;
#endif

/// Says so when there is nothing to measure.
bool skip_measurement() {
  if (kSanitized) MESSAGE("skipped: a sanitizer's own memory hides what is measured");
  return kSanitized;
}

constexpr long kLimitKib = 100 * 1024;

/// A checkpoint with one bf16 tensor of zeros, as a sparse file.
void write_sparse(const std::string& path, const std::vector<std::uint64_t>& shape) {
  const std::uint64_t bytes = Shape(shape).elements() * 2;
  const std::string json = "{\"w\":{\"dtype\":\"BF16\",\"shape\":[" + std::to_string(shape[0]) +
                           "," + std::to_string(shape[1]) + "],\"data_offsets\":[0," +
                           std::to_string(bytes) + "]}}";
  const std::string header = raw_safetensors(json);
  write_file(path, header);
  std::filesystem::resize_file(path, header.size() + bytes);
}

/// Works in a child process, which starts with a peak of its own. Returns the child's peak resident
/// set in KiB, or a negative exit code.
long peak_of_child(const std::function<void()>& work) {
  int pipe[2];
  REQUIRE(::pipe(pipe) == 0);
  const pid_t child = ::fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    long peak = -1;
    try {
      work();
      rusage usage{};
      ::getrusage(RUSAGE_SELF, &usage);
      peak = usage.ru_maxrss;
    } catch (const std::exception&) {
      peak = -2;
    }
    const bool told = ::write(pipe[1], &peak, sizeof peak) == sizeof peak;
    std::_Exit(told ? 0 : 1);
  }
  ::close(pipe[1]);
  long peak = -3;
  const auto size = ::read(pipe[0], &peak, sizeof peak);
  ::close(pipe[0]);
  int status = 0;
  REQUIRE(::waitpid(child, &status, 0) == child);
  return size == sizeof peak ? peak : -4;
}

long peak_of_pack(const std::string& input, const std::string& output, const char* codec,
                  unsigned jobs, const std::optional<CompressRequest>& compress = {},
                  const PackTarget& target = {}) {
  return peak_of_child([&] {
    const Checkpoint checkpoint = Checkpoint::open(input);
    PackOptions options;
    options.jobs = jobs;
    options.replace = true;
    PlanOptions plan;
    plan.compress = compress;
    plan.output = output_kind_of_path(output);
    plan.target = target;
    pack(checkpoint, make_plan(checkpoint, one_format(codec), plan), output, options);
  });
}

}  // namespace

TEST_CASE("a tensor of 1.5 GB packs to q8_0 in less than 100 MiB") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {183'105, 4096});  // 1,500,000,000 bytes and a little
  if (std::filesystem::space(dir.path()).available < 1'000'000'000) {
    MESSAGE("skipped: less than 1 GB free for the output");
    return;
  }
  const long peak = peak_of_pack(input, dir.file("out"), "q8_0", 0);
  CAPTURE(peak);
  CHECK(peak > 0);
  CHECK(peak < kLimitKib);
  CHECK(std::filesystem::file_size(dir.file("out")) > 183'105ull * 4096 / 32 * 34);
}

TEST_CASE("one enormous row stays bounded where the codec can cut it, with many workers too") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {2, 67'108'864});  // 256 MiB of bf16, in rows of 128 MiB
  for (const char* codec : {"q4_0", "ternary:absmean"}) {
    const long peak = peak_of_pack(input, dir.file("out"), codec, 8);
    CAPTURE(codec);
    CAPTURE(peak);
    CHECK(peak > 0);
    CHECK(peak < kLimitKib);
  }
}

TEST_CASE("enormous rows are put in order in bounded memory") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {9, 16'777'216});  // eight rows of 72 MiB together as q4_0, and one more
  const PackTarget target = rows8_target(builtin_registry());
  for (const std::optional<CompressRequest>& compress :
       {std::optional<CompressRequest>(), std::optional(CompressRequest{Compression::zstd, 1})}) {
    const long peak = peak_of_pack(input, dir.file("out"), "q4_0", 4, compress, target);
    CAPTURE(peak);
    CHECK(peak > 0);
    CHECK(peak < kLimitKib);
    const ArtifactReader artifact(dir.file("out"));
    CHECK(artifact.index().weights[0].form.order == Order::rows8);
  }
}

/// The peak of encoding an artifact anew in a child process, which must stay within what it says.
long peak_of_reencoding(const std::string& input, const std::string& output, const char* codec,
                        const std::optional<Order>& order, unsigned jobs, std::uint64_t& said) {
  const Checkpoint source = Checkpoint::open_artifact(input, builtin_registry());
  ReencodeRequest request;
  request.codec = builtin_registry().resolve(codec);
  request.order = order;
  const Plan plan = plan_reencode(source, request, builtin_registry(), Rounding::allowed);
  said = pack_memory(source, plan).with_workers(jobs);
  return peak_of_child([&] {
    PackOptions options;
    options.jobs = jobs;
    options.replace = true;
    options.max_memory = said;
    pack(source, plan, output, options);
  });
}

TEST_CASE("an artifact of enormous rows is encoded anew in the memory that this says it takes") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {9, 8'388'608});
  const PackTarget target = rows8_target(builtin_registry());
  for (const std::optional<CompressRequest>& compress :
       {std::optional<CompressRequest>(), std::optional(CompressRequest{Compression::zstd, 1})}) {
    CHECK(peak_of_pack(input, dir.file("source"), "q4_0", 2, compress, target) > 0);
    for (const char* codec : {"q4_0", "q8_0", "f16", "ternary:absmean"}) {
      CAPTURE(codec);
      std::uint64_t said = 0;
      const std::optional<Order> order =
          std::string_view(codec) == "f16" ? std::nullopt : std::optional(Order::rows1);
      const long peak =
          peak_of_reencoding(dir.file("source"), dir.file("out"), codec, order, 2, said);
      CAPTURE(peak);
      CAPTURE(said);
      CHECK(peak > 0);
      CHECK(peak < kLimitKib);
      CHECK(static_cast<std::uint64_t>(peak) * 1024 <= said);
    }
  }
}

/// Three million strings of a vocabulary, which as objects would take some 100 MB.
TEST_CASE("a GGUF vocabulary is not turned into objects") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.gguf");
  constexpr std::uint64_t kWords = 3'000'000;
  {
    GgufBuilder builder;
    builder.array("tokenizer.ggml.tokens", gguf::kString, kWords, "");
    const std::string head = builder.counts(0, std::nullopt).build();
    std::ofstream out(input, std::ios::binary);
    out.write(head.data(), static_cast<std::streamsize>(builder.tensors_start()));
    const std::string word = gguf_text("0123456789");
    for (std::uint64_t i = 0; i < kWords; ++i)
      out.write(word.data(), static_cast<std::streamsize>(word.size()));
  }
  for (const char* output : {"out", "out.gguf"}) {
    const long peak = peak_of_pack(input, dir.file(output), "f32", 1);
    CAPTURE(output);
    CAPTURE(peak);
    CHECK(peak > 0);
    CHECK(peak < kLimitKib / 2);
  }
  CHECK(std::filesystem::file_size(dir.file("out.gguf")) >= std::filesystem::file_size(input));
}

TEST_CASE("chunks larger than memory should be are compressed in a stream") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {2, 67'108'864});  // one chunk of 256 MiB
  for (const char* codec : {"bf16", "q8_0"}) {
    const long peak =
        peak_of_pack(input, dir.file("out"), codec, 2, CompressRequest{Compression::zstd, 3});
    CAPTURE(codec);
    CAPTURE(peak);
    CHECK(peak > 0);
    CHECK(peak < kLimitKib);
    CHECK(std::filesystem::file_size(dir.file("out")) < 4'000'000);
  }
}

TEST_CASE("the measurement sees a codec that needs a whole row") {
  if (skip_measurement()) return;
  TempDir dir;
  const std::string input = dir.file("model.safetensors");
  write_sparse(input, {1, 16'777'216});  // 64 MiB of f32 values, and as much of source and planes
  CHECK(peak_of_pack(input, dir.file("out"), "ternary:planes", 1) > kLimitKib);
}
