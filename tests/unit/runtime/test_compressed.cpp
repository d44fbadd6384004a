// Opening artifacts whose components are compressed.

#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/artifact_reader.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "test_values.h"

namespace synps::testing {
namespace {

WeightToStore weight_of(const std::string& codec, Shape shape, std::uint32_t seed) {
  WeightToStore weight;
  weight.path = codec + "." + std::to_string(shape.elements());
  weight.values = test_values(shape.elements(), seed);
  weight.shape = std::move(shape);
  weight.codec = codec;
  return weight;
}

std::vector<WeightToStore> weights_of(const CompressRequest& compress) {
  std::vector<WeightToStore> weights;
  std::uint32_t seed = 1;
  for (const char* codec : {"f32", "f16", "bf16", "q8_0", "q4_0", "ternary", "ternary:absmean",
                            "ternary:planes", "ternary:tq1_0", "ternary:tq2_0"})
    for (const Shape& shape : {Shape{3, 256}, Shape{700, 512}})
      weights.push_back(weight_of(codec, shape, ++seed));
  weights.push_back(weight_of("f32", Shape{2, 300'000}, 99));  // a chunk of several segments
  WeightToStore ids;
  ids.path = "ids";
  ids.shape = Shape{5};
  ids.dtype = DType::i16;
  ids.bytes.resize(10, std::byte{7});
  weights.push_back(ids);
  for (WeightToStore& weight : weights) weight.compress = compress;
  return weights;
}

constexpr CompressRequest kZstd{Compression::zstd, 1};

}  // namespace

TEST_CASE("compressed weights have the bytes and values of plain ones") {
  TempDir dir;
  build_artifact(dir.file("plain"), weights_of({}));
  build_artifact(dir.file("zstd"), weights_of(kZstd));
  const Artifact plain = Artifact::open(dir.file("plain"));
  for (const Verification verification :
       {Verification::never, Verification::first_use, Verification::all}) {
    OpenOptions options;
    options.verification = verification;
    const Artifact packed = Artifact::open(dir.file("zstd"), options);
    REQUIRE(packed.size() == plain.size());
    for (std::size_t i = 0; i < packed.size(); ++i) {
      const WeightView a = plain.weight(i);
      const WeightView b = packed.weight(i);
      CAPTURE(a.path());
      CHECK(b.form().residency == Residency::heap);
      REQUIRE(a.component_count() == b.component_count());
      for (std::size_t c = 0; c < a.component_count(); ++c) {
        const auto x = a.component(c);
        const auto y = b.component(c);
        CHECK(std::equal(x.begin(), x.end(), y.begin(), y.end()));
        CHECK(reinterpret_cast<std::uintptr_t>(y.data()) % 64 == 0);
      }
      if (a.codec() == nullptr) continue;
      std::vector<float> one(a.shape().columns());
      std::vector<float> two(a.shape().columns());
      a.decode({1, 1}, one);
      b.decode({1, 1}, two);
      CHECK(std::memcmp(one.data(), two.data(), one.size() * sizeof(float)) == 0);
    }
  }
}

TEST_CASE("a damaged frame is named when it is inflated, whether or not digests are compared") {
  TempDir dir;
  build_artifact(dir.file("a"), weights_of(kZstd));
  std::string bytes = read_file(dir.file("a"));
  std::uint64_t at = 0;
  {
    const ArtifactReader reader(dir.file("a"));
    const StoredWeight& weight = *reader.find("q8_0.358400");
    at = reader.place_of(weight, weight.components[0], 0).offset;
  }
  bytes[at] ^= 1;  // of the magic number
  write_file(dir.file("b"), bytes);
  for (const Verification verification :
       {Verification::never, Verification::first_use, Verification::all}) {
    OpenOptions options;
    options.verification = verification;
    try {
      Artifact::open(dir.file("b"), options);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::artifact);
      const std::string text = error.what();
      CAPTURE(text);
      CHECK(text.find("q8_0.358400, component blocks, chunk 0") != std::string::npos);
      const bool digest = verification != Verification::never;
      CHECK(text.find(digest ? "do not fit their digest" : "not a zstd frame") !=
            std::string::npos);
    }
  }
}

}  // namespace synps::testing
