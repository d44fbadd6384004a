#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "artifact_builder.h"
#include "package_paths.h"
#include "synps/artifact.h"
#include "synps/artifact_layout.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_conformance.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

// Codecs that take few row lengths, and are sound.

namespace synps::testing {
namespace {

CodecRegistry registry_with(const std::string& rule) {
  const HostileRule hostile(rule);
  CodecRegistry codecs = make_builtin_registry();
  add_codec_package(codecs, "hostile", kHostile);
  return codecs;
}

}  // namespace

TEST_CASE("codecs that take few shapes keep the contract") {
  for (const std::string rule : {"granule_48", "granule_4096", "matrices_only"}) {
    CAPTURE(rule);
    const HostileRule hostile(rule);
    for (const auto& codec : load_codec_package("hostile", kHostile))
      for (const std::string& fault : check_codec_conformance(*codec)) FAIL_CHECK(fault);
  }
}

TEST_CASE("the units of a vector are whole granules, and never longer than the vector") {
  const CodecRegistry codecs = registry_with("granule_48");
  const Codec& package = *codecs.resolve("hostile");
  CHECK(vector_row(package, 96) == 96);
  CHECK(vector_row(package, 1'000'000) == 65520);
  CHECK(vector_row(*codecs.resolve("q8_0"), 96) == kVectorRow);
  const CodecRegistry wide = registry_with("granule_4096");
  CHECK(vector_row(*wide.resolve("hostile"), 1'000'000) == kVectorRow);
}

TEST_CASE("vectors of a codec with an odd granule are stored and read") {
  const TempDir dir;
  const CodecRegistry codecs = registry_with("granule_48");
  for (const std::uint64_t elements : {48u, 96u, 65520u, 65568u, 48u * 30'000u}) {
    CAPTURE(elements);
    WeightToStore weight;
    weight.path = "a.bias";
    weight.shape = Shape{elements};
    weight.codec = "hostile";
    weight.values = test_values(elements);
    const std::string file = dir.file(std::to_string(elements) + ".synps");
    build_artifact(file, {weight}, {}, codecs);
    OpenOptions options;
    options.codecs = &codecs;
    options.verification = Verification::all;
    const Artifact artifact = Artifact::open(file, options);
    CHECK(artifact["a.bias"].decode() == weight.values);
  }
}

TEST_CASE("sizes of a vector's units that do not add up are found before anything is stored") {
  for (const std::string rule : {"row_bytes_unit_zero", "row_bytes_unit_half"}) {
    CAPTURE(rule);
    const HostileRule hostile("late:" + rule);
    const auto codec = load_codec_package("hostile", kHostile).front();
    const Problem problem =
        thrown_problem([&] { codec->components(make_weight({200'000 / 64 * 64})); });
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.what ==
          "codec hostile:hostile: row_bytes gives parts of a row that do not add up");
    // No vector of one unit depends on it, nor does any matrix.
    CHECK(codec->components(make_weight({128})).size() == 1);
  }
}

}  // namespace synps::testing
