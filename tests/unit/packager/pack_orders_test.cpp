// Packing into the order rows8: the same weights as in rows1, whatever the codec, the shape and the
// number of workers.

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "order_targets.h"
#include "pack_fixture.h"
#include "pack_rows8.h"
#include "synps/artifact.h"
#include "synps/component_rows.h"
#include "synps/memory.h"
#include "synps/row_order.h"
#include "synps/unpack.h"
#include "synps/verify.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};

std::vector<const Codec*> packed_codecs() {
  std::vector<const Codec*> codecs;
  for (const Codec* codec : builtin_registry().all())
    if (codec->info().encodes && !codec->info().dense) codecs.push_back(codec);
  return codecs;
}

/// Matrices around every boundary of the order, and weights of other ranks.
SafetensorsBuilder tensors_of_many_shapes() {
  SafetensorsBuilder builder;
  std::uint32_t seed = 0;
  const auto add = [&](std::vector<std::uint64_t> shape) {
    add_floats(builder, fmt::format("w.{}", fmt::join(shape, "x")), DType::f32, shape, ++seed);
  };
  for (const std::uint64_t columns : {32, 128, 256, 768})
    for (const std::uint64_t rows : {0, 1, 7, 8, 9, 16, 17, 40}) add({rows, columns});
  add({512});
  add({3, 8, 512});
  add({1, 1, 256});
  return builder;
}

PackReport pack_for(const PackFixture& fixture, const Policy& policy, const PackTarget& target,
                    const std::string& output, const std::optional<CompressRequest>& compress = {},
                    unsigned jobs = 2) {
  const Checkpoint checkpoint = fixture.open();
  PlanOptions how;
  how.target = target;
  how.compress = compress;
  PackOptions options;
  options.replace = true;
  options.jobs = jobs;
  return pack(checkpoint, make_plan(checkpoint, policy, how), output, options);
}

std::string unpacked(const std::string& artifact, const std::string& output) {
  UnpackOptions options;
  options.replace = true;
  unpack(artifact, output, builtin_registry(), options);
  return read_file(output);
}

/// True bytes of a component, in the order that it is stored in.
std::vector<std::byte> stored_bytes(const ArtifactReader& artifact, const StoredWeight& weight,
                                    std::size_t component) {
  const StoredComponent& stored = weight.components[component];
  std::vector<std::byte> bytes(stored.component.bytes);
  ComponentReader(artifact).read(weight, stored, 0, bytes);
  return bytes;
}

/// Both artifacts are sound and hold the same; the second has in rows8 what can be. Returns how
/// many weights those are.
std::size_t check_same(const std::string& rows1, const std::string& rows8) {
  const ArtifactReader one(rows1);
  const ArtifactReader eight(rows8);
  CHECK(eight.check_all(&builtin_registry()).empty());
  REQUIRE(one.index().weights.size() == eight.index().weights.size());
  std::size_t count = 0;
  for (std::size_t w = 0; w < one.index().weights.size(); ++w) {
    const StoredWeight& a = one.index().weights[w];
    const StoredWeight& b = eight.index().weights[w];
    CAPTURE(a.weight.path);
    const Codec* codec = builtin_registry().find(a.codec.package, a.codec.name);
    const bool can =
        codec != nullptr && a.weight.shape.elements() != 0 && can_be_rows8(*codec, a.weight);
    CHECK(a.form.order == Order::rows1);
    CHECK(b.form.order == (can ? Order::rows8 : Order::rows1));
    count += can ? 1 : 0;
    REQUIRE(a.components.size() == b.components.size());
    for (std::size_t c = 0; c < a.components.size(); ++c) {
      CHECK(b.components[c].order == b.form.order);
      std::vector<std::byte> wanted = stored_bytes(one, a, c);
      if (can) {
        std::vector<std::byte> order(wanted.size());
        rows8_from_rows1(row_blocks(*codec, a, c), wanted, order);
        wanted = order;
      }
      CHECK(stored_bytes(eight, b, c) == wanted);
    }
  }
  return count;
}

/// Values of the weights, by the runtime, whole and by rows.
void check_decodes_same(const std::string& rows1, const std::string& rows8) {
  const Artifact one = Artifact::open(rows1);
  const Artifact eight = Artifact::open(rows8);
  for (const WeightView weight : one) {
    if (weight.codec() == nullptr) continue;
    CAPTURE(weight.path());
    const std::vector<float> values = weight.decode();
    CHECK(eight[weight.path()].decode() == values);
    const std::uint64_t rows = weight.shape().rows();
    const std::uint64_t columns = weight.shape().columns();
    for (std::uint64_t first = 0; first < rows; first += 3)
      for (const std::uint64_t count : {1, 5, 8, 11}) {
        if (first + count > rows) continue;
        std::vector<float> some(count * columns);
        eight[weight.path()].decode({first, count}, some);
        CHECK(std::equal(some.begin(), some.end(),
                         values.begin() + static_cast<std::ptrdiff_t>(first * columns)));
      }
  }
}

void check_verifies(const PackFixture& fixture, const std::string& artifact) {
  const Checkpoint checkpoint = fixture.open();
  VerifyOptions against;
  against.against = &checkpoint;
  const VerifyReport report = verify(artifact, builtin_registry(), against);
  for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
  for (const WeightError& weight : report.weights) CHECK(weight.compared);
}

TEST_CASE("every packed codec comes back from rows8 as from rows1, plain and compressed") {
  const PackFixture fixture(tensors_of_many_shapes());
  const PackTarget target = rows8_target(builtin_registry());
  const std::string rows8 = fixture.dir.file("rows8.synps");
  std::size_t relaid = 0;
  for (const Codec* codec : packed_codecs())
    for (const std::optional<CompressRequest>& compress :
         {std::optional<CompressRequest>(), std::optional(kZstd)}) {
      CAPTURE(codec->info().id());
      const Policy policy = one_format(codec->info().id());
      pack_for(fixture, policy, {}, fixture.output, compress);
      std::string first;
      for (const unsigned jobs : {1u, 2u, 8u}) {
        const PackReport report = pack_for(fixture, policy, target, rows8, compress, jobs);
        const std::string bytes = read_file(rows8);
        CHECK(report.artifact_bytes == bytes.size());
        if (first.empty()) first = bytes;
        CHECK(bytes == first);
      }
      relaid += check_same(fixture.output, rows8);
      check_decodes_same(fixture.output, rows8);
      CHECK(unpacked(rows8, fixture.dir.file("b")) ==
            unpacked(fixture.output, fixture.dir.file("a")));
      check_verifies(fixture, rows8);
    }
  CHECK(relaid > 100);
}

TEST_CASE("rows that are cut, or longer than what is read at a time, come back from rows8") {
  // Eight rows more than a piece, than what is copied at a time, and than what a reader holds.
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::f32, {17, 20'480}, 1);
  add_floats(builder, "b", DType::bf16, {9, 262'144}, 2);
  const PackFixture fixture(builder);
  const PackTarget target = rows8_target(builtin_registry());
  const std::string rows8 = fixture.dir.file("rows8.synps");
  for (const char* format : {"q8_0", "q4_0", "ternary", "ternary:tq2_0"})
    for (const std::optional<CompressRequest>& compress :
         {std::optional<CompressRequest>(), std::optional(kZstd)}) {
      CAPTURE(format);
      const Policy policy = one_format(format);
      pack_for(fixture, policy, {}, fixture.output, compress);
      pack_for(fixture, policy, target, rows8, compress);
      CHECK(check_same(fixture.output, rows8) == 2);
      CHECK(Artifact::open(fixture.output)["b"].decode() == Artifact::open(rows8)["b"].decode());
      CHECK(unpacked(rows8, fixture.dir.file("b")) ==
            unpacked(fixture.output, fixture.dir.file("a")));
      check_verifies(fixture, rows8);
    }
}

std::string blocks_of(const char* codec_name, const std::vector<float>& values) {
  const Codec& codec = *builtin_registry().resolve(codec_name);
  const Weight weight{"values", Shape{values.size()}, DType::f32};
  std::vector<std::byte> bytes(codec.row_bytes(0, values.size()));
  const std::span<std::byte> out[] = {bytes};
  ValueReport report;
  codec.encode(Piece{&weight, 0, 1, values.size()}, values, nullptr, out, report);
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

TEST_CASE("blocks that are copied are put in order on the way") {
  GgufBuilder builder;
  builder.text("general.architecture", "llama");
  builder.tensor("a", {64, 2100}, gguf::kQ8_0, blocks_of("q8_0", test_values(64 * 2100, 1)));
  builder.tensor("b", {65'536, 9}, gguf::kQ8_0, blocks_of("q8_0", test_values(65'536 * 9, 2)));
  builder.tensor("c", {256, 5}, gguf::kQ8_0, blocks_of("q8_0", test_values(256 * 5, 3)));
  TempDir dir;
  const std::string input = dir.file("model.gguf");
  write_file(input, builder.build());
  const Checkpoint checkpoint = Checkpoint::open(input);
  const Policy policy = policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n");
  const PackTarget target = rows8_target(builtin_registry());
  for (const std::optional<CompressRequest>& compress :
       {std::optional<CompressRequest>(), std::optional(kZstd)}) {
    PlanOptions how;
    how.compress = compress;
    PackOptions options;
    options.replace = true;
    pack(checkpoint, make_plan(checkpoint, policy, how), dir.file("rows1"), options);
    how.target = target;
    std::string first;
    for (const unsigned jobs : {1u, 2u, 8u}) {
      options.jobs = jobs;
      pack(checkpoint, make_plan(checkpoint, policy, how), dir.file("rows8"), options);
      if (first.empty()) first = read_file(dir.file("rows8"));
      CHECK(read_file(dir.file("rows8")) == first);
    }
    CHECK(check_same(dir.file("rows1"), dir.file("rows8")) == 2);
    check_decodes_same(dir.file("rows1"), dir.file("rows8"));
    CHECK(unpacked(dir.file("rows1"), dir.file("a")) == unpacked(dir.file("rows8"), dir.file("b")));
    VerifyOptions against;
    against.against = &checkpoint;
    CHECK(verify(dir.file("rows8"), builtin_registry(), against).ok());
  }
}

TEST_CASE("any bytes of the rows are read from rows8") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::f32, {83, 96}, 1);
  const PackFixture fixture(builder);
  const Policy policy = one_format("q4_0");
  pack_for(fixture, policy, {}, fixture.output);
  const std::string rows8 = fixture.dir.file("rows8");
  pack_for(fixture, policy, rows8_target(builtin_registry()), rows8);
  const ArtifactReader one(fixture.output);
  const std::vector<std::byte> wanted = stored_bytes(one, one.index().weights[0], 0);
  const ArtifactReader eight(rows8);
  const StoredWeight& weight = eight.index().weights[0];
  const RowBlocks shape = row_blocks(*builtin_registry().resolve("q4_0"), weight, 0);
  ComponentRows reader(eight);
  for (std::uint64_t begin = 0; begin < wanted.size(); begin += 37)
    for (const std::uint64_t size : {1, 17, 18, 54, 500, 2000}) {
      if (begin + size > wanted.size()) continue;
      std::vector<std::byte> got(size);
      reader.read(weight, weight.components[0], shape, begin, got);
      CHECK(
          std::equal(got.begin(), got.end(), wanted.begin() + static_cast<std::ptrdiff_t>(begin)));
    }
}

TEST_CASE("bytes of rows are whole groups, and never behind the rows") {
  const RowBlocks shape{19, 10, 5};
  for (std::uint64_t first = 0; first <= 19; ++first)
    for (std::uint64_t count = 0; first + count <= 19; ++count) {
      const RowBytesRange plain = bytes_of_rows(shape, Order::rows1, first, count);
      CHECK(plain.begin == first * 10);
      CHECK(plain.end == (first + count) * 10);
      const RowBytesRange groups = bytes_of_rows(shape, Order::rows8, first, count);
      CHECK(groups.begin <= plain.begin);
      CHECK(groups.end >= plain.end);
      CHECK(groups.end <= 190);
      if (count == 0) continue;
      CHECK(groups.begin == (first < 16 ? first / 8 * 8 : first) * 10);
      const std::uint64_t last = first + count;
      CHECK(groups.end == (last < 16 ? (last + 7) / 8 * 8 : last) * 10);
    }
}

TEST_CASE("an order that is asked for is in the plan, and what is asked not to be is not") {
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::f32, {16, 64}, 1);
  add_floats(builder, "b", DType::f32, {16, 64}, 2);
  add_floats(builder, "c", DType::f32, {7, 64}, 3);
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Policy policy = policy_of(
      "[[policies.\"*\".schemes]]\nformat = \"q4_0\"\n"
      "[policies.\"a\".form]\norder = \"as_stored\"\n"
      "[policies.\"c\".form]\norder = \"kernel_feed\"\n");
  PlanOptions how;
  how.target = rows8_target(builtin_registry());
  const Plan plan = make_plan(checkpoint, policy, how);
  CHECK(plan.layout.index.weights[0].form.order == Order::rows1);
  CHECK(plan.layout.index.weights[1].form.order == Order::rows8);
  CHECK(plan.layout.index.weights[2].form.order == Order::rows1);
  CHECK(plan.layout.index.weights[2].asked.order == OrderRequest::kernel_feed);
  // The order costs no byte, and some memory for those who make it.
  const Plan plain = make_plan(checkpoint, policy_of("[[policies.\"*\".schemes]]\nformat = "
                                                     "\"q4_0\"\n"));
  CHECK(plan.artifact_bytes == plain.artifact_bytes);
  CHECK(pack_memory(checkpoint, plan).worker_bytes > pack_memory(checkpoint, plain).worker_bytes);
}

TEST_CASE("a profile decides about residency where policies do not") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  PackTarget target;
  target.profile.emplace();
  target.profile->residency = Residency::heap;
  PlanOptions how;
  how.target = target;
  const Plan plan = make_plan(checkpoint, mixed_policy(), how);
  for (const StoredWeight& stored : plan.layout.index.weights)
    CHECK(stored.form.residency == Residency::heap);
  CHECK(plan.mapped_bytes == 0);
  target.profile->residency = Residency::mapped;
  how.target = target;
  CHECK(make_plan(checkpoint, mixed_policy(), how).mapped_bytes ==
        make_plan(checkpoint, mixed_policy()).mapped_bytes);
}

TEST_CASE("a step of rows8 is whole groups, and no larger than a piece where rows can be cut") {
  for (const std::uint64_t columns : {32u, 4096u, 16'384u, 16'416u, 131'072u, 1u << 24})
    for (const std::uint64_t granule : {0u, 32u, 256u, 1u << 20}) {
      const Weight weight{"w", Shape{64, columns}, DType::f32};
      const Rows8Step step = rows8_step(weight, granule);
      CHECK(step.rows % kOrderRows == 0);
      CHECK(step.rows > 0);
      if (granule == 0) CHECK(step.columns == columns);
      if (step.columns != columns) CHECK(step.columns % granule == 0);
      if (granule != 0)
        CHECK(step.rows * step.columns <= std::max<std::uint64_t>(1u << 17, 8 * granule));
    }
}

}  // namespace
}  // namespace synps::testing
