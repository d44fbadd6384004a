// Folding a scale into 8-bit floats, against the plain reading of its definition.

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>
#include <string>
#include <vector>

#include "pack_fixture.h"
#include "pieces.h"
#include "scale_reader.h"
#include "scale_values.h"
#include "synps/testing/small_floats.h"
#include "synps/unpack.h"
#include "synps/verify.h"

namespace synps::testing {
namespace {

using Extents = std::vector<std::uint64_t>;

std::string random_codes(std::uint64_t count, DType dtype, std::mt19937& random) {
  const std::vector<float> values = values_of(dtype);
  std::string codes(static_cast<std::size_t>(count), '\0');
  for (char& code : codes) {
    std::uint8_t byte = 0;
    do byte = static_cast<std::uint8_t>(random());
    while (!std::isfinite(values[byte]));
    code = static_cast<char>(byte);
  }
  return codes;
}

/// What each value of the weight has to be, by the definition: index by index, with divisions.
std::vector<float> folded(const Shape& shape, ScaleForm form, DType dtype, const std::string& codes,
                          const std::vector<float>& scales) {
  const std::vector<float> table = values_of(dtype);
  std::vector<float> out(codes.size());
  const Extents& extents = shape.extents();
  for (std::size_t i = 0; i < out.size(); ++i) {
    std::size_t number = 0;
    if (form != ScaleForm::tensor) {
      const std::size_t columns = extents.back();
      const std::size_t column = i % columns;
      const std::size_t row = i / columns;
      number = row;
      if (form == ScaleForm::block) {
        const std::size_t rows = extents[extents.size() - 2];
        const std::size_t across = (columns + 127) / 128;
        const std::size_t down = (rows + 127) / 128;
        number = (row / rows * down + row % rows / 128) * across + column / 128;
      }
    }
    const double code = static_cast<double>(table[static_cast<std::uint8_t>(codes[i])]);
    out[i] = static_cast<float>(code * static_cast<double>(scales[number]));  // exact, then rounded
  }
  return out;
}

VerifyOptions against(const Checkpoint& checkpoint) {
  VerifyOptions options;
  options.against = &checkpoint;
  return options;
}

struct Case {
  Extents shape;
  Extents scale;
  ScaleForm form;
};

const Case kCases[] = {
    {{130, 300}, {}, ScaleForm::tensor},
    {{130, 300}, {130, 1}, ScaleForm::row},
    {{130, 300}, {2, 3}, ScaleForm::block},
    {{300}, {1}, ScaleForm::tensor},
    {{}, {}, ScaleForm::tensor},
    {{3, 130, 300}, {3, 2, 3}, ScaleForm::block},
    {{3, 7, 300}, {3, 7}, ScaleForm::row},
    {{1000, 1}, {1000}, ScaleForm::row},
    {{1000, 1}, {8, 1}, ScaleForm::block},
    {{2, 300'001}, {1, 2344}, ScaleForm::block},  // rows that are cut
    {{1, 300'001}, {1, 2344}, ScaleForm::block},
    {{3, 300'001}, {3}, ScaleForm::row},
    {{2000, 64}, {2000}, ScaleForm::row},  // several pieces
    {{2000, 129}, {16, 2}, ScaleForm::block},
};

}  // namespace

TEST_CASE("values are code times scale, rounded once, whatever the form, dtypes and cut") {
  std::mt19937 random(8);
  for (const Case& each : kCases) {
    for (const DType dtype : {DType::f8_e4m3, DType::f8_e5m2})
      for (const DType scale_dtype : {DType::f32, DType::bf16, DType::f16}) {
        const Shape shape(each.shape);
        CAPTURE(shape.to_string());
        CAPTURE(to_string(each.form));
        SafetensorsBuilder builder;
        const std::string codes = random_codes(shape.elements(), dtype, random);
        builder.add("a.weight", dtype, each.shape, codes);
        const std::vector<float> scales =
            add_scale(builder, "a.weight_scale", scale_dtype, each.scale,
                      static_cast<std::uint32_t>(random()));
        const PackFixture fixture(builder);
        fixture.pack(
            policy_of("[myelin]\nformats = [\"f8_e4m3\", \"f8_e5m2\"]\n"
                      "[[policies.\"*\".schemes]]\nformat = \"f32\"\n"));
        const std::string unpacked = fixture.dir.file("plain.safetensors");
        unpack(fixture.output, unpacked, builtin_registry());
        const Checkpoint plain = Checkpoint::open(unpacked);
        REQUIRE(plain.tensors().size() == 1);
        CHECK(plain.tensors()[0].weight.dtype == DType::f32);
        std::vector<float> values(static_cast<std::size_t>(shape.elements()));
        plain.read(plain.tensors()[0], 0, std::as_writable_bytes(std::span(values)));
        const std::vector<float> wanted = folded(shape, each.form, dtype, codes, scales);
        std::size_t different = 0;
        for (std::size_t i = 0; i < values.size(); ++i)
          different +=
              std::bit_cast<std::uint32_t>(values[i]) != std::bit_cast<std::uint32_t>(wanted[i])
                  ? 1
                  : 0;
        CHECK(different == 0);
        const Checkpoint checkpoint = fixture.open();
        const VerifyReport report = verify(fixture.output, builtin_registry(), against(checkpoint));
        CHECK(report.ok());
        REQUIRE(report.weights.size() == 1);
        CHECK(report.weights[0].exact);
        CHECK_FALSE(report.weights[0].lossless);
      }
  }
}

TEST_CASE("any cut reads the same numbers, within the room that the plan leaves") {
  std::mt19937 random(9);
  for (const Case& each : kCases) {
    const Shape shape(each.shape);
    CAPTURE(shape.to_string());
    CAPTURE(to_string(each.form));
    SafetensorsBuilder builder;
    builder.add("a.weight", DType::f8_e4m3, each.shape,
                random_codes(shape.elements(), DType::f8_e4m3, random));
    const std::vector<float> scales = add_scale(builder, "a.weight_scale", DType::f32, each.scale);
    const PackFixture fixture(builder);
    const Checkpoint checkpoint = fixture.open();
    const SourceTensor& weight = checkpoint.tensors()[0];
    const auto scale = folded_scale(checkpoint, weight, builtin_registry());
    REQUIRE(scale);
    std::vector<float> ones(static_cast<std::size_t>(shape.elements()), 1.0f);
    ScaleReader whole;
    ValueReport report;
    whole.fold(checkpoint, weight.weight, *scale,
               {&weight.weight, 0, shape.rows(), shape.columns()}, ones, report);
    for (const std::uint64_t granule : {std::uint64_t{1}, std::uint64_t{32}, std::uint64_t{0}}) {
      ScaleReader reader;
      for (std::uint64_t at = 0; at < shape.elements();) {
        const Piece piece = next_piece(weight.weight, at, shape.elements(), granule);
        std::vector<float> values(static_cast<std::size_t>(piece.elements()), 1.0f);
        reader.fold(checkpoint, weight.weight, *scale, piece, values, report);
        CHECK(std::equal(values.begin(), values.end(),
                         ones.begin() + static_cast<std::ptrdiff_t>(at)));
        at += piece.elements();
      }
    }
    CHECK(scale_numbers(shape, each.form, shape.elements()) >= scales.size());
  }
}

TEST_CASE("special codes stay what they are, and products that leave f32 are told") {
  SafetensorsBuilder builder;
  const std::string codes("\x7c\xfc\x7e\x00\x80\x7b\x01\x3c",
                          8);  // inf -inf nan 0 -0 57344 2^-16 1
  builder.add("a.weight", DType::f8_e5m2, {1, 8}, codes);
  builder.add("a.weight_scale", DType::f32, {}, bytes_of(std::vector<float>{0x1p125f}));
  builder.add("b.weight", DType::f8_e5m2, {1, 8}, codes);
  builder.add("b.weight_scale", DType::f32, {}, bytes_of(std::vector<float>{0x1p-140f}));
  const PackFixture fixture(builder);
  const Policy policy = policy_of(
      "[myelin]\nformats = [\"f8_e5m2\"]\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n");
  const auto problems = problems_of([&] { fixture.pack(policy); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].field == "a.weight");
  CHECK(problems[0].found.find("element 5") != std::string::npos);
  PackOptions options;
  options.allow_overflow = true;
  const PackReport report = fixture.pack(policy, options);
  REQUIRE(report.findings.size() == 2);
  CHECK(report.findings[0].values.overflow.count == 1);
  CHECK(report.findings[1].path == "b.weight");
  CHECK(report.findings[1].values.underflow.count == 1);
  const std::string unpacked = fixture.dir.file("plain.safetensors");
  unpack(fixture.output, unpacked, builtin_registry());
  const Checkpoint plain = Checkpoint::open(unpacked);
  std::vector<float> values(8);
  plain.read(plain.tensors()[0], 0, std::as_writable_bytes(std::span(values)));
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(values[0] == infinity);
  CHECK(values[1] == -infinity);
  CHECK(std::isnan(values[2]));
  CHECK(same_value(values[3], 0.0f));
  CHECK(same_value(values[4], -0.0f));
  CHECK(values[5] == infinity);
  CHECK(values[6] == 0x1p109f);
  CHECK(values[7] == 0x1p125f);
}

TEST_CASE("a scale that is zero or not finite is an error that names the place") {
  const struct {
    float value;
    std::string text;
  } cases[] = {{0.0f, "0 at element"},
               {-0.0f, "-0 at element"},
               {std::numeric_limits<float>::infinity(), "infinity at element"},
               {std::numeric_limits<float>::quiet_NaN(), "NaN at element"}};
  for (const auto& each : cases) {
    CAPTURE(each.text);
    std::vector<float> scales(3 * 2, 0.5f);
    scales[3] = each.value;
    SafetensorsBuilder builder;
    builder.add("a.weight", DType::f8_e4m3, {300, 200}, std::string(60'000, '\x38'));
    builder.add("a.weight_scale_inv", DType::f32, {3, 2}, bytes_of(scales));
    const PackFixture fixture(builder);
    const auto problems = problems_of([&] {
      fixture.pack(
          policy_of("[myelin]\nformats = [\"f8_e4m3\"]\n"
                    "[[policies.\"*\".schemes]]\nformat = \"q8_0\"\n"
                    "[policies.\"*\"]\nfallback = \"f16\"\n"));
    });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::checkpoint);
    CHECK(problems[0].field == "a.weight_scale_inv");
    CHECK(problems[0].found.find(each.text) != std::string::npos);
    CHECK(problems[0].found.find("3 [1, 1]") != std::string::npos);
    CHECK(problems[0].offset.has_value());
  }
}

TEST_CASE("a negative scale is a number like any other") {
  SafetensorsBuilder builder;
  builder.add("a.weight", DType::f8_e4m3, {1, 2}, "\x38\xb8");
  builder.add("a.weight_scale", DType::f32, {1}, bytes_of(std::vector<float>{-2.0f}));
  const PackFixture fixture(builder);
  fixture.pack(policy_of(
      "[myelin]\nformats = [\"f8_e4m3\"]\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n"));
  const std::string unpacked = fixture.dir.file("plain.safetensors");
  unpack(fixture.output, unpacked, builtin_registry());
  const Checkpoint plain = Checkpoint::open(unpacked);
  std::vector<float> values(2);
  plain.read(plain.tensors()[0], 0, std::as_writable_bytes(std::span(values)));
  CHECK(values == std::vector<float>{-2.0f, 2.0f});
}

}  // namespace synps::testing
