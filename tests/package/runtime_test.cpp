#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "artifact_builder.h"
#include "package_paths.h"
#include "synps/artifact.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_io.h"
#include "temp_dir.h"
#include "test_values.h"
#include "thrown_problem.h"

// Programs that load artifacts whose codecs come from a package.

namespace synps::testing {
namespace {

WeightToStore q8_row_weight() {
  WeightToStore weight;
  weight.path = "a.weight";
  weight.shape = Shape{8, 100};
  weight.codec = "q8_row";
  weight.values = test_values(800);
  return weight;
}

}  // namespace

TEST_CASE("a program that has loaded the package opens and decodes the artifact") {
  const TempDir dir;
  CodecRegistry codecs = make_builtin_registry();
  add_codec_package(codecs, "q8_row", kQ8Row);
  const WeightToStore weight = q8_row_weight();
  build_artifact(dir.file("m.synps"), {weight}, {}, codecs);
  OpenOptions options;
  options.codecs = &codecs;
  options.verification = Verification::all;
  const Artifact artifact = Artifact::open(dir.file("m.synps"), options);
  const WeightView view = artifact["a.weight"];
  CHECK(view.codec() == codecs.resolve("q8_row"));
  CHECK(view.component("codes").size() == 800);
  const std::vector<float> all = view.decode();
  CHECK(all == round_trip(*view.codec(), make_weight(weight.shape), weight.values));
  std::vector<float> rows(200);
  view.decode({3, 2}, rows);
  CHECK(rows == std::vector<float>(all.begin() + 300, all.begin() + 500));
}

TEST_CASE("a program without the package is told which one is needed") {
  const TempDir dir;
  CodecRegistry codecs = make_builtin_registry();
  add_codec_package(codecs, "q8_row", kQ8Row);
  build_artifact(dir.file("m.synps"), {q8_row_weight()}, {}, codecs);
  const Problem problem = thrown_problem([&] { Artifact::open(dir.file("m.synps")); });
  CHECK(problem.code == ErrorCode::package);
  CHECK(problem.field == "a.weight");
  CHECK(problem.found == "q8_row:q8_row revision 1");
  CHECK(problem.hint ==
        "load the codec package 'q8_row': --package q8_row=PATH on the command line, "
        "add_codec_package() in a program");
}

TEST_CASE("a package that fails while decoding is at fault, not the artifact") {
  const TempDir dir;
  CodecRegistry codecs = make_builtin_registry();
  {
    const HostileRule rule("late:decode_throws");
    add_codec_package(codecs, "hostile", kHostile);
  }
  WeightToStore weight = q8_row_weight();
  weight.codec = "hostile";
  build_artifact(dir.file("m.synps"), {weight}, {}, codecs);
  OpenOptions options;
  options.codecs = &codecs;
  const Artifact artifact = Artifact::open(dir.file("m.synps"), options);
  const Problem problem = thrown_problem([&] { artifact["a.weight"].decode(); });
  CHECK(problem.code == ErrorCode::package);
  CHECK(problem.file == kHostile);
  CHECK(problem.what == "codec hostile:hostile: decode threw an exception: cannot decode");
  CHECK(problem.field == "a.weight");
}

TEST_CASE("sizes that change once an artifact is open lead out of nothing") {
  const TempDir dir;
  for (const std::string rule : {"row_bytes_zero_later", "row_bytes_half_later",
                                 "row_bytes_twice_later", "row_bytes_giant_later"}) {
    CAPTURE(rule);
    CodecRegistry codecs = make_builtin_registry();
    {
      const HostileRule hostile("late:" + rule);
      add_codec_package(codecs, "hostile", kHostile);
    }
    CodecRegistry sound = make_builtin_registry();
    {
      const HostileRule hostile("none");
      add_codec_package(sound, "hostile", kHostile);
    }
    WeightToStore weight = q8_row_weight();
    weight.codec = "hostile";
    weight.shape = Shape{8, 64};
    weight.values = test_values(512);
    build_artifact(dir.file(rule), {weight}, {}, sound);
    OpenOptions options;
    options.codecs = &codecs;
    const Artifact artifact = Artifact::open(dir.file(rule), options);
    const WeightView view = artifact["a.weight"];
    std::vector<float> rows(128);
    try {  // once anything was decoded, the package's sizes are others
      view.decode({0, 2}, rows);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::package);
    }
    const Problem problem = thrown_problem([&] { view.decode({3, 2}, rows); });
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.file == kHostile);
    CHECK(problem.field == "a.weight");
    CHECK(problem.what ==
          "codec hostile:hostile: row_bytes contradicts the size of component stored");
  }
}

}  // namespace synps::testing
