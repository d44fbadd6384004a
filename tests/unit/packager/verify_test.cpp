// verify finds every kind of damage, and states the error of every weight against its source.

#include "synps/verify.h"

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <functional>
#include <string>

#include "artifact_builder.h"
#include "pack_fixture.h"
#include "synps/reencode.h"
#include "synps/safetensors.h"
#include "thrown_problem.h"

using namespace synps;
using namespace synps::testing;

namespace {

/// A packed mixture, whose file can be damaged.
struct Packed {
  PackFixture fixture{mixed_tensors()};
  std::string bytes;

  Packed() {
    fixture.pack(mixed_policy());
    bytes = read_file(fixture.output);
  }

  VerifyReport verify_damaged(const std::function<void(std::string&)>& damage) const {
    std::string damaged = bytes;
    damage(damaged);
    write_file(fixture.output, damaged);
    return verify(fixture.output, builtin_registry());
  }
  VerifyReport verify_flipped(std::uint64_t offset, int bit = 0) const {
    return verify_damaged(
        [&](std::string& text) { text[offset] = static_cast<char>(text[offset] ^ (1 << bit)); });
  }
};

bool names(const VerifyReport& report, std::string_view text) {
  return std::any_of(report.problems.begin(), report.problems.end(), [&](const Problem& problem) {
    return to_string(problem).find(text) != std::string::npos;
  });
}

void check_found(const VerifyReport& report, std::string_view place) {
  CHECK_FALSE(report.ok());
  CHECK(names(report, place));
  for (const Problem& problem : report.problems) {
    CAPTURE(to_string(problem));
    CHECK(problem.code == ErrorCode::artifact);
    CHECK_FALSE(problem.file.empty());
  }
}

const WeightError& error_of(const VerifyReport& report, std::string_view path) {
  const auto at = std::find_if(report.weights.begin(), report.weights.end(),
                               [&](const WeightError& weight) { return weight.path == path; });
  REQUIRE(at != report.weights.end());
  return *at;
}

VerifyReport verify_against(const std::string& artifact, const Checkpoint& checkpoint,
                            unsigned jobs = 0) {
  VerifyOptions options;
  options.against = &checkpoint;
  options.jobs = jobs;
  return verify(artifact, builtin_registry(), options);
}

}  // namespace

TEST_CASE("a sound artifact has no problems") {
  const Packed packed;
  const VerifyReport report = verify(packed.fixture.output, builtin_registry());
  CHECK(report.ok());
  CHECK(report.bytes == packed.bytes.size());
  CHECK(report.weights.empty());
}

TEST_CASE("one flipped bit is found wherever it is, and its place is named") {
  const Packed packed;
  const ArtifactReader reader(packed.fixture.output);
  const std::uint64_t data = packed.bytes.find("\"__synps__\"");
  REQUIRE(data != std::string::npos);
  const SafetensorsHeader header =
      read_safetensors_header(InputFile(Os::posix(), packed.fixture.output));
  const StoredWeight& q8 = *reader.find("layers.0.attn.weight");
  const StoredWeight& dense = *reader.find("embed.weight");
  const StoredComponent& blocks = q8.components.at(0);
  const StoredComponent& values = dense.components.at(0);
  REQUIRE(blocks.stored_bytes > blocks.component.bytes);

  SUBCASE("length field") {
    check_found(packed.verify_flipped(0, 3), "header");
  }
  SUBCASE("header") {
    check_found(packed.verify_flipped(data + 4), "synps");
  }
  SUBCASE("header padding") {
    check_found(packed.verify_flipped(header.data_start - 1), "header");
  }
  SUBCASE("index") {
    check_found(packed.verify_flipped(header.data_start + 100), "__synps__");
  }
  SUBCASE("index padding") {
    check_found(packed.verify_flipped(header.data_start + header.entries[0].end - 1), "__synps__");
  }
  SUBCASE("sums") {
    check_found(packed.verify_flipped(header.data_start + header.entries[1].begin + 7),
                "__synps_sums__");
  }
  SUBCASE("sums padding") {
    check_found(packed.verify_flipped(header.data_start + header.entries[1].end - 1),
                "__synps_sums__");
  }
  SUBCASE("packed component") {
    const VerifyReport report = packed.verify_flipped(reader.file_offset(blocks) + 40, 7);
    check_found(report, "layers.0.attn.weight");
    CHECK(names(report, "blocks"));
  }
  SUBCASE("padding of a packed component") {
    check_found(packed.verify_flipped(reader.file_offset(blocks) + blocks.stored_bytes - 1),
                "layers.0.attn.weight");
  }
  SUBCASE("dense weight") {
    check_found(packed.verify_flipped(reader.file_offset(values)), "embed.weight");
  }
  SUBCASE("last byte") {
    check_found(packed.verify_flipped(packed.bytes.size() - 1), "");
  }
}

TEST_CASE("every byte of the file is covered") {
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::f32, {3, 32}, 1);
  add_floats(builder, "b", DType::f16, {3}, 2);
  const PackFixture fixture(builder);
  fixture.pack(
      policy_of("[[policies.a.schemes]]\nformat = \"q8_0\"\n"
                "[[policies.b.schemes]]\nformat = \"f16\"\n"));
  const std::string bytes = read_file(fixture.output);
  std::string damaged = bytes;
  // A prime stride: all bytes would take long, and every region is met many times over.
  for (std::size_t i = 0; i < bytes.size(); i += 13) {
    damaged[i] = static_cast<char>(damaged[i] ^ (1 << (i % 8)));
    write_file(fixture.output, damaged);
    CAPTURE(i);
    CHECK_FALSE(verify(fixture.output, builtin_registry()).ok());
    damaged[i] = bytes[i];
  }
}

TEST_CASE("a truncated file and an appended byte are found") {
  const Packed packed;
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{7}, std::size_t{8}, std::size_t{100}, packed.bytes.size() / 2,
        packed.bytes.size() - 4096, packed.bytes.size() - 1}) {
    CAPTURE(size);
    check_found(packed.verify_damaged([&](std::string& text) { text.resize(size); }),
                packed.fixture.output);
  }
  check_found(packed.verify_damaged([](std::string& text) { text += '\0'; }),
              packed.fixture.output);
}

TEST_CASE("two swapped chunks are found") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::f16, {4096, 512});  // 4 MiB: four chunks
  const PackFixture fixture(builder);
  fixture.pack(one_format("f16"));
  std::string bytes = read_file(fixture.output);
  const ArtifactReader reader(fixture.output);
  const StoredComponent& values = reader.index().weights.at(0).components.at(0);
  REQUIRE(values.chunks() == 4);
  const auto begin = bytes.begin() + static_cast<std::ptrdiff_t>(reader.file_offset(values));
  const auto chunk = static_cast<std::ptrdiff_t>(values.chunk_bytes);
  std::swap_ranges(begin, begin + chunk, begin + 2 * chunk);
  write_file(fixture.output, bytes);
  const VerifyReport report = verify(fixture.output, builtin_registry());
  CHECK(report.problems.size() == 2);
  CHECK(names(report, "chunk 0"));
  CHECK(names(report, "chunk 2"));
}

TEST_CASE("a file that is no artifact is a problem, one that cannot be read an error") {
  const Packed packed;
  check_found(verify(packed.fixture.input, builtin_registry()), packed.fixture.input);
  const auto problems =
      problems_of([&] { verify(packed.fixture.dir.file("none"), builtin_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::io);
}

TEST_CASE("against its source every lossless weight is exact and every lossy one has its error") {
  const Packed packed;
  const Checkpoint checkpoint = packed.fixture.open();
  const VerifyReport report = verify_against(packed.fixture.output, checkpoint);
  CHECK(report.ok());
  REQUIRE(report.weights.size() == checkpoint.tensors().size());
  for (const WeightError& weight : report.weights) {
    CAPTURE(weight.path);
    if (!weight.lossless) continue;
    CHECK(weight.exact);
    CHECK(weight.max_abs_error == 0);
    CHECK(weight.rmse == 0);
    CHECK_FALSE(weight.snr_db);
  }
  CHECK_FALSE(error_of(report, "ids").compared);
  CHECK(error_of(report, "embed.weight").compared);
  const WeightError& q8 = error_of(report, "layers.0.attn.weight");
  CHECK_FALSE(q8.lossless);
  CHECK_FALSE(q8.exact);
  CHECK(q8.max_abs_error > 0);
  CHECK(q8.max_abs_error <=
        1.01 / 254);  // values are below 1: half a step of 1/127, and the scale's
  CHECK(q8.rmse <= q8.max_abs_error);
  CHECK(q8.snr_db.value() > 30);
  const WeightError& ternary = error_of(report, "layers.0.pooler.weight");
  CHECK(ternary.snr_db.value() < q8.snr_db.value());
}

TEST_CASE("errors are what their definitions say, however many threads") {
  const std::vector<float> source = {1, 2, 3, 4.1F};
  SafetensorsBuilder builder;
  builder.add_f32("w", {4}, source);
  const PackFixture fixture(builder);
  fixture.pack(one_format("f16"));
  const Checkpoint checkpoint = fixture.open();
  const double error = std::abs(static_cast<double>(4.1F) - 4.1015625);
  const double signal = 1.0 + 4 + 9 + static_cast<double>(4.1F) * 4.1F;
  for (const unsigned jobs : {1u, 4u}) {
    const VerifyReport report = verify_against(fixture.output, checkpoint, jobs);
    const WeightError& weight = error_of(report, "w");
    CHECK(weight.max_abs_error == error);
    CHECK(weight.rmse == doctest::Approx(error / 2).epsilon(1e-12));
    CHECK(weight.snr_db.value() == doctest::Approx(10 * std::log10(signal / (error * error))));
  }
}

TEST_CASE("a lossless weight that differs from its source is a problem") {
  SafetensorsBuilder builder;
  builder.add_f32("copied", {2, 2}, {1, 2, 3, 4});
  builder.add("kept", DType::i64, {2}, bytes_of(std::vector<std::int64_t>{1, 2}));
  builder.add("widened", DType::f16, {2}, dense_bytes_of(DType::f16, {1, 2}));
  builder.add_f32("lossy", {2, 32}, test_values(64));
  const PackFixture fixture(builder);
  const Policy policy = policy_of(
      "[myelin]\nformats = [\"f16\"]\n[[policies.\"*\".schemes]]\nformat = "
      "\"f32\"\n[[policies.lossy.schemes]]\nformat = \"q8_0\"\n");
  fixture.pack(policy);

  SafetensorsBuilder other;
  other.add_f32("copied", {2, 2}, {1, 2, 3, 5});
  other.add("kept", DType::i64, {2}, bytes_of(std::vector<std::int64_t>{1, 3}));
  other.add("widened", DType::f16, {2}, dense_bytes_of(DType::f16, {1, -2}));
  other.add_f32("lossy", {2, 32}, test_values(64, 9));
  other.write(fixture.dir.file("other.safetensors"));
  const Checkpoint checkpoint = Checkpoint::open(fixture.dir.file("other.safetensors"));
  const VerifyReport report = verify_against(fixture.output, checkpoint);
  REQUIRE(report.problems.size() == 3);
  check_found(report, "copied");
  check_found(report, "kept");
  check_found(report, "element 1");
  CHECK(error_of(report, "copied").max_abs_error == 1);
  CHECK_FALSE(error_of(report, "kept").exact);
  CHECK_FALSE(error_of(report, "lossy").exact);  // told, but no fault of the artifact
}

TEST_CASE("the bits of NaN and of zero count in a lossless weight") {
  SafetensorsBuilder builder;
  builder.add("w", DType::f16, {2}, std::string("\x01\x7E\x00\x00", 4));
  const PackFixture fixture(builder);
  fixture.pack(one_format("f16"));
  SafetensorsBuilder other;
  other.add("w", DType::f16, {2}, std::string("\x02\x7E\x00\x80", 4));
  other.write(fixture.dir.file("other.safetensors"));
  const VerifyReport report =
      verify_against(fixture.output, Checkpoint::open(fixture.dir.file("other.safetensors")));
  REQUIRE(report.problems.size() == 1);
  CHECK(error_of(report, "w").max_abs_error == 0);
  CHECK_FALSE(error_of(report, "w").exact);
}

TEST_CASE("NaN equals NaN in weights that were encoded, and only there") {
  SafetensorsBuilder builder;
  builder.add("codes", DType::f8_e4m3, {4}, "\x38\x7f\xff\xb8");
  const std::string signalling("\x01\x7C\x00\xBC\x03\xFE\x00\x80", 8);  // NaN, -1, NaN, -0
  builder.add("halves", DType::f16, {4}, signalling);
  const PackFixture fixture(builder);
  const Checkpoint checkpoint = fixture.open();
  const auto policy = [](const char* codes, const char* halves) {
    return policy_of(
        fmt::format("[myelin]\nformats = [\"f8_e4m3\"]\n"
                    "[[policies.codes.schemes]]\nformat = \"{}\"\n"
                    "[[policies.halves.schemes]]\nformat = \"{}\"\n",
                    codes, halves));
  };
  fixture.pack(policy("f16", "f32"));
  const auto check_all = [](const VerifyReport& report) {
    CHECK(report.ok());
    for (const WeightError& weight : report.weights) {
      CAPTURE(weight.path);
      CHECK(weight.lossless);
      CHECK(weight.exact);
      CHECK(weight.max_abs_error == 0);
    }
  };
  check_all(verify_against(fixture.output, checkpoint));

  // Back to the source's dtype: the bytes of NaN are others now.
  const Checkpoint artifact = Checkpoint::open_artifact(fixture.output, builtin_registry());
  ReencodeRequest request;
  request.codec = builtin_registry().resolve("f16");
  const std::string back = fixture.dir.file("back.synps");
  pack(artifact, plan_reencode(artifact, request, builtin_registry(), Rounding::allowed), back);
  check_all(verify_against(back, checkpoint));
  const ArtifactReader reader(back);
  const StoredComponent& stored = reader.find("halves")->components.at(0);
  CHECK(read_file(back).substr(reader.file_offset(stored), 8) != signalling);

  // Other values still are a problem, and so are other bytes of NaN in what was copied.
  SafetensorsBuilder other;
  other.add("codes", DType::f8_e4m3, {4}, "\x38\x7f\x38\xb8");
  other.add("halves", DType::f16, {4}, std::string("\x01\x7C\x00\xBC\x03\xFE\x00\x00", 8));
  other.write(fixture.dir.file("other.safetensors"));
  const VerifyReport report =
      verify_against(back, Checkpoint::open(fixture.dir.file("other.safetensors")));
  REQUIRE(report.problems.size() == 2);
  check_found(report, "element 2");
  check_found(report, "element 3");
  PackOptions replace;
  replace.replace = true;
  fixture.pack(policy("keep", "keep"), replace);
  SafetensorsBuilder quiet;
  quiet.add("codes", DType::f8_e4m3, {4}, "\x38\xff\x7f\xb8");
  quiet.add("halves", DType::f16, {4}, std::string("\x01\x7E\x00\xBC\x03\xFE\x00\x80", 8));
  quiet.write(fixture.dir.file("quiet.safetensors"));
  CHECK(verify_against(fixture.output, Checkpoint::open(fixture.dir.file("quiet.safetensors")))
            .problems.size() == 2);
}

TEST_CASE("weights that only one side has, and other shapes or dtypes, are problems") {
  SafetensorsBuilder builder;
  builder.add_f32("a", {2}, {1, 2}).add_f32("both", {2, 2}, {1, 2, 3, 4});
  builder.add_f32("type", {2}, {1, 2}).add_f32("z", {1}, {1});
  const PackFixture fixture(builder);
  fixture.pack(one_format("f32"));
  SafetensorsBuilder other;
  other.add_f32("b", {1}, {1}).add_f32("both", {4}, {1, 2, 3, 4});
  other.add("type", DType::f16, {2}, dense_bytes_of(DType::f16, {1, 2}));
  other.write(fixture.dir.file("other.safetensors"));
  const VerifyReport report =
      verify_against(fixture.output, Checkpoint::open(fixture.dir.file("other.safetensors")));
  REQUIRE(report.problems.size() == 5);
  check_found(report, "the weight is not in the checkpoint (a)");
  check_found(report, "the weight is not in the checkpoint (z)");
  check_found(report, "the checkpoint's weight is not in the artifact (b)");
  check_found(report, "F32 [2, 2], want F32 [4]");
  check_found(report, "F32 [2], want F16 [2]");
}

TEST_CASE("a codec that this program does not know is no damage, but values need it") {
  const Packed packed;
  CodecRegistry dense_only;
  for (const auto& codec : make_builtin_codecs())
    if (codec->info().dense) dense_only.add(codec);
  const Checkpoint checkpoint = packed.fixture.open();
  VerifyOptions options;
  options.against = &checkpoint;
  const auto problems =
      thrown_problems([&] { verify(packed.fixture.output, dense_only, options); });
  std::vector<std::string> missing;
  for (const Problem& problem : problems) {
    CHECK(problem.code == ErrorCode::package);
    missing.push_back(problem.found);
  }
  CHECK(missing ==
        std::vector<std::string>{"q4_0:q4_0 revision 1", "q8_0:q8_0 revision 1 (3 weights)",
                                 "ternary:absmean revision 1", "ternary:ternary revision 1"});
  CHECK(verify(packed.fixture.output, dense_only).ok());
}

TEST_CASE("verifying can be cancelled, and its progress reaches the total") {
  const Packed packed;
  const Checkpoint checkpoint = packed.fixture.open();
  VerifyOptions options;
  options.against = &checkpoint;
  std::uint64_t last = 0;
  std::uint64_t all = 0;
  options.progress = [&](std::uint64_t done, std::uint64_t total) {
    last = done;
    all = total;
    return true;
  };
  verify(packed.fixture.output, builtin_registry(), options);
  CHECK(last == all);
  CHECK(all == packed.bytes.size() + checkpoint.data_bytes());
  options.progress = [](std::uint64_t done, std::uint64_t) { return done == 0; };
  CHECK_THROWS_AS(verify(packed.fixture.output, builtin_registry(), options), Cancelled);
}

TEST_CASE("many workers find what one finds, in the same order") {
  SafetensorsBuilder builder;
  add_floats(builder, "large", DType::f32, {3000, 512}, 1);
  for (int i = 0; i < 20; ++i) add_floats(builder, "w" + std::to_string(i), DType::f32, {8, 64}, 2);
  const PackFixture fixture(builder);
  fixture.pack(one_format("f16"));
  std::string bytes = read_file(fixture.output);
  {
    const ArtifactReader reader(fixture.output);
    for (const StoredWeight& stored : reader.index().weights)
      for (std::uint64_t chunk = 0; chunk < stored.components[0].chunks(); ++chunk) {
        const std::uint64_t at =
            reader.file_offset(stored.components[0]) + stored.components[0].chunk_begin(chunk);
        bytes[at] = static_cast<char>(bytes[at] ^ 1);
      }
  }
  write_file(fixture.output, bytes);
  VerifyOptions one;
  one.jobs = 1;
  const VerifyReport expected = verify(fixture.output, builtin_registry(), one);
  CHECK(expected.problems.size() == 23);  // three chunks of the large weight
  for (int repeat = 0; repeat < 10; ++repeat) {
    VerifyOptions many;
    many.jobs = 8;
    const VerifyReport report = verify(fixture.output, builtin_registry(), many);
    REQUIRE(report.problems.size() == expected.problems.size());
    for (std::size_t i = 0; i < report.problems.size(); ++i)
      CHECK(to_string(report.problems[i]) == to_string(expected.problems[i]));
  }
}

TEST_CASE("a ceiling on memory that nothing fits is an error of its own") {
  const Packed packed;
  VerifyOptions options;
  options.max_memory = 1000;
  for (const bool against : {false, true}) {
    const Checkpoint checkpoint = packed.fixture.open();
    options.against = against ? &checkpoint : nullptr;
    const auto problems =
        problems_of([&] { verify(packed.fixture.output, builtin_registry(), options); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::limit);
    CHECK(problems[0].hint == "raise --max-memory");
  }
  options.against = nullptr;
  options.max_memory = std::uint64_t{1} << 30;
  CHECK(verify(packed.fixture.output, builtin_registry(), options).ok());
}
