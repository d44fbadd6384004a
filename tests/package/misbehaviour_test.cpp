#include <doctest/doctest.h>

#include <new>
#include <string>
#include <vector>

#include "package_paths.h"
#include "synps/codec_package.h"
#include "synps/testing/codec_io.h"
#include "thrown_problem.h"

// Every rule of synps/codec_abi.h that tests/package/hostile.cpp can break ends in an error that
// names the package, its file, and what it did.

namespace synps::testing {
namespace {

struct Broken {
  std::string rule;
  std::string what;     ///< what the problem's `what` has in it
  std::string found{};  ///< what its `found` starts with
};

Problem load_problem(const std::string& rule) {
  const HostileRule broken(rule);
  return thrown_problem([] { load_codec_package("hostile", kHostile); });
}

void check_all(const std::vector<Broken>& all) {
  for (const Broken& broken : all) {
    CAPTURE(broken.rule);
    const Problem problem = load_problem(broken.rule);
    CAPTURE(to_string(problem));
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.file == kHostile);
    CHECK(problem.what.find(broken.what) != std::string::npos);
    CHECK(problem.found.find(broken.found) == 0);
  }
}

/// The codec of a package that breaks a rule once it is past its trial.
std::shared_ptr<const Codec> late_codec(const std::string& rule) {
  const HostileRule broken("late:" + rule);
  return load_codec_package("hostile", kHostile).front();
}

void encode_one(const Codec& codec) {
  const std::vector<float> values(128, 1.5f);
  encode_all(codec, make_weight({2, 64}), values);
}

}  // namespace

TEST_CASE("tables that cannot be are refused") {
  check_all({
      {"entry_throws", "threw an exception from synps_codec_package_v1", "no licence"},
      {"table_null", "does not work with this synps"},
      {"abi_version", "another version of the interface", "version 2"},
      {"abi_version_zero", "another version of the interface", "version 0"},
      {"struct_size", "the table of the codec package is too small", "87 bytes"},
      {"package_name", "unusable name", "'Hostile!'"},
      {"package_name_empty", "unusable name", "''"},
      {"package_name_open", "unusable name", "'aaaa"},
      {"package_name_other", "another name", "'friendly'"},
      {"codecs_null", "no sound list of codecs", "a null pointer"},
      {"codecs_none", "no sound list of codecs", "0"},
      {"codecs_many", "no sound list of codecs", "257"},
      {"codec_null", "codec number 1 of the package is a null pointer"},
      {"codec_twice", "exports one name twice", "hostile:hostile"},
      {"codec_struct_size", "the table of codec number 0 of the package is too small", "8"},
      {"codec_name_open", "codec number 0 of the package has an unusable name", "'aaaa"},
      {"codec_name_colon", "codec number 0 of the package has an unusable name", "'a:b'"},
      {"codec_revision", "its revision", "0"},
      {"codec_bits", "its bits per weight", "nan"},
      {"codec_summary_open", "its summary", "'aaaa"},
      {"codec_summary_lines", "its summary", "'one\\x0atwo'"},
      {"codec_error_bound", "its error bound", "''"},
      {"codec_exact_many", "its list of exact dtypes", "33 entries"},
      {"codec_exact_integer", "its list of exact dtypes", "number 5"},
      {"codec_exact_twice", "its list of exact dtypes", "number 2"},
      {"codec_granule", "its row granule", "16777217"},
      {"codec_reserved", "its flags cannot be", "encodes 1, needs_analysis 0, reserved 1"},
      {"codec_flags", "its flags cannot be", "encodes 2"},
      {"codec_no_decode", "its function decode", "a null pointer"},
      {"codec_no_encode", "its function encode", "a null pointer"},
      {"codec_retired_encode", "its function encode", "a function"},
      {"codec_no_analysis", "its function analysis_store", "a null pointer"},
      {"codec_stray_analysis", "its function analysis_add", "a function"},
  });
}

TEST_CASE("what only a newer host knows is left alone") {
  for (const std::string rule : {"codec_graph", "codec_exact_unknown"}) {
    CAPTURE(rule);
    const HostileRule newer(rule);
    const auto codecs = load_codec_package("hostile", kHostile);
    CHECK(codecs.front()->info().stores_exactly(DType::f16));
  }
}

TEST_CASE("a larger table of a newer package of the same version is accepted") {
  const HostileRule larger("struct_size_larger");
  CHECK(load_codec_package("hostile", kHostile).size() == 2);
}

TEST_CASE("what an exception says is cut, and may be nothing") {
  const Problem much = load_problem("supports_throws_much");
  CHECK(much.what.find("supports threw an exception: xxxx") != std::string::npos);
  CHECK(much.what.size() < 1100);
  const Problem null = load_problem("entry_throws_null");
  CHECK(null.what == "the codec package threw an exception from synps_codec_package_v1");
  CHECK(null.found.empty());
}

TEST_CASE("answers about weights that cannot be are refused at loading") {
  check_all({
      {"supports_throws", "supports threw an exception: no such weight"},
      {"supports_throws_null", "supports threw an exception"},
      {"supports_too_large", "supports says that a size is too large"},
      {"supports_changes", "supports answers differently each time"},
      {"supports_fails", "supports failed: out\\x1b[31m of order"},
      {"supports_answers_nothing", "supports gave no answer"},
      {"supports_no_reason", "supports refuses a weight without a reason"},
      {"supports_answer_past", "supports wrote outside its answer"},
      {"components_giant", "components asks for too much for a small weight"},
      {"components_giant_sum", "has too large a component for the whole weight"},
      {"components_none", "components gives a count that cannot be", "0"},
      {"components_many", "components gives a count that cannot be", "17"},
      {"components_name", "components gives a component an unusable name", "'#tored'"},
      {"components_name_open", "components gives a component an unusable name"},
      {"components_dtype", "components describes component stored wrongly", "dtype 99"},
      {"components_rank", "components describes component stored wrongly"},
      {"components_reserved", "components describes component stored wrongly"},
      {"components_change", "components answers differently each time"},
      {"components_past", "components wrote past the end of its records"},
      {"components_before", "components wrote before the start of its records"},
      {"components_twice", "components gives two components one name", "stored"},
      {"components_per_weight", "row_bytes contradicts the shape of component stored"},
      {"sum_without_analysis", "has a component for the whole weight, and no analysis gives it"},
      {"row_bytes_lies", "row_bytes contradicts the shape of component stored"},
      {"row_bytes_zero", "row_bytes contradicts the shape of component stored"},
      {"row_bytes_wraps", "row_bytes contradicts the shape of component stored"},
      {"row_bytes_does_not_add_up", "row_bytes gives parts of a row that do not add up"},
  });
}

TEST_CASE("encoding and decoding against the rules is found at loading") {
  check_all({
      {"encode_short", "encode leaves bytes unwritten, or gives other bytes each time"},
      {"encode_past", "encode wrote past the end of component 0"},
      {"encode_before", "encode wrote before the start of component 0"},
      {"encode_changes", "encode leaves bytes unwritten, or gives other bytes each time"},
      {"encode_mixes_rows", "encode gives other bytes for a piece than for all"},
      {"encode_throws", "encode threw an exception: cannot encode"},
      {"encode_skips_middle", "encode leaves bytes unwritten, or gives other bytes each time"},
      {"encode_drops_nan", "encode reports only some of the values that are not finite"},
      {"encode_reports_one_nan", "encode reports only some of the values that are not finite"},
      {"decode_shifts", "not every value comes back of a dtype that it claims to store exactly"},
      {"encode_throws_int", "encode threw an exception"},
      {"encode_fails", "encode failed: the codebook is gone"},
      {"encode_status", "encode returned the unknown status 77"},
      {"encode_message_past", "encode wrote outside the message buffer"},
      {"encode_message_open", "encode failed: xxxx"},
      {"encode_finds_nothing", "encode reports overflow where there is none"},
      {"encode_finds_outside", "encode reports underflow where there is none"},
      {"encode_finds_many", "encode reports underflow where there is none"},
      {"encode_findings_past", "encode wrote outside its findings"},
      {"decode_short", "decode leaves values unwritten, or gives other values each time"},
      {"decode_past", "decode wrote past the end of its values"},
      {"decode_before", "decode wrote before the start of its values"},
      {"decode_throws", "decode threw an exception: cannot decode"},
      {"decode_mixes_rows", "decode gives other values for a piece than for all"},
      {"analysis_null", "analysis_create gave no analysis"},
      {"analysis_add_throws", "analysis_add threw an exception"},
      {"analysis_store_short", "analysis_store leaves bytes unwritten"},
      {"analysis_store_past", "analysis_store wrote past the end of component 1"},
  });
}

TEST_CASE("no memory and sizes past 64 bits are no faults of the package") {
  for (const std::string rule : {"components_too_large", "components_no_memory"}) {
    CAPTURE(rule);
    const Problem problem = load_problem(rule);
    CHECK(problem.code == ErrorCode::limit);
    CHECK(problem.file == kHostile);
  }
  const auto codec = late_codec("components_no_memory");
  CHECK_THROWS_AS(encode_one(*codec), std::bad_alloc);
}

TEST_CASE("an exception at the end of an analysis changes nothing") {
  const HostileRule rule("analysis_destroy_throws");
  CHECK(load_codec_package("hostile", kHostile).size() == 2);
}

TEST_CASE("a retired codec is read, and not written") {
  const HostileRule rule("codec_retired");
  const auto codecs = load_codec_package("hostile", kHostile);
  CHECK_FALSE(codecs.front()->info().encodes);
}

TEST_CASE("a package that passes its trial is watched all the same") {
  const std::vector<Broken> all = {
      {"encode_past", "encode wrote past the end of component 0"},
      {"encode_before", "encode wrote before the start of component 0"},
      {"encode_short", "encode leaves bytes unwritten, or gives other bytes each time"},
      {"encode_throws", "encode threw an exception: cannot encode"},
      {"encode_fails", "encode failed: the codebook is gone"},
      {"components_change", "components answers differently each time"},
      {"components_past", "components wrote past the end of its records"},
      {"supports_answers_nothing", "supports gave no answer", "4294967295"},
  };
  for (const Broken& broken : all) {
    CAPTURE(broken.rule);
    const auto codec = late_codec(broken.rule);
    const Problem problem = thrown_problem([&] { encode_one(*codec); });
    CHECK(problem.code == ErrorCode::package);
    CHECK(problem.file == kHostile);
    CHECK(problem.field == "test.weight");
    CHECK(problem.what == "codec hostile:hostile: " + broken.what);
    CHECK(problem.found == broken.found);
    CHECK(problem.hint == "the codec package is at fault, not the file or the policy");
  }
}

TEST_CASE("large weights pass through a package in parts") {
  const HostileRule sound("none");
  const auto codecs = load_codec_package("hostile", kHostile);
  // Longer rows than a part, rows of which a part holds some, and a row that is cut unevenly.
  for (const Shape& shape : {Shape{2, 300'000}, Shape{3000, 100}, Shape{1, 131'073}}) {
    CAPTURE(shape.to_string());
    const Weight weight = make_weight(shape);
    std::vector<float> values(shape.elements());
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i);
    for (const auto& codec : codecs) CHECK(round_trip(*codec, weight, values) == values);
  }
}

TEST_CASE("weights that packages are never asked about") {
  const HostileRule sound("none");
  const auto codec = load_codec_package("hostile", kHostile).front();
  const Support deep = codec->supports(make_weight(Shape(std::vector<std::uint64_t>(33, 1))));
  CHECK_FALSE(deep.ok);
  CHECK(deep.reason == "rank 33 is more than 32, what codec packages take");
  CHECK(codec->supports(make_weight(Shape(std::vector<std::uint64_t>(40, 0)))).ok);
  const auto q8_row = load_codec_package("q8_row", kQ8Row).front();
  const Support long_row = q8_row->supports(make_weight({1, (1u << 24) + 1}));
  CHECK_FALSE(long_row.ok);
  CHECK(long_row.reason ==
        "row length 16777217 is more than 16777216, and q8_row:q8_row needs a whole row in memory");
}

}  // namespace synps::testing
