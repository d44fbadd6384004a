// What packing says it takes of memory, and a ceiling on it.

#include <doctest/doctest.h>

#include <mutex>
#include <set>
#include <string>
#include <thread>

#include "faulty_os.h"
#include "pack_fixture.h"
#include "synps/memory.h"
#include "synps/pack.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr std::uint64_t kMiB = 1u << 20;

/// The need of packing one tensor of zeros.
MemoryNeed need_of(const char* format, DType dtype, const std::vector<std::uint64_t>& shape) {
  TempDir dir;
  const std::uint64_t bytes = *Shape(shape).bytes(dtype);
  std::string extents;
  for (const std::uint64_t extent : shape)
    extents += (extents.empty() ? "" : ",") + std::to_string(extent);
  const std::string header =
      raw_safetensors("{\"w\":{\"dtype\":\"" + std::string(dtype_name(dtype)) + "\",\"shape\":[" +
                      extents + "],\"data_offsets\":[0," + std::to_string(bytes) + "]}}");
  const std::string path = dir.file("model.safetensors");
  write_file(path, header);
  std::filesystem::resize_file(path, header.size() + bytes);  // takes no disk
  const Checkpoint checkpoint = Checkpoint::open(path);
  return pack_memory(checkpoint, make_plan(checkpoint, one_format(format)));
}

/// Counts the threads that read.
struct CountingOs final : Os {
  std::int64_t pread(int descriptor, void* data, std::size_t size, std::uint64_t offset) override {
    const std::lock_guard lock(mutex);
    threads.insert(std::this_thread::get_id());
    return Os::pread(descriptor, data, size, offset);
  }
  std::mutex mutex;
  std::set<std::thread::id> threads;
};

}  // namespace

TEST_CASE("a worker takes less than 8 MiB, whatever the weight, where its codec cuts rows") {
  const std::vector<std::vector<std::uint64_t>> shapes = {
      {4}, {64}, {1 << 20, 4096}, {2, 1 << 28}, {1u << 30}, {65536, 128, 64}, {3, 1 << 24}};
  for (const char* format : {"f32", "f16", "bf16", "q8_0", "q4_0", "ternary:tq1_0", "ternary:tq2_0",
                             "ternary:absmean", "keep"})
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::f64})
      for (const auto& shape : shapes) {
        CAPTURE(format);
        CAPTURE(dtype_name(dtype));
        CAPTURE(Shape(shape).to_string());
        const MemoryNeed need = need_of(format, dtype, shape);
        CHECK(need.worker_bytes <= 8 * kMiB);
        CHECK(need.worker_bytes > 0);
        CHECK(need.long_rows_in.empty());
        // 32 GiB are 32,768 chunks.
        CHECK(need.index_bytes <= 2 * kMiB);
      }
}

TEST_CASE("codecs that need whole rows say what that takes") {
  for (const char* format : {"ternary", "ternary:planes"}) {
    CAPTURE(format);
    const MemoryNeed usual = need_of(format, DType::f32, {4096, 4096});
    CHECK(usual.worker_bytes <= 8 * kMiB);
    CHECK(usual.long_rows_in.empty());
    const MemoryNeed wide = need_of(format, DType::f32, {4, 1 << 24});
    CHECK(wide.worker_bytes >= 64 * kMiB);  // the values alone
    CHECK(wide.worker_bytes <= 384 * kMiB);
    CHECK(wide.long_rows_in == "w");
  }
  // A vector is one row.
  CHECK(need_of("ternary", DType::f32, {1 << 24}).long_rows_in == "w");
}

TEST_CASE("fewer workers are taken to fit, and none is too few") {
  MemoryNeed need;
  need.program_bytes = 10;
  need.index_bytes = 20;
  need.worker_bytes = 100;
  CHECK(need.with_workers(1) == 130);
  CHECK(workers_within(need, 8, 0, "f") == 8);
  CHECK(workers_within(need, 8, 130, "f") == 1);
  CHECK(workers_within(need, 8, 229, "f") == 1);
  CHECK(workers_within(need, 8, 230, "f") == 2);
  CHECK(workers_within(need, 2, 1000, "f") == 2);
  CHECK(workers_within(need, 8, ~std::uint64_t{0}, "f") == 8);
  const auto problems = problems_of([&] { workers_within(need, 8, 129, "model"); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == ErrorCode::limit);
  CHECK(problems.front().file == "model");
  CHECK(problems.front().found == "129 bytes");
  CHECK(problems.front().want.starts_with("at least 130 bytes"));
  CHECK(problems.front().hint == "raise --max-memory");
  need.worker_bytes = ~std::uint64_t{0} - 5;
  CHECK(need.with_workers(1) == ~std::uint64_t{0});
  need.long_rows_in = "wide";
  const auto wide = problems_of([&] { workers_within(need, 8, 1000, "model"); });
  REQUIRE(wide.size() == 1);
  CHECK(wide.front().hint.find("'wide'") != std::string::npos);
}

TEST_CASE("a ceiling is kept before anything is written, and never changes the bytes") {
  SafetensorsBuilder builder;
  for (int i = 0; i < 40; ++i)
    add_floats(builder, "w" + std::to_string(i), DType::f32, {64, 1024}, 1);
  const PackFixture fixture(builder);
  const Policy policy = one_format("q8_0");
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, policy);
  const MemoryNeed need = pack_memory(checkpoint, plan);

  PackOptions options;
  options.jobs = 8;
  options.replace = true;
  options.max_memory = need.with_workers(1) - 1;
  const auto problems = problems_of([&] { pack(checkpoint, plan, fixture.output, options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == ErrorCode::limit);
  CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});

  options.max_memory = 0;
  pack(checkpoint, plan, fixture.output, options);
  const std::string complete = read_file(fixture.output);
  for (const unsigned workers : {1u, 2u}) {
    CountingOs os;
    const Checkpoint counted = Checkpoint::open(fixture.input, os);
    os.threads.clear();
    options.max_memory = need.with_workers(workers + 1) - 1;
    pack(counted, make_plan(counted, policy), fixture.output, options, os);
    CHECK(os.threads.size() <= workers);
    CHECK(read_file(fixture.output) == complete);
  }
}
