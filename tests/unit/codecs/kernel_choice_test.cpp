#include "kernel_choice.h"

#include <doctest/doctest.h>

#include "simd_targets.h"
#include "spoiled_codec.h"
#include "synps/testing/codec_io.h"

namespace synps::testing {
namespace {

using Codecs = std::vector<std::shared_ptr<const Codec>>;

/// The built-in codecs, one of them with every byte or value that it gives passed through `spoil`.
Codecs spoiled(const std::string& id, const std::function<void(SpoiledCodec&)>& spoil) {
  Codecs codecs = make_builtin_codecs();
  for (auto& codec : codecs) {
    if (codec->info().id() != id) continue;
    const auto sound = builtin_registry().resolve(id);
    auto bad = std::make_shared<SpoiledCodec>(*sound);
    spoil(*bad);
    codec = std::move(bad);
    return codecs;
  }
  FAIL("no such codec: " << id);
  return codecs;
}

}  // namespace

TEST_CASE("kernels agree with the scalar code on what they are tried with") {
  for_each_simd_target(
      [] { CHECK(kernels_agree(make_builtin_codecs(), make_reference_codecs())); });
}

TEST_CASE("a kernel that gives one wrong bit is found") {
  for (const auto& codec : make_builtin_codecs()) {
    const std::string id = codec->info().id();
    CAPTURE(id);
    if (codec->info().encodes && codec->begin_analysis(make_weight({1, 2048})) == nullptr)
      CHECK_FALSE(kernels_agree(spoiled(id,
                                        [](SpoiledCodec& bad) {
                                          bad.after_encode = [](auto out, auto&) {
                                            out.back()[out.back().size() / 2] ^= std::byte{1};
                                          };
                                        }),
                                make_reference_codecs()));
    if (codec->begin_analysis(make_weight({1, 2048})) == nullptr)
      CHECK_FALSE(kernels_agree(spoiled(id,
                                        [](SpoiledCodec& bad) {
                                          bad.after_decode = [](std::span<float> out) {
                                            out[1000] = out[1000] + 1e30f;
                                          };
                                        }),
                                make_reference_codecs()));
  }
}

#if (HWY_TARGETS & HWY_AVX3) != 0 && !defined(HWY_COMPILE_ONLY_STATIC)
TEST_CASE("AVX-512 is used where its kernels agree, and AVX2 where they do not") {
  if ((hwy::SupportedTargets() & HWY_AVX3) == 0) return;  // nothing to choose on this machine
  int asked = 0;
  trust_avx512_if([&] {
    ++asked;
    return true;
  });
  CHECK((hwy::SupportedTargets() & HWY_AVX3) != 0);
  trust_avx512_if([&] {
    ++asked;
    return false;
  });
  CHECK((hwy::SupportedTargets() & HWY_AVX3) == 0);
  CHECK((hwy::SupportedTargets() & HWY_AVX2) != 0);
  trust_avx512_if([&] {
    ++asked;
    return false;
  });
  CHECK(asked == 2);  // what is not there is not asked about
  hwy::DisableTargets(0);
  hwy::GetChosenTarget().Update(hwy::SupportedTargets());
  CHECK((hwy::SupportedTargets() & HWY_AVX3) != 0);
}
#endif

}  // namespace synps::testing
