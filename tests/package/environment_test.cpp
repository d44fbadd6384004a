#include <doctest/doctest.h>

#include <fenv.h>

#include <cfenv>
#include <limits>
#include <string>
#include <thread>
#include <vector>

#include "package_paths.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_io.h"

// What a package does to the floating-point environment of a thread ends with the call: it would
// change the bytes that other codecs write.

namespace synps::testing {
namespace {

bool keeps_subnormals() {
  volatile float smallest = std::numeric_limits<float>::min();
  volatile float half = smallest / 2;
  return half > 0;
}

bool keeps_subnormals_in_a_thread() {
  bool kept = false;
  std::thread([&] { kept = keeps_subnormals(); }).join();
  return kept;
}

void use(const std::string& path) {
  for (const auto& codec : load_codec_package("hostile", path)) {
    const Weight weight = make_weight({2, 64});
    CHECK(round_trip(*codec, weight, std::vector<float>(128, 1.5f)).front() == 1.5f);
  }
}

}  // namespace

TEST_CASE("a package that was linked for fast mathematics flushes nobody's subnormals") {
  const HostileRule sound("none");
  REQUIRE(keeps_subnormals());
  use(kHostileFast);
  CHECK(keeps_subnormals());
  CHECK(keeps_subnormals_in_a_thread());
}

TEST_CASE("a package that changes the rounding changes its own") {
  const HostileRule rule("encode_rounds_up");
  use(kHostile);
  CHECK(std::fegetround() == FE_TONEAREST);
}

#ifdef __GLIBC__
TEST_CASE("a package that turns traps on turns on its own") {
  const HostileRule rule("encode_traps");
  use(kHostile);
  CHECK(fegetexcept() == 0);
}
#endif

TEST_CASE("a package starts in the default environment, and the caller gets its own back") {
  const HostileRule rule("encode_looks_at_rounding");
  const auto codec = load_codec_package("hostile", kHostile).front();
  const std::vector<float> values(128, 1.5f);
  REQUIRE(std::fesetround(FE_UPWARD) == 0);
  Encoded encoded;
  bool thrown = false;
  try {
    encoded = encode_all(*codec, make_weight({2, 64}), values);
  } catch (const std::exception&) {
    thrown = true;
  }
  const int rounding = std::fegetround();
  std::fesetround(FE_TONEAREST);
  CHECK_FALSE(thrown);
  CHECK(rounding == FE_UPWARD);
}

}  // namespace synps::testing
