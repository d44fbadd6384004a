#include <doctest/doctest.h>

#include <cstring>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "bytes.h"
#include "float_bits.h"
#include "hard_values.h"
#include "simd/kernels.h"
#include "simd/streaming.h"
#include "simd_targets.h"
#include "synps/builtin_codecs.h"
#include "synps/testing/codec_conformance.h"
#include "synps/testing/codec_io.h"
#include "ternary_codes.h"

// The codecs against their scalar reference, with every set of SIMD instructions that runs here:
// the same bytes, the same values, the same findings.

namespace synps::testing {
namespace {

using Codecs = std::vector<std::shared_ptr<const Codec>>;

/// Every codec with its reference, for every SIMD target.
template <typename Body>
void for_each_codec(Body body) {
  const Codecs fast = make_builtin_codecs();
  const Codecs reference = make_reference_codecs();
  REQUIRE(fast.size() == reference.size());
  for_each_simd_target([&] {
    for (std::size_t i = 0; i < fast.size(); ++i) {
      CAPTURE(fast[i]->info().id());
      REQUIRE(fast[i]->info().id() == reference[i]->info().id());
      body(*fast[i], *reference[i]);
    }
  });
}

/// A NaN that a dense codec decodes has defined bits.
bool same_decoded(const Codec& codec, const std::vector<float>& a, const std::vector<float>& b) {
  if (!codec.info().dense) return same_values(a, b);
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

/// One CHECK for all, so that millions of comparisons stay cheap.
void check_encodes_alike(const Codec& fast, const Codec& reference, const Weight& weight,
                         std::span<const float> values) {
  const Encoded want = encode_all(reference, weight, values);
  const Encoded got = encode_all(fast, weight, values);
  const bool same = got.components == want.components &&
                    same_finding(got.report.overflow, want.report.overflow) &&
                    same_finding(got.report.non_finite, want.report.non_finite) &&
                    same_finding(got.report.underflow, want.report.underflow);
  CHECK(same);
}

void check_decodes_alike(const Codec& fast, const Codec& reference, const Weight& weight,
                         const std::vector<Bytes>& components) {
  const std::vector<float> want = decode_all(reference, weight, components);
  CHECK(same_decoded(fast, decode_all(fast, weight, components), want));
}

void check_alike(const Codec& fast, const Codec& reference, const Weight& weight,
                 std::span<const float> values) {
  if (!reference.info().encodes) return;
  check_encodes_alike(fast, reference, weight, values);
  check_decodes_alike(fast, reference, weight, encode_all(reference, weight, values).components);
}

std::vector<Bytes> random_components(const Codec& codec, const Weight& weight, std::uint32_t seed) {
  std::vector<Bytes> components;
  for (const Component& stored : codec.components(weight))
    components.push_back(random_bytes(stored.bytes, ++seed));
  return components;
}

/// f32 bits around what a 16-bit format rounds at: its values, the ties between them, neighbours.
std::vector<float> rounding_boundaries(float (*decode)(std::uint16_t)) {
  std::vector<float> values;
  for (std::uint32_t half = 0; half < 0x10000; ++half) {
    const float low = decode(static_cast<std::uint16_t>(half));
    const float high = decode(static_cast<std::uint16_t>(half + 1));
    const std::uint32_t bits = std::bit_cast<std::uint32_t>(low);
    const std::uint32_t tie = bits + (std::bit_cast<std::uint32_t>(high) - bits) / 2;
    for (const std::uint32_t at : {bits, tie})
      for (const std::uint32_t near : {at - 1, at, at + 1}) values.push_back(float_of(near));
  }
  return values;
}

}  // namespace

TEST_CASE("SIMD: rows of every length") {
  for_each_codec([](const Codec& fast, const Codec& reference) {
    for (std::uint64_t columns = 1; columns <= 1100; ++columns) {
      const Weight weight = make_weight({2, columns});
      if (!reference.supports(weight).ok) continue;
      CAPTURE(columns);
      const auto seed = static_cast<std::uint32_t>(columns);
      check_decodes_alike(fast, reference, weight, random_components(reference, weight, seed));
      check_alike(fast, reference, weight, finite_values(2 * columns, seed));
    }
  });
}

TEST_CASE("SIMD: values of every size, and any bits at all") {
  for_each_codec([](const Codec& fast, const Codec& reference) {
    const Weight weight = make_weight({60, 1024});
    const std::size_t count = weight.shape.elements();
    for (std::uint32_t seed = 1; seed <= 4; ++seed) {
      check_alike(fast, reference, weight, normal_rows(60, 1024, seed));
      check_alike(fast, reference, weight, finite_values(count, seed));
      check_alike(fast, reference, weight, wild_values(count, seed));
      check_decodes_alike(fast, reference, weight, random_components(reference, weight, seed));
    }
  });
}

TEST_CASE("SIMD: a special value in every position") {
  constexpr std::size_t kColumns = 768;
  const Weight weight = make_weight({1, kColumns});
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    if (!reference.info().encodes) return;
    std::vector<float> values = normal_rows(2, kColumns, 9);
    values.resize(kColumns);
    for (float& value : values) value = 0.01f + std::fmod(value, 1.0f);
    for (std::size_t i = 0; i < kColumns; ++i) {
      const float special = special_values()[i * 7 % special_values().size()];
      const float before = std::exchange(values[i], special);
      CAPTURE(i);
      CAPTURE(special);
      check_encodes_alike(fast, reference, weight, values);
      values[i] = before;
    }
    for (const float special : special_values()) {
      CAPTURE(special);
      for (const std::size_t i : {0, 31, 32, 255, 300, 767}) {
        const float before = std::exchange(values[i], special);
        check_alike(fast, reference, weight, values);
        values[i] = before;
      }
      check_alike(fast, reference, weight, std::vector<float>(kColumns, special));
    }
  });
}

TEST_CASE("SIMD: ties") {
  const Weight weight = make_weight({16, 1024});
  const std::size_t count = weight.shape.elements();
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    for (const int steps : {1, 2, 8, 127}) {
      for (const float scale : {0x1p-30f, 0x1p-20f, 1.0f, 3.0f, 0x1p9f}) {
        CAPTURE(steps);
        CAPTURE(scale);
        std::vector<float> values = near_ties(count, steps, static_cast<std::uint32_t>(steps));
        for (float& value : values) value *= scale;
        check_alike(fast, reference, weight, values);
      }
    }
  });
}

TEST_CASE("SIMD: sub-blocks of every kind side by side") {
  const Weight weight = make_weight({64, 1024});
  for (std::uint32_t seed = 1; seed <= 3; ++seed) {
    std::mt19937 random(seed);
    std::normal_distribution<float> normal(0.0f, 1.0f);
    std::vector<float> values(weight.shape.elements());
    for (std::size_t first = 0; first < values.size(); first += 16) {
      const auto kind = random() % 12;
      const float level = normal(random) * (random() % 2 == 0 ? 1.0f : 100.0f);
      for (std::size_t i = first; i < first + 16; ++i) {
        const float noise = normal(random);
        float value = noise;
        if (kind == 0) value = level;  // constant
        if (kind == 1) value = 0.0f;
        if (kind == 2) value = level + noise * 1e-6f;                         // nearly so
        if (kind == 3) value = std::nextafter(level, noise);                  // two neighbours
        if (kind == 4) value = -std::fabs(level) - std::fabs(noise) * 1e-3f;  // below zero alone
        if (kind == 5) value = noise * 1e-7f;
        if (kind == 6) value = noise * 1e4f;
        if (kind == 7) value = std::round(noise * 4) * 0.25f;           // ties
        if (kind == 8) value = random() % 8 == 0 ? noise : -0.0f;       // sparse
        if (kind == 9) value = i == first + 5 ? 50.0f : noise * 0.01f;  // an outlier
        values[i] = value;
      }
    }
    for_each_codec([&](const Codec& fast, const Codec& reference) {
      check_alike(fast, reference, weight, values);
    });
  }
}

TEST_CASE("SIMD: f16 and bf16 at all boundaries, and random bits") {
  const std::vector<float> f16 =
      rounding_boundaries([](std::uint16_t h) { return f32_from_f16(h); });
  const std::vector<float> bf16 =
      rounding_boundaries([](std::uint16_t h) { return f32_from_bf16(h); });
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    if (reference.info().bits_per_weight != 16 || !reference.info().dense) return;
    for (const std::vector<float>& values : {f16, bf16, wild_values(std::size_t{1} << 21, 11)})
      check_encodes_alike(fast, reference, make_weight({values.size()}), values);
    // Most random bits are out of f16's range; these are in.
    std::vector<float> values = wild_values(std::size_t{1} << 20, 12);
    for (float& value : values)
      value = float_of((std::bit_cast<std::uint32_t>(value) & 0x87FF'FFFFu) | 0x3800'0000u);
    check_encodes_alike(fast, reference, make_weight({values.size()}), values);
  });
}

TEST_CASE("SIMD: all 16-bit patterns decode alike, as values and as scales") {
  for_each_codec([](const Codec& fast, const Codec& reference) {
    if (reference.info().dense_dtype) {
      if (reference.info().bits_per_weight != 16) return;
      const Weight weight = make_weight({0x10000});
      Bytes bytes(0x20000);
      for (std::uint32_t half = 0; half < 0x10000; ++half)
        store(bytes.data() + 2 * half, static_cast<std::uint16_t>(half));
      check_decodes_alike(fast, reference, weight, {bytes});
      return;
    }
    const Weight weight = make_weight({0x10000, 256});
    if (reference.components(weight).size() != 1) return;  // a scale a row is read by shared code
    const std::uint64_t row = reference.row_bytes(0, 256);
    Bytes blocks = random_bytes(reference.components(weight)[0].bytes, 13);
    // The scale is at one end of a block or the other; every row gets its own at both.
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
      store(blocks.data() + half * row, static_cast<std::uint16_t>(half));
      store(blocks.data() + (half + 1) * row - 2, static_cast<std::uint16_t>(half));
    }
    check_decodes_alike(fast, reference, weight, {blocks});
  });
}

TEST_CASE("SIMD: ternary:planes decodes alike all digits, and trits that no encoder writes") {
  constexpr std::uint64_t kColumns = 0x10000;  // every choice of eight trits, 0 to 3
  const Weight weight = make_weight({1, kColumns});
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    if (reference.info().id() != "ternary:planes") return;
    Bytes planes(8 * packed_codes_bytes(kColumns));
    for (std::uint64_t i = 0; i < kColumns; ++i)
      for (std::uint64_t plane = 0; plane < 8; ++plane) {
        const std::uint64_t at = plane * packed_codes_bytes(kColumns) + i / 128 * 32 + i % 32;
        const unsigned trit = (i >> (2 * plane)) & 3u;
        planes[at] |= static_cast<std::byte>(trit << (i % 128 / 32 * 2));
      }
    for (const int scale : {0x3C00, 0x2E66, 0xB555, 0x0001, 0x7BFF, 0x7C00, 0x7E01}) {
      Bytes scales(2);
      store(scales.data(), static_cast<std::uint16_t>(scale));
      check_decodes_alike(fast, reference, weight, {planes, scales});
    }
  });
}

TEST_CASE("SIMD: f64 decodes alike at all f32 boundaries") {
  std::mt19937_64 random(14);
  const Weight weight = make_weight({1 << 16}, DType::f64);
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    if (reference.info().name != "f64") return;
    for (const int kind : {0, 1, 2}) {
      Bytes bytes(weight.shape.elements() * sizeof(double));
      for (std::size_t i = 0; i < weight.shape.elements(); ++i) {
        std::uint64_t bits = random();
        if (kind > 0) {  // in f32's range, at a tie or next to it
          const double value = float_of(static_cast<std::uint32_t>(bits));
          bits =
              std::bit_cast<std::uint64_t>(value) + (std::uint64_t{1} << 28) + (bits >> 32) % 3 - 1;
        }
        if (kind == 2 && i % 50 != 0)
          bits = std::bit_cast<std::uint64_t>(1.0 + static_cast<double>(i));
        store(bytes.data() + i * sizeof bits, bits);
      }
      check_decodes_alike(fast, reference, weight, {bytes});
    }
  });
}

TEST_CASE("SIMD: outputs large enough to be streamed") {
  // 36 MiB of f32, from an address where no line of a cache begins.
  const Weight weight = make_weight({9, std::uint64_t{1} << 20});
  const std::size_t count = weight.shape.elements();
  std::vector<float> values(count + 3);
  for (std::size_t i = 0; i < values.size(); ++i)
    values[i] = static_cast<float>(i % 4099) * 1e-3f - 2.0f;
  values[count / 2] = 1e20f;
  const std::span<const float> in = std::span(values).subspan(3);
  for_each_codec([&](const Codec& fast, const Codec& reference) {
    const std::string& name = reference.info().name;
    if (name != "f16" && name != "bf16" && name != "tq2_0" && name != "ternary") return;
    const Encoded want = encode_all(reference, weight, in);
    Bytes bytes(want.components[0].size() + 6);
    Bytes scales(want.components.size() > 1 ? want.components[1].size() : 0);
    const std::span<std::byte> out[] = {std::span(bytes).subspan(6), scales};
    ValueReport report;
    fast.encode(whole(weight), in, nullptr, out, report);
    CHECK(std::equal(out[0].begin(), out[0].end(), want.components[0].begin()));
    CHECK(same_finding(report.overflow, want.report.overflow));

    const std::span<const std::byte> stored[] = {out[0], scales};
    std::vector<float> decoded(count + 3, -7.0f);
    fast.decode(whole(weight), stored, std::span(decoded).subspan(3));
    const std::vector<float> plain = decode_all(reference, weight, want.components);
    CHECK(std::equal(plain.begin(), plain.end(), decoded.begin() + 3, same_value));
    CHECK(decoded[2] == -7.0f);
  });
}

TEST_CASE("SIMD: dense kernels write the same past the caches") {
  constexpr std::size_t kCount = 4096;
  const std::vector<float> values = finite_values(kCount, 18);
  struct alignas(64) Out {
    std::byte bytes[kCount * sizeof(float)] = {};
  };
  const auto floats = [](Out& out) { return reinterpret_cast<float*>(out.bytes); };
  for_each_simd_target([&] {
    for (std::size_t count = 0; count <= kCount; count += 37) {
      Out plain;
      Out streamed;
      using simd::Stores;
      const auto same = [&](std::size_t a, std::size_t b) {
        simd::finish_streaming();
        return a == b && std::memcmp(&plain, &streamed, sizeof plain) == 0;
      };
      CHECK(same(simd::encode_f16(values.data(), count, plain.bytes, Stores::cached),
                 simd::encode_f16(values.data(), count, streamed.bytes, Stores::streamed)));
      CHECK(same(simd::encode_bf16(values.data(), count, plain.bytes, Stores::cached),
                 simd::encode_bf16(values.data(), count, streamed.bytes, Stores::streamed)));
      const Bytes in = random_bytes(count * sizeof(double), 19);
      CHECK(same(simd::decode_f16(in.data(), count, floats(plain), Stores::cached),
                 simd::decode_f16(in.data(), count, floats(streamed), Stores::streamed)));
      CHECK(same(simd::decode_bf16(in.data(), count, floats(plain), Stores::cached),
                 simd::decode_bf16(in.data(), count, floats(streamed), Stores::streamed)));
      CHECK(same(simd::decode_f64(in.data(), count, floats(plain), Stores::cached),
                 simd::decode_f64(in.data(), count, floats(streamed), Stores::streamed)));
    }
  });
}

TEST_CASE("SIMD: what is streamed past the caches is what is written in place") {
  constexpr std::size_t kUnits = 3000;
  for (const std::size_t unit : {2, 4, 18, 34, 128, 1024}) {
    for (std::size_t shift = 0; shift < 80; shift += 5) {
      CAPTURE(unit);
      CAPTURE(shift);
      const Bytes in = random_bytes(kUnits * unit, 15);
      Bytes out(kUnits * unit + 100);
      {
        simd::StreamingOutput streaming(std::size_t{1} << 30);
        streaming.fill(kUnits, out.data() + shift, unit,
                       [&](std::size_t first, std::size_t count, std::byte* to) {
                         std::memcpy(to, in.data() + first * unit, count * unit);
                       });
      }
      CHECK(std::memcmp(out.data() + shift, in.data(), in.size()) == 0);
      for (std::size_t i = 0; i < shift; ++i) CHECK(out[i] == std::byte{0});
      for (std::size_t i = shift + in.size(); i < out.size(); ++i) CHECK(out[i] == std::byte{0});
    }
  }
}

}  // namespace synps::testing
