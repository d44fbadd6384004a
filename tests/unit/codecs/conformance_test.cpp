#include "codec_conformance.h"

#include "simd_targets.h"
#include "synps/builtin_codecs.h"

namespace synps::testing {

TEST_CASE("every codec keeps the contract") {
  for_each_simd_target([] {
    for (const Codec* codec : builtin_registry().all()) {
      CAPTURE(codec->info().id());
      check_codec_conformance(*codec);
    }
  });
}

}  // namespace synps::testing
