// diff: what two sources of weights have in common, and how far their values are apart.

#include "synps/diff.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <functional>
#include <limits>
#include <optional>
#include <string>
#include <vector>

#include "error_sums.h"
#include "pack_fixture.h"
#include "scale_values.h"
#include "synps/artifact_reader.h"
#include "synps/memory.h"
#include "synps/verify.h"

namespace synps {
namespace {

using namespace synps::testing;

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

/// Two checkpoints in a folder.
struct Two {
  TempDir dir;
  SafetensorsBuilder a;
  SafetensorsBuilder b;

  DiffReport report(const DiffOptions& options = {}) {
    write();
    return diff(*first, *second, builtin_registry(), options);
  }
  void write() {
    a.write(dir.file("a.safetensors"));
    b.write(dir.file("b.safetensors"));
    first.emplace(Checkpoint::open(dir.file("a.safetensors")));
    second.emplace(Checkpoint::open(dir.file("b.safetensors")));
  }
  /// Of the one weight that there is.
  WeightDiff only() {
    DiffReport all = report();
    REQUIRE(all.weights.size() == 1);
    return all.weights.front();
  }

  std::optional<Checkpoint> first{};
  std::optional<Checkpoint> second{};
};

const WeightDiff& find(const DiffReport& report, std::string_view path) {
  const auto at = std::find_if(report.weights.begin(), report.weights.end(),
                               [&](const WeightDiff& weight) { return weight.path == path; });
  REQUIRE(at != report.weights.end());
  return *at;
}

std::string f32(const std::vector<float>& values) {
  return bytes_of(values);
}

ErrorFigures figures_of(const std::vector<double>& reference, const std::vector<double>& values) {
  ErrorSums sums;
  for (std::size_t i = 0; i < reference.size(); ++i) sums.add(reference[i], values[i]);
  return sums.figures();
}

}  // namespace

TEST_CASE("figures are those of their definitions") {
  const ErrorFigures figures = figures_of({3, -4, 0, 0}, {3, -5, 0, 2});
  CHECK(figures.elements == 4);
  CHECK(figures.max_abs_error == 2);
  CHECK(figures.mean_abs_error == 0.75);
  CHECK(figures.rmse == std::sqrt(5.0 / 4));
  CHECK(figures.relative_error.value() == std::sqrt(5.0 / 25));
  CHECK(figures.snr_db.value() == 10 * std::log10(25.0 / 5));
}

TEST_CASE("figures without an error, without a reference, and without bound") {
  const ErrorFigures equal = figures_of({0.0, kNan, kInfinity}, {-0.0, kNan, kInfinity});
  CHECK(equal.max_abs_error == 0);
  CHECK(equal.relative_error.value() == 0);
  CHECK_FALSE(equal.snr_db);

  const ErrorFigures zero = figures_of({0, 0}, {0, 1});
  CHECK(zero.rmse == std::sqrt(0.5));
  CHECK_FALSE(zero.relative_error);
  CHECK_FALSE(zero.snr_db);

  for (const auto& [reference, value] : std::vector<std::pair<double, double>>{
           {1, kNan}, {kNan, 1}, {kInfinity, 1}, {kInfinity, -kInfinity}}) {
    const ErrorFigures infinite = figures_of({2, reference}, {2, value});
    CHECK(infinite.max_abs_error == kInfinity);
    CHECK(infinite.mean_abs_error == kInfinity);
    CHECK(infinite.rmse == kInfinity);
    CHECK_FALSE(infinite.relative_error);
    CHECK_FALSE(infinite.snr_db);
  }

  const ErrorFigures tiny = figures_of({0, 1e-200}, {0, 2e-200});
  CHECK(tiny.max_abs_error > 0);
  CHECK_FALSE(tiny.relative_error);
}

TEST_CASE("paths are paired by name, and each has its status") {
  Two two;
  two.a.add_f32("both", {2}, {1, 2})
      .add_f32("gone", {1}, {1})
      .add_f32("turned", {2, 3}, {1, 2, 3, 4, 5, 6});
  two.b.add_f32("both", {2}, {1, 2})
      .add_f32("new", {1}, {1})
      .add_f32("turned", {3, 2}, {1, 2, 3, 4, 5, 6});
  DiffReport report = two.report();
  CHECK(report.paired == 2);
  REQUIRE(report.weights.size() == 4);
  CHECK(std::is_sorted(report.weights.begin(), report.weights.end(),
                       [](const auto& a, const auto& b) { return a.path < b.path; }));
  CHECK(find(report, "both").status == DiffStatus::equal);
  CHECK(find(report, "both").figures.elements == 2);
  CHECK(find(report, "gone").status == DiffStatus::only_in_a);
  CHECK(find(report, "gone").b == nullptr);
  CHECK(find(report, "new").status == DiffStatus::only_in_b);
  CHECK(find(report, "new").a == nullptr);
  CHECK(find(report, "turned").status == DiffStatus::shape);
  CHECK(find(report, "turned").reason == "[2, 3] against [3, 2]");
  CHECK_FALSE(report.equal());
  std::swap(two.a, two.b);
  report = two.report();
  CHECK(find(report, "gone").status == DiffStatus::only_in_b);
  CHECK(find(report, "new").status == DiffStatus::only_in_a);
}

TEST_CASE("values count, and not how they are stored") {
  Two two;
  const std::vector<float> values{1, -2.5f, 0.25f, 0};
  two.a.add("w", DType::bf16, {4}, dense_bytes_of(DType::bf16, values));
  two.b.add("w", DType::f32, {4}, f32(values));
  const WeightDiff weight = two.only();
  CHECK(weight.status == DiffStatus::equal);
  CHECK(weight.decoded);
  CHECK(weight.figures.elements == 4);
  CHECK(weight.figures.relative_error.value() == 0);
}

TEST_CASE("zeros of either sign are equal, and NaN equals NaN") {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  Two two;
  two.a.add("w", DType::f32, {3}, f32({0.0f, nan, 1}));
  two.b.add("w", DType::f32, {3}, f32({-0.0f, std::copysign(nan, -1.0f), 1}));
  CHECK(two.only().status == DiffStatus::equal);
}

TEST_CASE("a value that differs is found, with its figures") {
  Two two;
  two.a.add("w", DType::f32, {2}, f32({3, 4}));
  two.b.add("w", DType::f32, {2}, f32({3, 5}));
  const WeightDiff weight = two.only();
  CHECK(weight.status == DiffStatus::value);
  CHECK(weight.has_figures());
  CHECK(weight.figures.max_abs_error == 1);
  CHECK(weight.figures.relative_error.value() == 0.2);
  const float nan = std::numeric_limits<float>::quiet_NaN();
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::f32, {2}, f32({3, nan}));
  CHECK(two.only().status == DiffStatus::value);
}

TEST_CASE("f64 numbers are compared as they are") {
  Two two;
  two.a.add("w", DType::f64, {2}, bytes_of(std::vector<double>{1, 0.1}));
  two.b.add("w", DType::f64, {2}, bytes_of(std::vector<double>{1, 0.1 + 1e-15}));
  WeightDiff weight = two.only();
  CHECK(weight.status == DiffStatus::value);
  CHECK(weight.figures.max_abs_error == 0.1 + 1e-15 - 0.1);
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::f32, {2}, f32({1, 0.1f}));
  weight = two.only();
  CHECK(weight.status == DiffStatus::value);
  CHECK(weight.figures.max_abs_error == static_cast<double>(0.1f) - 0.1);
  std::swap(two.a, two.b);
  CHECK(two.only().figures.max_abs_error == static_cast<double>(0.1f) - 0.1);
}

TEST_CASE("what is no float is compared by bytes, and its dtype counts") {
  Two two;
  two.a.add("w", DType::i64, {2}, bytes_of(std::vector<std::int64_t>{1, 1LL << 60}));
  two.b.add("w", DType::i64, {2}, bytes_of(std::vector<std::int64_t>{1, 1LL << 60}));
  CHECK(two.only().status == DiffStatus::equal);
  CHECK_FALSE(two.only().decoded);
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::i64, {2}, bytes_of(std::vector<std::int64_t>{1, (1LL << 60) + 1}));
  WeightDiff weight = two.only();
  CHECK(weight.status == DiffStatus::value);
  CHECK_FALSE(weight.has_figures());
  CHECK(weight.reason == "byte 8 is 0x00 in A and 0x01 in B");
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::i32, {2}, bytes_of(std::vector<std::int32_t>{1, 2}));
  weight = two.only();
  CHECK(weight.status == DiffStatus::dtype);
  CHECK(weight.reason == "I64 against I32");
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::f32, {2}, f32({1, 2}));
  CHECK(two.only().status == DiffStatus::dtype);
}

TEST_CASE("what nothing decodes is compared by bytes, or not at all") {
  Two two;
  two.a.add("w", DType::f4, {2, 2}, "\x12\x34");
  two.b.add("w", DType::f4, {2, 2}, "\x12\x34");
  CHECK(two.only().status == DiffStatus::equal);
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::f4, {2, 2}, "\x12\x35");
  CHECK(two.only().status == DiffStatus::value);
  two.b = SafetensorsBuilder();
  two.b.add("w", DType::f32, {2, 2}, f32({1, 2, 3, 4}));
  const WeightDiff weight = two.only();
  CHECK(weight.status == DiffStatus::not_comparable);
  CHECK(weight.reason == "f4 [2, 2] against f32 [2, 2]: in A nothing here decodes f4");
}

TEST_CASE("a scale that one side has folded in is no difference, in either order") {
  Two two;
  two.a.add("w", DType::f8_e4m3, {2, 2}, "\x38\x40\x30\xb8");  // 1, 2, 0.5, -1
  two.a.add("w_scale", DType::f32, {}, f32({0.5f}));
  two.b.add("w", DType::f32, {2, 2}, f32({0.5f, 1, 0.25f, -0.5f}));
  DiffReport report = two.report();
  CHECK(report.equal());
  CHECK(find(report, "w").status == DiffStatus::equal);
  CHECK(find(report, "w_scale").status == DiffStatus::folded);
  CHECK(find(report, "w_scale").reason == "B has folded it into w");
  std::swap(two.a, two.b);
  report = two.report();
  CHECK(report.equal());
  CHECK(find(report, "w_scale").reason == "A has folded it into w");
  // Without its scale the weight has other values.
  two.a = SafetensorsBuilder();
  two.a.add("w", DType::f8_e4m3, {2, 2}, "\x38\x40\x30\xb8");
  CHECK(find(two.report(), "w").status == DiffStatus::value);
  // And a scale whose weight is not there is a weight of its own.
  two.a = SafetensorsBuilder();
  two.a.add_f32("other", {1}, {1});
  CHECK(find(two.report(), "w_scale").status == DiffStatus::only_in_b);
}

TEST_CASE("a scale that one side has lost is a difference") {
  Two two;
  for (SafetensorsBuilder* builder : {&two.a, &two.b})
    builder->add("w", DType::f8_e4m3, {1, 2}, "\x38\x40");
  two.a.add("w_scale", DType::f32, {}, f32({1}));  // the values are equal all the same
  DiffReport report = two.report();
  CHECK(find(report, "w").status == DiffStatus::equal);
  CHECK(find(report, "w_scale").status == DiffStatus::only_in_a);
  CHECK_FALSE(report.equal());
  std::swap(two.a, two.b);
  report = two.report();
  CHECK(find(report, "w_scale").status == DiffStatus::only_in_b);
}

TEST_CASE("an artifact of codes without their scale has lost it") {
  SafetensorsBuilder without;
  without.add("w", DType::f8_e4m3, {1, 2}, "\x38\x40");
  for (const char* format : {"keep", "f32"}) {
    CAPTURE(format);
    const PackFixture fixture(without);
    fixture.pack(policy_of(std::string("[myelin]\nformats = [\"f8_e4m3\"]\n"
                                       "[[policies.\"*\".schemes]]\nformat = \"") +
                           format + "\"\n"));
    SafetensorsBuilder with = without;
    with.add("w_scale", DType::f32, {}, f32({1}));
    with.write(fixture.dir.file("with.safetensors"));
    const Checkpoint source = Checkpoint::open(fixture.dir.file("with.safetensors"));
    const Checkpoint artifact = Checkpoint::open_artifact(fixture.output, builtin_registry());
    CHECK(find(diff(source, artifact, builtin_registry()), "w_scale").status ==
          DiffStatus::only_in_a);
    CHECK(find(diff(artifact, source, builtin_registry()), "w_scale").status ==
          DiffStatus::only_in_b);
  }
}

TEST_CASE("an unusable scale is told without advice about policies") {
  Two two;
  two.a.add("w", DType::f8_e4m3, {1, 2}, "\x38\x40").add("w_scale", DType::f32, {}, f32({0}));
  two.b.add_f32("w", {1, 2}, {1, 2});
  const auto problems = problems_of([&] { two.report(); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == ErrorCode::checkpoint);
  CHECK(problems.front().field == "w_scale");
  CHECK(problems.front().hint.find("format") == std::string::npos);
}

TEST_CASE("equal bytes with another scale are other values") {
  Two two;
  for (SafetensorsBuilder* builder : {&two.a, &two.b})
    builder->add("w", DType::f8_e4m3, {1, 2}, "\x38\x40");
  two.a.add("w_scale", DType::f32, {}, f32({0.5f}));
  two.b.add("w_scale", DType::f32, {}, f32({0.25f}));
  const DiffReport report = two.report();
  CHECK(find(report, "w").status == DiffStatus::value);
  CHECK(find(report, "w").figures.max_abs_error == 0.5);
  CHECK(find(report, "w_scale").status == DiffStatus::value);
}

TEST_CASE("a file is equal to itself") {
  Two two;
  two.a = two.b = mixed_tensors();
  const DiffReport report = two.report();
  CHECK(report.equal());
  CHECK(report.paired == report.weights.size());
  // What has no encoding in common with its equal takes the other way, and says the same.
  for (const WeightDiff& weight : report.weights)
    CHECK(weight.figures.elements == weight.a->weight.shape.elements());
}

TEST_CASE("a GGUF file compares with safetensors of the same names") {
  TempDir dir;
  const std::vector<float> values = test_values(64, 3);
  GgufBuilder gguf;
  gguf.text("general.name", "n");
  gguf.tensor("w", {32, 2}, gguf::kF32, f32(values));
  gguf.tensor("x", {256}, gguf::kIQ2_XXS, std::string(66, 'i'));
  write_file(dir.file("a.gguf"), gguf.build());
  SafetensorsBuilder builder;
  builder.add("w", DType::f32, {2, 32}, f32(values)).add_f32("x", {256}, std::vector<float>(256));
  builder.write(dir.file("b.safetensors"));
  const Checkpoint a = Checkpoint::open(dir.file("a.gguf"));
  const Checkpoint b = Checkpoint::open(dir.file("b.safetensors"));
  const DiffReport report = diff(a, b, builtin_registry());
  CHECK(report.weights.size() == 2);
  CHECK(find(report, "w").status == DiffStatus::equal);
  CHECK(find(report, "x").status == DiffStatus::not_comparable);
  CHECK(diff(a, a, builtin_registry()).equal());
}

TEST_CASE("an artifact is compared as what it decodes to, with the figures of verify") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  const Checkpoint source = fixture.open();
  const Checkpoint artifact = Checkpoint::open_artifact(fixture.output, builtin_registry());
  VerifyOptions options;
  options.against = &source;
  const VerifyReport verified = verify(fixture.output, builtin_registry(), options);
  REQUIRE(verified.ok());
  const DiffReport report = diff(source, artifact, builtin_registry());
  REQUIRE(report.weights.size() == verified.weights.size());
  CHECK(report.count(DiffStatus::value) > 3);
  for (std::size_t i = 0; i < report.weights.size(); ++i) {
    const WeightDiff& weight = report.weights[i];
    const WeightError& error = verified.weights[i];
    CAPTURE(weight.path);
    CHECK(weight.path == error.path);
    CHECK(weight.figures.elements == error.elements);
    CHECK(weight.figures.max_abs_error == error.max_abs_error);
    CHECK(weight.figures.mean_abs_error == error.mean_abs_error);
    CHECK(weight.figures.rmse == error.rmse);
    CHECK(weight.figures.relative_error == error.relative_error);
    CHECK(weight.figures.snr_db == error.snr_db);
    CHECK(bytes_in_file(*weight.b) == error.bytes);
  }
  // f64 that became f32: what rounding did is an error, and no less in verify.
  CHECK(find(report, "wide").figures.max_abs_error == 1e-300);
  CHECK(diff(artifact, artifact, builtin_registry()).equal());
}

TEST_CASE("damage of an artifact is found before its values are compared") {
  const PackFixture fixture(mixed_tensors());
  fixture.pack(mixed_policy());
  std::string bytes = read_file(fixture.output);
  const ArtifactReader reader(fixture.output);
  const StoredWeight& weight = *reader.find("layers.0.attn.weight");
  bytes[reader.file_offset(weight.components.at(0)) + 5] ^= 1;
  write_file(fixture.output, bytes);
  const Checkpoint source = fixture.open();
  const Checkpoint artifact = Checkpoint::open_artifact(fixture.output, builtin_registry());
  for (const auto& [a, b] : {std::pair(&source, &artifact), std::pair(&artifact, &source)}) {
    const Checkpoint& first = *a;
    const Checkpoint& second = *b;
    const auto problems = problems_of([&] { diff(first, second, builtin_registry()); });
    REQUIRE(problems.size() == 1);
    CHECK(problems.front().code == ErrorCode::artifact);
    CHECK(to_string(problems.front()).find("layers.0.attn.weight") != std::string::npos);
  }
}

TEST_CASE("scales that an artifact folds, or keeps, are those of its checkpoint") {
  SafetensorsBuilder builder;
  builder.add("w", DType::f8_e4m3, {2, 2}, "\x38\x40\x30\xb8");
  add_scale(builder, "w_scale", DType::f32, {2, 1});
  for (const char* format : {"f32", "keep"}) {
    CAPTURE(format);
    const PackFixture fixture(builder);
    fixture.pack(policy_of(std::string("[myelin]\nformats = [\"f8_e4m3\"]\n"
                                       "[[policies.\"*\".schemes]]\nformat = \"") +
                           format + "\"\n"));
    const Checkpoint source = fixture.open();
    const Checkpoint artifact = Checkpoint::open_artifact(fixture.output, builtin_registry());
    const bool kept = std::string_view(format) == "keep";
    const DiffStatus status = kept ? DiffStatus::equal : DiffStatus::folded;
    for (const DiffReport& report :
         {diff(source, artifact, builtin_registry()), diff(artifact, source, builtin_registry())}) {
      CHECK(report.equal());
      CHECK(find(report, "w").status == DiffStatus::equal);
      CHECK(find(report, "w").decoded);
      CHECK(find(report, "w_scale").status == status);
    }
  }
}

TEST_CASE("blocks that nothing decodes are rows of bytes in an artifact") {
  GgufBuilder gguf;
  gguf.text("general.name", "n");
  gguf.tensor("x", {256, 2}, gguf::kIQ2_XXS, std::string(132, 'i'));
  const PackFixture fixture(gguf);
  const Checkpoint source = fixture.open();
  const std::string output = fixture.dir.file("x.synps");
  pack(source, make_plan(source, policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n")),
       output);
  const Checkpoint artifact = Checkpoint::open_artifact(output, builtin_registry());
  const DiffReport report = diff(source, artifact, builtin_registry());
  REQUIRE(report.weights.size() == 1);
  CHECK(report.equal());
  CHECK_FALSE(report.weights.front().decoded);
}

TEST_CASE("a module of packed integers is compared by bytes") {
  Two two;
  for (SafetensorsBuilder* builder : {&two.a, &two.b}) {
    builder->add("m.qweight", DType::i32, {4, 8}, std::string(128, 'q'));
    builder->add("m.qzeros", DType::i32, {1, 1}, std::string(4, 'z'));
    builder->add("m.scales", DType::f16, {1, 8}, std::string(16, 's'));
    builder->add("m.g_idx", DType::i32, {32}, std::string(128, '\0'));
  }
  const DiffReport report = two.report();
  CHECK(report.equal());
  CHECK_FALSE(find(report, "m.scales").decoded);
}

TEST_CASE("threads and pieces change no figure") {
  Two two;
  for (int i = 0; i < 7; ++i) {
    const std::string name = "w" + std::to_string(i);
    const auto seed = static_cast<std::uint32_t>(i);
    two.a.add(name, DType::f32, {300, 1000}, f32(test_values(300000, seed)));
    two.b.add(name, DType::bf16, {300, 1000},
              dense_bytes_of(DType::bf16, test_values(300000, seed + (i % 2))));
  }
  DiffOptions options;
  options.jobs = 1;
  const DiffReport one = two.report(options);
  ErrorSums whole;
  const std::vector<float> values = test_values(300000, 0);
  const std::string bytes = dense_bytes_of(DType::bf16, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const auto low = static_cast<std::uint8_t>(bytes[2 * i]);
    const auto high = static_cast<std::uint8_t>(bytes[2 * i + 1]);
    const std::uint32_t bits = static_cast<std::uint32_t>(high) << 24 | std::uint32_t{low} << 16;
    whole.add(values[i], std::bit_cast<float>(bits));
  }
  CHECK(find(one, "w0").figures.rmse == whole.figures().rmse);
  CHECK(find(one, "w0").figures.snr_db == whole.figures().snr_db);
  options.jobs = 5;
  const DiffReport many = diff(*two.first, *two.second, builtin_registry(), options);
  REQUIRE(many.weights.size() == one.weights.size());
  for (std::size_t i = 0; i < one.weights.size(); ++i) {
    CHECK(one.weights[i].figures.rmse == many.weights[i].figures.rmse);
    CHECK(one.weights[i].figures.mean_abs_error == many.weights[i].figures.mean_abs_error);
  }
}

TEST_CASE("memory has a ceiling, and work can be stopped") {
  Two two;
  two.a.add_f32("w", {2}, {1, 2});
  two.b.add_f32("w", {2}, {1, 2});
  DiffOptions options;
  options.max_memory = 1000;
  const auto problems = problems_of([&] { two.report(options); });
  REQUIRE(problems.size() == 1);
  CHECK(problems.front().code == ErrorCode::limit);
  options = {};
  options.progress = [](std::uint64_t, std::uint64_t) { return false; };
  CHECK_THROWS_AS(two.report(options), Cancelled);
}

}  // namespace synps
