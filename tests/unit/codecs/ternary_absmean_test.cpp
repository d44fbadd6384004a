#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

#include "bytes.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Codec& absmean() {
  return *builtin_registry().resolve("ternary:absmean");
}

Encoded encode_vector(const std::vector<float>& values) {
  return encode_all(absmean(), make_weight({values.size()}), values);
}
std::vector<float> round_trip_vector(const std::vector<float>& values) {
  return round_trip(absmean(), make_weight({values.size()}), values);
}
float scale_of(const Encoded& encoded) {
  return load<float>(encoded.components[1].data());
}

}  // namespace

TEST_CASE("absmean: the scale is the mean magnitude of the whole weight") {
  const std::vector<float> values = {1, -2, 3, 0, 0, 0.5f, -0.5f, 5};
  const Encoded encoded = encode_all(absmean(), make_weight({2, 4}), values);
  REQUIRE(encoded.components[1].size() == 4);
  CHECK(scale_of(encoded) == 1.5f);
  CHECK(decode_all(absmean(), make_weight({2, 4}), encoded.components) ==
        std::vector<float>{1.5f, -1.5f, 1.5f, 0, 0, 0, 0, 1.5f});
}

TEST_CASE("absmean: halves go to even, which is zero") {
  // Mean 1: the magnitudes sum to 8.
  const float below = std::nextafter(0.5f, 0.0f);
  const float above = std::nextafter(0.5f, 1.0f);
  std::vector<float> values = {0.5f, -0.5f, below, above, -above, -1.5f, 2.5f};
  double sum = 0;
  for (const float value : values) sum += std::fabs(value);
  values.push_back(static_cast<float>(8 - sum));
  const Encoded encoded = encode_vector(values);
  CHECK(scale_of(encoded) == 1);
  CHECK(decode_all(absmean(), make_weight({8}), encoded.components) ==
        std::vector<float>{0, 0, 0, 1, -1, -1, 1, 1});
}

TEST_CASE("absmean: how values are cut into calls does not change the mean") {
  const std::vector<float> values = wild_values(5000, 1);
  const Weight weight = make_weight({5000});
  Bytes whole_scale(4);
  auto analysis = absmean().begin_analysis(weight);
  REQUIRE(analysis != nullptr);
  analysis->add(values);
  analysis->store(1, whole_scale);
  for (const std::size_t step : {1u, 7u, 1024u}) {
    auto again = absmean().begin_analysis(weight);
    for (std::size_t i = 0; i < values.size(); i += step)
      again->add(std::span(values).subspan(i, std::min(step, values.size() - i)));
    again->add({});
    Bytes scale(4);
    again->store(1, scale);
    CHECK(scale == whole_scale);
  }
}

TEST_CASE("absmean: zeros") {
  const Encoded encoded = encode_vector({0, -0.0f, 0});
  CHECK(scale_of(encoded) == 0);
  CHECK(encoded.components[0] == Bytes(32, std::byte{0x55}));
  CHECK(encoded.report.underflow.count == 0);
  CHECK(same_values(round_trip_vector({0, -0.0f, 4}), {0, 0, 4.0f / 3}));
}

TEST_CASE("absmean: a mean that rounds to zero loses the weight, and says so") {
  const Encoded encoded = encode_vector({0x1p-149f, 0, 0, -0x1p-149f, 0});
  CHECK(scale_of(encoded) == 0);
  CHECK(encoded.components[0] == Bytes(32, std::byte{0x55}));
  CHECK(encoded.report.underflow.count == 2);
  CHECK(encoded.report.underflow.first_index == 0);
}

TEST_CASE("absmean: the ends of f32") {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> huge(1000, -largest);
  CHECK(round_trip_vector(huge) == huge);
  CHECK(round_trip_vector({0x1p-149f, -0x1p-149f}) == std::vector<float>{0x1p-149f, -0x1p-149f});
  // A ratio above the largest f32 is clamped like any other.
  std::vector<float> mixed(10, 0.0f);
  mixed[4] = -largest;
  mixed[5] = 0x1p-149f;
  const std::vector<float> decoded = round_trip_vector(mixed);
  CHECK(decoded[4] == -largest / 10);
  CHECK(decoded[5] == 0);
}

TEST_CASE("absmean: NaN and infinities are counted and stored as zero") {
  const Encoded encoded = encode_vector({4, kNan, -kInfinity, 0, kInfinity, -kNan, 4, 4});
  CHECK(scale_of(encoded) == 1.5f);
  CHECK(encoded.components == encode_vector({4, 0, 0, 0, 0, 0, 4, 4}).components);
  CHECK(encoded.report.non_finite.count == 4);
  CHECK(encoded.report.non_finite.first_index == 1);
}

TEST_CASE("absmean: equal magnitudes of both signs are exact, one outlier takes all") {
  const std::vector<float> equal = {0.7f, -0.7f, -0.7f, 0.7f, 0.7f};
  CHECK(round_trip_vector(equal) == equal);
  std::vector<float> outlier(100, 0.25f);
  outlier[9] = -100;
  const std::vector<float> decoded = round_trip_vector(outlier);
  CHECK(decoded[0] == 0);
  CHECK(decoded[9] == -1.2475f);
}

TEST_CASE("absmean: the error stays within the stated bound") {
  const std::vector<float> values = finite_values(4096, 2);
  const Encoded encoded = encode_vector(values);
  const double scale = scale_of(encoded);
  double largest = 0;
  for (const float value : values) largest = std::max(largest, std::fabs(double{value}));
  const double bound = std::max(scale / 2, largest - scale) * (1 + 0x1p-23);
  const std::vector<float> decoded = decode_all(absmean(), make_weight({4096}), encoded.components);
  for (std::size_t i = 0; i < values.size(); ++i)
    CHECK(std::fabs(double{decoded[i]} - double{values[i]}) <= bound);
}

}  // namespace synps::testing
