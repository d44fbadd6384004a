// Packing allocates nothing for a slab, and nothing for a weight: once it is under way the number
// of allocations does not depend on how much there is.

#include <doctest/doctest.h>

#include <atomic>
#include <cstdlib>
#include <string>

#include "order_targets.h"
#include "pack_fixture.h"
#include "replaced_new.h"
#include "synps/artifact_set.h"
#include "synps/pack.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::atomic<std::uint64_t> allocations{0};

}  // namespace

namespace synps::testing {

void* take_memory(std::size_t size, std::size_t alignment) noexcept {
  allocations.fetch_add(1, std::memory_order_relaxed);
  if (alignment <= alignof(std::max_align_t)) return std::malloc(size == 0 ? 1 : size);
  return std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

void give_back_memory(void* memory) noexcept {
  std::free(memory);
}

}  // namespace synps::testing

namespace {

/// Allocations between the first and the last word of progress.
struct Counter {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  bool started = false;

  ProgressCallback callback() {
    return [this](std::uint64_t, std::uint64_t) {
      last = allocations.load();
      if (!started) first = last;
      started = true;
      return true;
    };
  }
  std::uint64_t count() const { return last - first; }
};

std::uint64_t allocations_of(const SafetensorsBuilder& builder, const char* format, unsigned jobs,
                             const PackTarget& target = {}) {
  const PackFixture fixture(builder);
  const Policy policy = policy_of(std::string("[myelin]\nformats = [\"f16\", \"f8_e4m3\"]\n") +
                                  "[[policies.\"*\".schemes]]\nformat = \"" + format + "\"\n");
  Counter counter;
  PackOptions options;
  options.jobs = jobs;
  options.progress = counter.callback();
  PlanOptions how;
  how.target = target;
  const Checkpoint checkpoint = fixture.open();
  pack(checkpoint, make_plan(checkpoint, policy, how), fixture.output, options);
  return counter.count();
}

/// One weight of so many units of work in every codec.
SafetensorsBuilder one_weight(DType dtype, std::uint64_t units) {
  SafetensorsBuilder builder;
  // A unit is 1 MiB of encoded bytes: at most 5,592,405 elements of 1.5 bits.
  builder.add("w", dtype, {units * 2048, 4096},
              std::string(units * 2048 * 4096 * dtype_bits(dtype) / 8, '\x11'));
  return builder;
}

/// The same of 8-bit floats with a scale of a number for each row, or for each block.
SafetensorsBuilder scaled_weight(std::uint64_t units, bool blocks) {
  SafetensorsBuilder builder;
  const std::uint64_t rows = units * 2048;
  builder.add("w.weight", DType::f8_e4m3, {rows, 4096}, std::string(rows * 4096, '\x11'));
  const std::vector<std::uint64_t> shape =
      blocks ? std::vector<std::uint64_t>{rows / 128, 32} : std::vector<std::uint64_t>{rows, 1};
  builder.add("w.weight_scale", DType::f32, shape,
              std::string(Shape(shape).elements() * 4, '\x3d'));
  return builder;
}

SafetensorsBuilder small_weights(std::size_t count) {
  SafetensorsBuilder builder;
  for (std::size_t i = 0; i < count; ++i)
    builder.add("w" + std::to_string(10'000 + i), DType::f16, {8, 256},
                std::string(8 * 256 * 2, '\x11'));
  return builder;
}

/// The same of an artifact in a format and in the order that `target` wants, which becomes another
/// in rows1. The bytes are checked by one worker, before the first weight is read.
std::uint64_t allocations_of_reencoding(const SafetensorsBuilder& builder, const char* stored,
                                        bool compressed, const char* format,
                                        const PackTarget& target) {
  const PackFixture fixture(builder);
  PlanOptions how;
  how.target = target;
  if (compressed) how.compress = CompressRequest{Compression::zstd, 1};
  const Checkpoint checkpoint = fixture.open();
  pack(checkpoint, make_plan(checkpoint, one_format(stored), how), fixture.output);
  const Checkpoint source = Checkpoint::open_artifact(fixture.output, builtin_registry());
  const Plan plan = make_plan(source, one_format(format));
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  PackOptions options;
  options.jobs = 1;
  options.progress = [&](std::uint64_t done, std::uint64_t) {
    last = allocations.load();
    if (done <= source.artifact()->index().stored_bytes()) first = last;
    return true;
  };
  pack(source, plan, fixture.dir.file("again"), options);
  return last - first;
}

constexpr const char* kFormats[] = {"f32",     "bf16",          "f16",
                                    "q8_0",    "q4_0",          "ternary:tq1_0",
                                    "ternary", "ternary:tq2_0", "ternary:planes"};

}  // namespace

TEST_CASE("the count sees allocations") {
  Counter counter;
  const ProgressCallback call = counter.callback();
  call(0, 0);
  const std::string text(allocations.load() % 2 + 1000, 'x');
  call(0, 0);
  CHECK(text.size() >= 1000);
  CHECK(counter.count() == 1);
}

TEST_CASE("a weight of four times the slabs packs with as many allocations") {
  const SafetensorsBuilder few = one_weight(DType::f16, 1);
  const SafetensorsBuilder many = one_weight(DType::f16, 4);
  for (const char* format : kFormats) {
    CAPTURE(format);
    CHECK(allocations_of(many, format, 1) == allocations_of(few, format, 1));
  }
  // Analysed first, one analysis for the weight.
  CHECK(allocations_of(many, "ternary:absmean", 1) == allocations_of(few, "ternary:absmean", 1));
}

TEST_CASE("a scaled weight of four times the slabs packs with as many allocations") {
  for (const bool blocks : {false, true})
    for (const char* format : {"f16", "q8_0", "ternary:absmean"}) {
      CAPTURE(format);
      CAPTURE(blocks);
      CHECK(allocations_of(scaled_weight(4, blocks), format, 1) ==
            allocations_of(scaled_weight(1, blocks), format, 1));
    }
}

TEST_CASE("four times the weights pack with as many allocations") {
  const SafetensorsBuilder few = small_weights(500);
  const SafetensorsBuilder many = small_weights(2000);
  for (const char* format : kFormats) {
    CAPTURE(format);
    CHECK(allocations_of(many, format, 1) == allocations_of(few, format, 1));
  }
  // An analysis is an object of its codec, for one weight: one allocation each.
  CHECK(allocations_of(many, "ternary:absmean", 1) ==
        allocations_of(few, "ternary:absmean", 1) + 1500);
}

TEST_CASE("weights in another order than their rows pack with as many allocations, however many") {
  const PackTarget target = rows8_target(builtin_registry());
  for (const char* format : {"q8_0", "q4_0", "ternary", "ternary:tq2_0"}) {
    CAPTURE(format);
    CHECK(allocations_of(one_weight(DType::f16, 4), format, 1, target) ==
          allocations_of(one_weight(DType::f16, 1), format, 1, target));
    CHECK(allocations_of(small_weights(2000), format, 1, target) ==
          allocations_of(small_weights(500), format, 1, target));
  }
}

TEST_CASE("with several workers the count depends on them alone") {
  const SafetensorsBuilder many = small_weights(2000);
  for (const char* format : {"q8_0", "ternary", "f16"}) {
    CAPTURE(format);
    CHECK(allocations_of(many, format, 4) < 200);
  }
}

TEST_CASE("weights of an artifact are encoded anew with as many allocations, however many") {
  const PackTarget rows8 = rows8_target(builtin_registry());
  for (const char* stored : {"q8_0", "ternary", "ternary:planes", "f16"})
    for (const bool compressed : {false, true})
      for (const char* format : {"f32", "q4_0", "ternary", "ternary:planes", "keep"}) {
        CAPTURE(stored);
        CAPTURE(compressed);
        CAPTURE(format);
        const auto count = [&](const SafetensorsBuilder& builder) {
          return allocations_of_reencoding(builder, stored, compressed, format, rows8);
        };
        CHECK(count(small_weights(1000)) == count(small_weights(500)));
        if (compressed) continue;
        CHECK(count(one_weight(DType::f16, 2)) == count(one_weight(DType::f16, 1)));
      }
}
