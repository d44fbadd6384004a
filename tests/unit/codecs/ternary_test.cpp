#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

#include "bytes.h"
#include "exact_sum.h"
#include "float_bits.h"
#include "least_squares.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"

namespace synps::testing {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

const Codec& ternary() {
  return *builtin_registry().resolve("ternary");
}

/// Of all choices of codes for a row of whole numbers, the one of least squared error. For codes
/// with dot product P with the row and K of them not zero, the best scale is P/K and the error is
/// (sum of squares) - P²/K: so the largest P²/K, compared as fractions; of equal ones the smallest
/// K.
struct BruteForce {
  std::int64_t dot = 0;
  std::int64_t kept = 1;

  explicit BruteForce(const std::vector<std::int64_t>& row) {
    std::size_t choices = 1;
    for (std::size_t i = 0; i < row.size(); ++i) choices *= 3;
    for (std::size_t choice = 0; choice < choices; ++choice) {
      std::int64_t p = 0;
      std::int64_t k = 0;
      std::size_t digits = choice;
      for (const std::int64_t value : row) {
        const auto code = static_cast<std::int64_t>(digits % 3) - 1;
        digits /= 3;
        p += code * value;
        k += code * code;
      }
      if (p > 0) take(p, k);
    }
  }

 private:
  void take(std::int64_t p, std::int64_t k) {
    const std::int64_t left = p * p * kept;  // below 2^49: up to 7 numbers of 20 bits
    const std::int64_t right = dot * dot * k;
    if (left < right || (left == right && k >= kept)) return;
    dot = p;
    kept = k;
  }
};

/// The same from decoded values: whole multiples of the scale.
BruteForce attained(const std::vector<std::int64_t>& row, const std::vector<float>& decoded) {
  BruteForce found({});
  found.kept = 0;
  for (std::size_t i = 0; i < row.size(); ++i) {
    const std::int64_t code = decoded[i] > 0 ? 1 : decoded[i] < 0 ? -1 : 0;
    found.dot += code * row[i];
    found.kept += code * code;
  }
  return found;
}

float scale_of(const Encoded& encoded, std::size_t row = 0) {
  return load<float>(encoded.components[1].data() + row * sizeof(float));
}

void check_against_brute_force(const std::vector<std::int64_t>& row, int exponent) {
  std::vector<float> values;
  for (const std::int64_t number : row)
    values.push_back(std::ldexp(static_cast<float>(number), exponent));
  const Weight weight = make_weight({1, values.size()});
  const Encoded encoded = encode_all(ternary(), weight, values);
  const BruteForce best(row);
  if (best.dot == 0) {
    CHECK(scale_of(encoded) == 0);
    return;
  }
  const BruteForce ours = attained(row, decode_all(ternary(), weight, encoded.components));
  CHECK(ours.dot == best.dot);
  CHECK(ours.kept == best.kept);
  // Exact in double, then rounded: numbers this small are never near a tie of f32 without being
  // one.
  const double scale = static_cast<double>(best.dot) / static_cast<double>(best.kept);
  CHECK(scale_of(encoded) == std::ldexp(static_cast<float>(scale), exponent));
}

/// The best count and threshold by exact comparison of every k, with no filter.
TernaryFit fit_without_filter(const std::vector<float>& row) {
  std::vector<std::uint32_t> magnitudes;
  for (const float value : row) magnitudes.push_back(f32_magnitude_bits(value));
  std::sort(magnitudes.rbegin(), magnitudes.rend());
  MagnitudeTotal sum;
  WideUint<12> best_square;
  WideUint<1> best_count{{1}};
  MagnitudeTotal best_sum;
  for (std::size_t i = 0; i < magnitudes.size(); ++i) {
    add_magnitude(sum, magnitudes[i]);
    const WideUint<1> count{{i + 1}};
    const WideUint<12> square = product(sum, sum);
    if (!(product(square, best_count) > product(best_square, count))) continue;
    best_square = square;
    best_count = count;
    best_sum = sum;
  }
  const std::uint64_t k = best_count.limbs[0];
  return {rounded_mean(best_sum, k), magnitudes[k - 1]};
}

void check_against_unfiltered(const std::vector<float>& row) {
  FitScratch scratch;
  const TernaryFit fit = fit_ternary(row, scratch);
  const TernaryFit wanted = fit_without_filter(row);
  CHECK(fit.scale == wanted.scale);
  CHECK(fit.threshold_bits == wanted.threshold_bits);
}

/// Appends `count` whole numbers, larger ones first, that differ by at most 1 and add up to `sum`.
void append_shares(std::vector<float>& row, std::uint64_t sum, std::uint64_t count) {
  for (std::uint64_t i = 0; i < count; ++i)
    row.push_back(static_cast<float>(sum / count + (i < sum % count ? 1 : 0)));
}

}  // namespace

TEST_CASE("ternary: least squares against every choice of codes, small numbers full of ties") {
  std::mt19937 random(1);
  for (int round = 0; round < 3000; ++round) {
    std::vector<std::int64_t> row(1 + random() % 7);
    const auto range = static_cast<std::int64_t>(1 + random() % 9);
    for (std::int64_t& value : row) value = static_cast<std::int64_t>(random() % 19) % (range + 1);
    for (std::int64_t& value : row)
      if (random() % 2 == 0) value = -value;
    check_against_brute_force(row, static_cast<int>(random() % 200) - 120);
  }
}

TEST_CASE("ternary: least squares against every choice of codes, 20-bit numbers") {
  std::mt19937 random(2);
  for (int round = 0; round < 1000; ++round) {
    std::vector<std::int64_t> row(1 + random() % 7);
    for (std::int64_t& value : row)
      value = static_cast<std::int64_t>(random() % 0x200000) - 0x100000;
    check_against_brute_force(row, static_cast<int>(random() % 200) - 120);
  }
}

TEST_CASE("ternary: equal errors keep the fewest elements") {
  // 9/1 = 36/4: keeping the 3 alone is as good as keeping all.
  check_against_brute_force({1, -3, 1, 1}, 0);
  const std::vector<float> values = {1, -3, 1, 1};
  const Weight weight = make_weight({4});
  const Encoded encoded = encode_all(ternary(), weight, values);
  CHECK(scale_of(encoded) == 3);
  CHECK(decode_all(ternary(), weight, encoded.components) == std::vector<float>{0, -3, 0, 0});
}

TEST_CASE("ternary: rows of {-s, 0, s} come back exactly for every exponent of s") {
  std::mt19937 random(3);
  for (std::uint32_t exponent = 0; exponent < 255; ++exponent) {
    for (int round = 0; round < 8; ++round) {
      std::uint32_t fraction = static_cast<std::uint32_t>(random()) & 0x7FFFFF;
      if (round == 0) fraction = 0x7FFFFF;
      if (round == 1) fraction = exponent == 0 ? 1 : 0;
      const float s = std::bit_cast<float>((exponent << 23) | fraction);
      std::vector<float> values(1 + random() % 300);
      for (float& value : values) value = random() % 3 == 0 ? 0.0f : random() % 2 == 0 ? s : -s;
      if (!same_values(round_trip(ternary(), make_weight({values.size()}), values), values))
        FAIL_CHECK("s = " << s << ", " << values.size() << " columns");
    }
  }
}

TEST_CASE("ternary: -0 comes back as +0") {
  const std::vector<float> values = {-0.0f, 2, -0.0f, -2};
  CHECK(same_values(round_trip(ternary(), make_weight({4}), values), {0.0f, 2, 0.0f, -2}));
  const std::vector<float> zeros(5, -0.0f);
  CHECK(same_values(round_trip(ternary(), make_weight({5}), zeros), std::vector<float>(5, 0.0f)));
}

TEST_CASE("ternary: a row of zeros has scale 0 and zero codes") {
  const Encoded encoded = encode_all(ternary(), make_weight({2, 3}), std::vector<float>(6, 0.0f));
  CHECK(encoded.components[0] == Bytes(64, std::byte{0x55}));
  CHECK(encoded.components[1] == Bytes(8, std::byte{0}));
  CHECK(encoded.report.underflow.count == 0);
}

TEST_CASE("ternary: byte m of a group holds elements m, m + 32, m + 64, m + 96") {
  std::vector<float> values(130, 0.0f);
  values[5] = 1;     // group 0, byte 5, bits 0-1
  values[37] = -1;   // bits 2-3
  values[101] = 1;   // bits 6-7
  values[129] = -1;  // group 1, byte 1, bits 0-1; the rest of the group is padding
  const Encoded encoded = encode_all(ternary(), make_weight({130}), values);
  Bytes wanted(64, std::byte{0x55});
  wanted[5] = std::byte{0x92};
  wanted[33] = std::byte{0x54};
  CHECK(encoded.components[0] == wanted);
}

TEST_CASE("ternary: NaN and infinities are counted and stored as zero") {
  const std::vector<float> values = {1, kNan, -kInfinity, 1, -1, kInfinity};
  const std::vector<float> zeroed = {1, 0, 0, 1, -1, 0};
  const Encoded encoded = encode_all(ternary(), make_weight({6}), values);
  CHECK(encoded.components == encode_all(ternary(), make_weight({6}), zeroed).components);
  CHECK(encoded.report.non_finite.count == 3);
  CHECK(encoded.report.non_finite.first_index == 1);
}

TEST_CASE("ternary: an outlier is kept alone where that is better") {
  std::vector<float> values(100, 1.0f);
  values[50] = -9.1f;  // 9.1² against (99 + 9.1)²/100 = 116.9
  std::vector<float> decoded = round_trip(ternary(), make_weight({100}), values);
  CHECK(decoded[0] > 0);
  values[50] = -20;  // 400 against (99 + 20)²/100 = 141.6
  decoded = round_trip(ternary(), make_weight({100}), values);
  CHECK(decoded[0] == 0);
  CHECK(decoded[50] == -20);
}

TEST_CASE("ternary: the largest and the smallest values that f32 has") {
  const float largest = std::numeric_limits<float>::max();
  const std::vector<float> huge(3000, -largest);
  CHECK(round_trip(ternary(), make_weight({3000}), huge) == huge);
  std::vector<float> mixed(64, 0x1p-149f);
  mixed[63] = largest;
  const std::vector<float> decoded = round_trip(ternary(), make_weight({64}), mixed);
  CHECK(decoded[63] == largest);
  CHECK(decoded[0] == 0);
}

TEST_CASE("ternary: nearly equal scores are told apart exactly") {
  std::mt19937 random(4);
  // Magnitudes sqrt(k) - sqrt(k - 1) make S_k²/k the same for all k, but for their rounding.
  std::vector<float> flat(20'000);
  for (std::size_t k = 0; k < flat.size(); ++k)
    flat[k] = static_cast<float>(std::sqrt(static_cast<double>(k + 1)) -
                                 std::sqrt(static_cast<double>(k)));
  check_against_unfiltered(flat);
  for (int round = 0; round < 20; ++round) {
    std::vector<float> row(flat.begin(), flat.begin() + 500 + static_cast<int>(random() % 500));
    std::shuffle(row.begin(), row.end(), random);
    for (float& value : row) value = std::nextafter(value, static_cast<float>(random() % 3));
    check_against_unfiltered(row);
  }
}

TEST_CASE("ternary: scores that double precision cannot tell apart") {
  // C² - D·A² = 1, C and A large: with A the sum of the k largest magnitudes and C that of the Dk
  // largest, keeping Dk is better by one part in C², far below what a double resolves. Within each
  // of the two groups of nearly equal magnitudes the score has its maximum at an end.
  struct Solution {
    std::uint64_t d, c, a;  // the smallest one; the others follow from it
  };
  for (const Solution& smallest : std::vector<Solution>{
           {2, 3, 2}, {3, 2, 1}, {5, 9, 4}, {6, 5, 2}, {7, 8, 3}, {8, 3, 1}, {10, 19, 6}}) {
    Solution pell = smallest;
    while (pell.c < (std::uint64_t{1} << 31)) {
      const std::uint64_t c = smallest.c * pell.c + smallest.d * smallest.a * pell.a;
      pell.a = smallest.c * pell.a + smallest.a * pell.c;
      pell.c = c;
    }
    // Enough elements that each is a whole number below 2^24.
    for (std::uint64_t k = (pell.a >> 24) + 1; k < (pell.a >> 24) + 40; ++k) {
      std::vector<float> row;
      append_shares(row, pell.a, k);
      append_shares(row, pell.c - pell.a, (pell.d - 1) * k);
      CAPTURE(pell.d);
      CAPTURE(k);
      check_against_unfiltered(row);
      FitScratch scratch;
      CHECK(fit_ternary(row, scratch).threshold_bits == f32_magnitude_bits(row.back()));
    }
  }
}

TEST_CASE("ternary: wild rows fit as without the filter") {
  std::mt19937 random(5);
  for (int round = 0; round < 200; ++round) {
    std::vector<float> row(1 + random() % 400);
    for (float& value : row) {
      do value = std::bit_cast<float>(static_cast<std::uint32_t>(random()));
      while (!std::isfinite(value) || value == 0);
    }
    check_against_unfiltered(row);
  }
}

TEST_CASE("ternary: a row of a million elements") {
  std::vector<float> row = finite_values(1 << 20, 6);
  const TernaryFit wanted = fit_without_filter(row);
  FitScratch scratch;
  const TernaryFit fit = fit_ternary(row, scratch);
  CHECK(fit.scale == wanted.scale);
  CHECK(fit.threshold_bits == wanted.threshold_bits);
}

}  // namespace synps::testing
