#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "package_paths.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_io.h"
#include "test_values.h"
#include "thrown_problem.h"

// What a package only reads, it gets as guarded copies.

namespace synps::testing {
namespace {

std::vector<std::shared_ptr<const Codec>> late_codecs(const std::string& rule) {
  const HostileRule broken("late:" + rule);
  return load_codec_package("hostile", kHostile);
}

}  // namespace

TEST_CASE("a package that writes to its inputs is found, and nothing of the caller's changes") {
  const struct {
    std::string rule;
    std::string what;
  } all[] = {
      {"supports_writes", "supports wrote to the weight's extents, which it only reads"},
      {"encode_writes_values", "encode wrote to its values, which it only reads"},
      {"encode_writes_before_values", "encode wrote before the start of its values"},
      {"encode_writes_extents", "encode wrote to the weight's extents, which it only reads"},
      {"encode_writes_path", "encode wrote to the weight's path, which it only reads"},
      {"encode_writes_piece", "encode wrote to the piece, which it only reads"},
      {"decode_writes_bytes", "decode wrote to component 0, which it only reads"},
  };
  for (const auto& each : all) {
    CAPTURE(each.rule);
    const auto codec = late_codecs(each.rule).front();
    const Weight weight = make_weight({2, 64});
    const std::vector<float> values(128, 1.5f);
    const Problem problem = thrown_problem([&] { round_trip(*codec, weight, values); });
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.what == "codec hostile:hostile: " + each.what);
    CHECK(problem.field == "test.weight");
    CHECK(weight == make_weight({2, 64}));
    CHECK(values == std::vector<float>(128, 1.5f));
  }
}

TEST_CASE("an analysis that writes to its values is found") {
  const HostileRule broken("analysis_add_writes");
  const Problem problem = thrown_problem([] { load_codec_package("hostile", kHostile); });
  CHECK(problem.what ==
        "codec hostile:hostile_sum: analysis_add wrote to its values, which it only reads");
}

TEST_CASE("between the ends of a weight, too, a part is watched") {
  const auto codec = late_codecs("encode_skips_middle").front();
  const Weight weight = make_weight({400, 1024});
  const Problem problem = thrown_problem([&] { encode_all(*codec, weight, test_values(409'600)); });
  CHECK(problem.what ==
        "codec hostile:hostile: encode leaves bytes unwritten, or gives other bytes each time");
}

TEST_CASE("values that are not finite are reported all or not at all") {
  const auto codec = late_codecs("encode_reports_one_nan").front();
  const Weight weight = make_weight({2, 64});
  std::vector<float> values(128, 1.5f);
  values[3] = std::numeric_limits<float>::quiet_NaN();
  CHECK(encode_all(*codec, weight, values).report.non_finite.count == 1);
  values[9] = -std::numeric_limits<float>::infinity();
  const Problem problem = thrown_problem([&] { encode_all(*codec, weight, values); });
  CHECK(problem.code == ErrorCode::package);
  CHECK(problem.what ==
        "codec hostile:hostile: encode reports only some of the values that are not finite");
  CHECK(problem.found == "1 of them, the first at element 3");
  CHECK(problem.want == "2, the first at element 3, or none where all come back");
}

}  // namespace synps::testing
