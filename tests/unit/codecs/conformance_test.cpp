#include "synps/testing/codec_conformance.h"

#include <doctest/doctest.h>

#include <functional>

#include "simd_targets.h"
#include "synps/builtin_codecs.h"

namespace synps::testing {
namespace {

/// A sound codec with one of its answers spoiled.
class SpoiledCodec final : public Codec {
 public:
  using Encode = std::function<void(std::span<const std::span<std::byte>>, ValueReport&)>;

  explicit SpoiledCodec(const std::string& sound)
      : facts(builtin_registry().resolve(sound)->info()),
        sound_(*builtin_registry().resolve(sound)) {}

  CodecInfo facts;
  Encode after_encode = [](auto, auto&) {};
  std::function<void(std::span<float>)> after_decode = [](auto) {};
  std::function<void(std::vector<Component>&)> after_components = [](auto&) {};

  const CodecInfo& info() const noexcept override { return facts; }
  Support supports(const Weight& weight) const override { return sound_.supports(weight); }
  std::vector<Component> components(const Weight& weight) const override {
    auto components = sound_.components(weight);
    after_components(components);
    return components;
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    return sound_.row_bytes(component, columns);
  }
  std::uint64_t row_granule() const noexcept override { return sound_.row_granule(); }
  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    std::vector<std::byte> last;
    for (const auto& bytes : out) last.push_back(bytes.empty() ? std::byte{} : bytes.back());
    sound_.encode(piece, values, analysis, out, report);
    after_encode(out, report);
    if (!leaves_last_byte) return;
    for (std::size_t c = 0; c < out.size(); ++c)
      if (!out[c].empty()) out[c].back() = last[c];
  }
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    sound_.decode(piece, in, out);
    after_decode(out);
  }

  bool leaves_last_byte = false;

 private:
  const Codec& sound_;
};

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
