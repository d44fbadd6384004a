#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

#include "bytes.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();
constexpr float kLargest = std::numeric_limits<float>::max();

ValueReport report_of(const std::string& name, const std::vector<float>& values) {
  const Codec& codec = *builtin_registry().resolve(name);
  return encode_all(codec, make_weight({values.size()}), values).report;
}

}  // namespace

TEST_CASE("f16 reports overflow and underflow, and keeps NaN and infinities") {
  const ValueReport report = report_of("f16", {1, kInfinity, 65519, -65520, kNan, 1e30f, 0x1p-25f,
                                               -0x1p-149f, 0, -0.0f, 0x1p-24f, -kInfinity});
  CHECK(report.overflow.count == 2);
  CHECK(report.overflow.first_index == 3);
  CHECK(report.overflow.first_value == -65520);
  CHECK(report.underflow.count == 2);
  CHECK(report.underflow.first_index == 6);
  CHECK(report.underflow.first_value == 0x1p-25f);
  CHECK(report.non_finite.count == 0);
}

TEST_CASE("bf16 reports overflow and underflow, and keeps NaN and infinities") {
  const ValueReport report = report_of(
      "bf16", {1e38f, kInfinity, kNan, -kLargest, 0x1.FEp127f, 0x1p-134f, 0x1p-133f, 0, kLargest});
  CHECK(report.overflow.count == 2);
  CHECK(report.overflow.first_index == 3);
  CHECK(report.overflow.first_value == -kLargest);
  CHECK(report.underflow.count == 1);
  CHECK(report.underflow.first_index == 5);
  CHECK(report.non_finite.count == 0);
}

TEST_CASE("f32 reports nothing") {
  const ValueReport report = report_of("f32", {kLargest, kInfinity, kNan, 0x1p-149f, 0});
  CHECK(report.overflow.count == 0);
  CHECK(report.underflow.count == 0);
  CHECK(report.non_finite.count == 0);
}

TEST_CASE("indices are those of the weight, not of the piece") {
  const Codec& codec = *builtin_registry().resolve("f16");
  const Weight weight = make_weight({100, 10});
  const std::vector<float> values(20, 1e6f);
  Bytes bytes(40);
  const std::vector<std::span<std::byte>> out = {std::span(bytes)};
  ValueReport report;
  codec.encode({&weight, 730, 2, 10}, values, nullptr, out, report);
  CHECK(report.overflow.count == 20);
  CHECK(report.overflow.first_index == 730);
}

TEST_CASE("f64 is read, rounded to f32, and refuses to be written") {
  const Codec& codec = *builtin_registry().resolve("f64");
  CHECK_FALSE(codec.info().encodes);
  CHECK(codec.info().dense_dtype == DType::f64);
  CHECK_FALSE(codec.info().stores_exactly(DType::f64));
  const Weight weight = make_weight({3}, DType::f64);
  Bytes bytes(24);
  store(bytes.data(), 0.1);
  store(bytes.data() + 8, 1e300);
  store(bytes.data() + 16, -0.0);
  const std::vector<float> values = decode_all(codec, weight, {bytes});
  CHECK(values[0] == 0.1f);
  CHECK(values[1] == kInfinity);
  CHECK(same_value(values[2], -0.0f));
  CHECK_THROWS_AS(encode_all(codec, weight, values), Error);
}

TEST_CASE("8-bit floats are read, and f32, f16 and bf16 hold every code") {
  for (const DType dtype :
       {DType::f8_e4m3, DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
    CAPTURE(dtype_name(dtype));
    const Codec& codec = *builtin_registry().for_dtype(dtype);
    CHECK_FALSE(codec.info().encodes);
    CHECK(codec.info().stores_exactly(dtype));
    const Weight weight = make_weight({256}, dtype);
    Bytes codes(256);
    for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i);
    const std::vector<float> values = decode_all(codec, weight, {codes});
    CHECK(same_values(values, values_of(dtype)));  // from the definition
    for (const char* name : {"f32", "f16", "bf16"}) {
      const Codec& target = *builtin_registry().resolve(name);
      CHECK(target.info().stores_exactly(dtype));
      CHECK(same_values(round_trip(target, weight, values), values));
    }
    CHECK_THROWS_AS(encode_all(codec, weight, values), Error);
  }
}

TEST_CASE("the ends of the 8-bit floats") {
  const auto value = [](const char* name, unsigned code) {
    const Bytes bytes{static_cast<std::byte>(code)};
    return decode_all(*builtin_registry().resolve(name), make_weight({1}), {bytes})[0];
  };
  const auto bits = [&](const char* name, unsigned code) {
    return std::bit_cast<std::uint32_t>(value(name, code));
  };
  CHECK(value("f8_e4m3", 0x01) == 0x1p-9f);
  CHECK(value("f8_e4m3", 0x08) == 0x1p-6f);
  CHECK(value("f8_e4m3", 0x7E) == 448);
  CHECK(value("f8_e4m3", 0xFE) == -448);
  CHECK(bits("f8_e4m3", 0x7F) == 0x7FF00000);
  CHECK(bits("f8_e4m3", 0xFF) == 0xFFF00000);
  CHECK(bits("f8_e4m3", 0x80) == 0x80000000);
  CHECK(value("f8_e5m2", 0x01) == 0x1p-16f);
  CHECK(value("f8_e5m2", 0x7B) == 57344);
  CHECK(value("f8_e5m2", 0x7C) == kInfinity);
  CHECK(value("f8_e5m2", 0xFC) == -kInfinity);
  CHECK(bits("f8_e5m2", 0x7D) == 0x7FE00000);
  CHECK(bits("f8_e5m2", 0xFE) == 0xFFC00000);
  CHECK(value("f8_e4m3fnuz", 0x01) == 0x1p-10f);
  CHECK(value("f8_e4m3fnuz", 0x7F) == 240);
  CHECK(bits("f8_e4m3fnuz", 0x80) == 0x7FC00000);
  CHECK(value("f8_e5m2fnuz", 0x01) == 0x1p-17f);
  CHECK(value("f8_e5m2fnuz", 0xFF) == -57344);
  CHECK(bits("f8_e5m2fnuz", 0x80) == 0x7FC00000);
}

TEST_CASE("f64 returns every value that f32 and the smaller floats hold") {
  const Codec& codec = *builtin_registry().resolve("f64");
  for (const DType dtype : codec.info().exact) {
    CAPTURE(dtype_name(dtype));
    const std::vector<float> values = values_of(dtype);
    REQUIRE_FALSE(values.empty());
    Bytes bytes(values.size() * sizeof(double));
    for (std::size_t i = 0; i < values.size(); ++i)
      store(bytes.data() + i * sizeof(double), static_cast<double>(values[i]));
    CHECK(same_values(decode_all(codec, make_weight({values.size()}), {bytes}), values));
  }
}

}  // namespace synps::testing
