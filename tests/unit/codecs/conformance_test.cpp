#include "synps/testing/codec_conformance.h"

#include <doctest/doctest.h>

#include "simd_targets.h"
#include "spoiled_codec.h"
#include "synps/builtin_codecs.h"

namespace synps::testing {
namespace {

/// Whether some sentence has this in it.
bool finds(const SpoiledCodec& codec, const std::string& words) {
  const auto faults = check_codec_conformance(codec);
  return std::any_of(faults.begin(), faults.end(),
                     [&](const auto& fault) { return fault.find(words) != std::string::npos; });
}

}  // namespace

TEST_CASE("every codec keeps the contract") {
  for_each_simd_target([] {
    for (const Codec* codec : builtin_registry().all()) {
      CAPTURE(codec->info().id());
      for (const std::string& fault : check_codec_conformance(*codec)) FAIL_CHECK(fault);
      CHECK(codec->supports(make_weight({2, 1024})).ok);
    }
  });
}

TEST_CASE("the contract's checks find what is spoiled") {
  SpoiledCodec codec("q8_0");
  REQUIRE(check_codec_conformance(codec).empty());
  SUBCASE("a byte that is not written") {
    codec.leaves_last_byte = true;
    CHECK(finds(codec, "some are not written"));
  }
  SUBCASE("a claim of exactness") {
    codec.facts.exact = {DType::bf16};
    CHECK(finds(codec, "values of BF16: claimed exact, and not all come back"));
  }
  SUBCASE("NaN that nobody is told of") {
    codec.after_encode = [](auto, ValueReport& report) { report.non_finite = {}; };
    CHECK(finds(codec, "neither all reported nor kept"));
  }
  SUBCASE("values that depend on the cut") {
    codec.after_decode = [](std::span<float> out) {
      if (!out.empty()) out.front() = static_cast<float>(out.size());
    };
    CHECK(finds(codec, "decoded values depend on how the weight is cut"));
  }
  SUBCASE("a size that lies") {
    codec.after_components = [](std::vector<Component>& stored) { ++stored.front().bytes; };
    CHECK(finds(codec, "is not that of its shape and dtype"));
  }
  SUBCASE("an exception") {
    codec.after_encode = [](auto, auto&) { throw std::runtime_error("spoiled"); };
    CHECK(finds(codec, "threw: spoiled"));
  }
  SUBCASE("no summary") {
    codec.facts.summary.clear();
    CHECK(finds(codec, "there is no summary"));
  }
}

}  // namespace synps::testing
