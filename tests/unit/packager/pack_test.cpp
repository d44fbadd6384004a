// Packing: the bytes are the codecs' own, whatever the pieces and threads, and the size is the
// plan's.

#include "synps/pack.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <filesystem>
#include <map>
#include <string>

#include "artifact_builder.h"
#include "pack_fixture.h"
#include "synps/safetensors.h"
#include "synps/verify.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::vector<std::string> encoding_codecs() {
  std::vector<std::string> names;
  for (const Codec* codec : builtin_registry().all())
    if (codec->info().encodes) names.push_back(codec->info().id());
  return names;
}

/// Values by path of a checkpoint whose tensors are all floats.
using Values = std::map<std::string, std::vector<float>>;

void check_sound(const std::string& artifact) {
  const VerifyReport report = verify(artifact, builtin_registry());
  for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
}

/// Every component must hold what its codec makes of the whole weight at once.
void check_components(const std::string& artifact, const Values& values) {
  const ArtifactReader reader(artifact);
  for (const StoredWeight& stored : reader.index().weights) {
    CAPTURE(stored.weight.path);
    WeightToStore whole;
    whole.path = stored.weight.path;
    whole.shape = stored.weight.shape;
    whole.dtype = stored.weight.dtype;
    whole.codec = stored.codec.id();
    whole.values = values.at(stored.weight.path);
    const auto expected = encode_weight(whole, builtin_registry());
    REQUIRE(expected.size() == stored.components.size());
    for (std::size_t c = 0; c < expected.size(); ++c) {
      const auto found = reader.bytes(stored.components[c]);
      CHECK(std::equal(found.begin(), found.end(), expected[c].begin(), expected[c].end()));
    }
  }
}

}  // namespace

TEST_CASE("every codec: components as encoded whole, size as planned, sound") {
  SafetensorsBuilder builder;
  Values values;
  const auto add = [&](const char* name, DType dtype, const std::vector<std::uint64_t>& shape) {
    values[name] =
        add_floats(builder, name, dtype, shape, static_cast<std::uint32_t>(values.size()));
  };
  add("matrix", DType::bf16, {40, 512});
  add("narrow", DType::f16, {300, 32});
  add("ragged", DType::f32, {9, 77});
  add("rank3", DType::f16, {4, 3, 256});
  add("vector", DType::f32, {768});
  add("scalar", DType::f32, {});
  add("one", DType::f16, {1, 1});
  const PackFixture fixture(builder);
  for (const std::string& codec : encoding_codecs()) {
    CAPTURE(codec);
    const Checkpoint checkpoint = fixture.open();
    const Plan plan = make_plan(checkpoint, one_format(codec));
    PackOptions options;
    options.replace = true;
    const PackReport report = pack(checkpoint, plan, fixture.output, options);
    CHECK(report.artifact_bytes == plan.artifact_bytes);
    CHECK(std::filesystem::file_size(fixture.output) == plan.artifact_bytes);
    check_sound(fixture.output);
    check_components(fixture.output, values);
  }
}

TEST_CASE("rows and vectors longer than a piece or a chunk give the bytes of the whole") {
  SafetensorsBuilder builder;
  Values values;
  const auto add = [&](const char* name, const std::vector<std::uint64_t>& shape) {
    values[name] = add_floats(builder, name, DType::f16, shape, 77);
  };
  add("long rows", {10, 200'192});  // cut inside rows; two chunks for most codecs
  add("long vector", {1'100'032});  // cut at vector rows; more than one chunk
  add("many rows", {40'000, 64});
  add("odd vector", {150'001});  // no multiple of any block
  const PackFixture fixture(builder);
  for (const char* codec :
       {"f32", "q8_0", "q4_0", "ternary", "ternary:absmean", "ternary:planes", "ternary:tq1_0"}) {
    CAPTURE(codec);
    PackOptions options;
    options.replace = true;
    options.jobs = 2;
    const PackReport report = fixture.pack(one_format(codec), options);
    CHECK(std::filesystem::file_size(fixture.output) == report.artifact_bytes);
    check_sound(fixture.output);
    check_components(fixture.output, values);
  }
}

TEST_CASE("a mixture packs to the planned size, and verifies against its source") {
  const PackFixture fixture(mixed_tensors());
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  pack(checkpoint, plan, fixture.output);
  CHECK(std::filesystem::file_size(fixture.output) == plan.artifact_bytes);
  VerifyOptions options;
  options.against = &checkpoint;
  const VerifyReport report = verify(fixture.output, builtin_registry(), options);
  for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
  CHECK(report.weights.size() == plan.weights.size());
  CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors", "model.synps"});
}

TEST_CASE("an artifact is a safetensors file that holds dense weights under their own names") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  const Checkpoint source = fixture.open();
  const SafetensorsHeader header = read_safetensors_header(InputFile(Os::posix(), fixture.output));
  const std::string bytes = read_file(fixture.output);
  const std::string source_bytes = read_file(fixture.input);
  int copied = 0;
  for (const SafetensorsEntry& entry : header.entries)
    for (const SourceTensor& tensor : source.tensors()) {
      if (entry.name != tensor.weight.path || entry.dtype != tensor.weight.dtype) continue;
      CHECK(entry.shape == tensor.weight.shape);
      CHECK(bytes.substr(header.data_start + entry.begin, entry.end - entry.begin) ==
            source_bytes.substr(tensor.offset, tensor.bytes));
      ++copied;
    }
  CHECK(copied == 7);  // embed, norm, ids, mask, empty and two kept ones
  CHECK(header.metadata.at("note") == "kept \"verbatim\"\n");
  CHECK(header.metadata.at("format") == "synps");
  CHECK(header.metadata.at("synps.source.format") == "pt");
}

TEST_CASE("threads, runs and names of files do not change the bytes") {
  SafetensorsBuilder builder = mixed_tensors();
  add_floats(builder, "big.q8", DType::f16, {3000, 512}, 20);
  add_floats(builder, "layers.7.mlp.big", DType::bf16, {1000, 1024}, 21);
  add_floats(builder, "layers.1.mlp.big", DType::bf16, {1000, 1024}, 22);
  add_floats(builder, "embed.big", DType::bf16, {1200, 1024}, 23);
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const Plan plan = make_plan(checkpoint, mixed_policy());
  std::string first;
  for (const unsigned jobs : {1u, 2u, 8u})
    for (int run = 0; run < 2; ++run) {
      CAPTURE(jobs);
      CAPTURE(run);
      const std::string output =
          fixture.dir.file("jobs" + std::to_string(jobs * 10 + unsigned(run)));
      PackOptions options;
      options.jobs = jobs;
      pack(checkpoint, plan, output, options);
      const std::string bytes = read_file(output);
      if (first.empty()) first = bytes;
      CHECK(bytes == first);
    }
  check_sound(fixture.dir.file("jobs80"));
}

TEST_CASE("a checkpoint without tensors packs") {
  const PackFixture fixture{SafetensorsBuilder()};
  const Policy policy = policy_of("");
  const PackReport report = fixture.pack(policy);
  CHECK(std::filesystem::file_size(fixture.output) == report.artifact_bytes);
  check_sound(fixture.output);
}

TEST_CASE("progress reaches its total, which counts twice what is read twice to analyse it") {
  SafetensorsBuilder builder;
  add_floats(builder, "small", DType::f32, {64, 256});  // one piece: read once
  add_floats(builder, "large", DType::f32, {1024, 256});
  const PackFixture fixture(builder);
  for (const bool analysed : {false, true}) {
    std::uint64_t last = 0;
    std::uint64_t all = 0;
    PackOptions options;
    options.replace = true;
    options.jobs = 2;
    options.progress = [&](std::uint64_t done, std::uint64_t total) {
      CHECK(done >= last);
      last = done;
      all = total;
      return true;
    };
    fixture.pack(one_format(analysed ? "ternary:absmean" : "q8_0"), options);
    CHECK(last == all);
    CHECK(all == (64u + 1024 * (analysed ? 2 : 1)) * 256 * 4);
  }
}

TEST_CASE("a cancelled pack leaves nothing behind") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::f32, {8000, 256});
  const PackFixture fixture(builder);
  for (const unsigned jobs : {1u, 4u})
    for (const std::uint64_t after : {0u, 1u, 4'000'000u}) {
      CAPTURE(jobs);
      CAPTURE(after);
      PackOptions options;
      options.jobs = jobs;
      options.progress = [&](std::uint64_t done, std::uint64_t) { return done < after; };
      CHECK_THROWS_AS(fixture.pack(one_format("q8_0"), options), Cancelled);
      CHECK(fixture.dir.list() == std::vector<std::string>{"model.safetensors"});
    }
}
