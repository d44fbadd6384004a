#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>
#include <vector>

#include "package_paths.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_conformance.h"

// The example package, whose rules are at the top of docs/codec_package/q8_row.c.

namespace synps::testing {
namespace {

using Limits = std::numeric_limits<float>;

const Codec& q8_row() {
  static const auto kCodecs = load_codec_package("q8_row", kQ8Row);
  return *kCodecs.front();
}

struct Row {
  std::vector<int> codes;
  float scale = 0;
  ValueReport report;
  std::vector<float> decoded;
};

Row encode_row(const std::vector<float>& values) {
  const Weight weight = make_weight({1, values.size()});
  const Encoded encoded = encode_all(q8_row(), weight, values);
  Row row;
  for (const std::byte code : encoded.components[0])
    row.codes.push_back(static_cast<signed char>(code));
  std::memcpy(&row.scale, encoded.components[1].data(), sizeof row.scale);
  row.report = encoded.report;
  row.decoded = decode_all(q8_row(), weight, encoded.components);
  return row;
}

}  // namespace

TEST_CASE("q8_row stores codes and one scale a row") {
  const auto stored = q8_row().components(make_weight({2, 3, 10}));
  REQUIRE(stored.size() == 2);
  CHECK(stored[0] == Component{"codes", DType::i8, {2, 3, 10}, 60, false});
  CHECK(stored[1] == Component{"scales", DType::f32, {2, 3, 1}, 24, false});
  const Support scalar = q8_row().supports(make_weight({}));
  CHECK_FALSE(scalar.ok);
  CHECK(scalar.reason == "a scalar has no row to share a scale");
}

TEST_CASE("q8_row rounds halves away from zero") {
  const Row row = encode_row({127, 0.5f, 1.5f, -0.5f, -2.5f, 0.49999997f, -127, 126.5f, -0.0f});
  CHECK(row.scale == 1);
  CHECK(row.codes == std::vector<int>{127, 1, 2, -1, -3, 0, -127, 127, 0});
  CHECK(row.decoded == std::vector<float>{127, 1, 2, -1, -3, 0, -127, 127, 0});
}

TEST_CASE("q8_row's rows have scales of their own, and zeros have scale 0") {
  const Weight weight = make_weight({3, 2});
  const std::vector<float> values{254, -2, 0, -0.0f, 0.5f, 127};
  const Encoded encoded = encode_all(q8_row(), weight, values);
  float scales[3];
  std::memcpy(scales, encoded.components[1].data(), sizeof scales);
  CHECK(scales[0] == 2);
  CHECK(std::bit_cast<std::uint32_t>(scales[1]) == 0);
  CHECK(scales[2] == 1);
  CHECK(decode_all(q8_row(), weight, encoded.components) ==
        std::vector<float>{254, -2, 0, 0, 1, 127});
}

TEST_CASE("q8_row reports what is not finite, and leaves it out of the scale") {
  const Row row = encode_row({1, Limits::quiet_NaN(), -Limits::infinity(), 127});
  CHECK(row.scale == 1);
  CHECK(row.codes == std::vector<int>{1, 0, 0, 127});
  CHECK(row.report.non_finite.count == 2);
  CHECK(row.report.non_finite.first_index == 1);
  CHECK(row.report.overflow.count == 0);
  CHECK(row.report.underflow.count == 0);
}

TEST_CASE("q8_row keeps the largest values finite") {
  const Row row = encode_row({Limits::max(), -Limits::max(), Limits::max() / 2, 1});
  CHECK(row.report.overflow.count == 0);
  for (const float value : row.decoded) CHECK(std::isfinite(value));
  CHECK(row.codes == std::vector<int>{127, -127, 64, 0});
  CHECK(std::fabs(row.decoded[0] - Limits::max()) < Limits::max() * 0x1p-22f);
}

TEST_CASE("q8_row underflows where its scale does") {
  const float tiny = Limits::denorm_min();
  const Row lost = encode_row({63 * tiny, 0, -tiny});
  CHECK(lost.scale == 0);
  CHECK(lost.codes == std::vector<int>{0, 0, 0});
  CHECK(lost.report.underflow.count == 2);
  CHECK(lost.report.underflow.first_index == 0);
  CHECK(lost.report.underflow.first_value == static_cast<double>(63 * tiny));
  // The smallest scale there is; 190 of it are clamped to 127.
  const Row kept = encode_row({64 * tiny, -190 * tiny, 3 * tiny});
  CHECK(kept.scale == tiny);
  CHECK(kept.codes == std::vector<int>{64, -127, 3});
  CHECK(kept.report.underflow.count == 0);
}

TEST_CASE("q8_row is off by half a step at most") {
  const std::vector<float> values = finite_values(4096, 9);
  const Row row = encode_row(values);
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(std::fabs(values[i] - row.decoded[i]) <= 0.50001f * row.scale);
}

}  // namespace synps::testing
