#include <doctest/doctest.h>

#include <string>

#include "synps/builtin_codecs.h"
#include "synps/error.h"
#include "synps/testing/codec_io.h"

namespace synps::testing {
namespace {

const Codec& codec(const std::string& name) {
  const Codec* found = builtin_registry().resolve(name);
  REQUIRE(found != nullptr);
  return *found;
}

std::string reason(const std::string& name, const Shape& shape) {
  return codec(name).supports(make_weight(shape)).reason;
}

}  // namespace

TEST_CASE("what a weight of [6, 512] takes") {
  struct Expected {
    std::string codec;
    std::vector<std::string> names;
    std::vector<Shape> shapes;
    std::vector<std::uint64_t> bytes;
    std::uint64_t granule;
    double bits;
  };
  const std::vector<Expected> table = {
      {"f32", {"values"}, {{6, 512}}, {12288}, 1, 32},
      {"f16", {"values"}, {{6, 512}}, {6144}, 1, 16},
      {"bf16", {"values"}, {{6, 512}}, {6144}, 1, 16},
      {"f64", {"values"}, {{6, 512}}, {24576}, 1, 64},
      {"f8_e4m3", {"values"}, {{6, 512}}, {3072}, 1, 8},
      {"f8_e5m2", {"values"}, {{6, 512}}, {3072}, 1, 8},
      {"f8_e4m3fnuz", {"values"}, {{6, 512}}, {3072}, 1, 8},
      {"f8_e5m2fnuz", {"values"}, {{6, 512}}, {3072}, 1, 8},
      {"q8_0", {"blocks"}, {{6, 544}}, {3264}, 32, 8.5},
      {"q4_0", {"blocks"}, {{6, 288}}, {1728}, 32, 4.5},
      {"q4_1", {"blocks"}, {{6, 320}}, {1920}, 32, 5},
      {"q5_0", {"blocks"}, {{6, 352}}, {2112}, 32, 5.5},
      {"q5_1", {"blocks"}, {{6, 384}}, {2304}, 32, 6},
      {"q8_1", {"blocks"}, {{6, 576}}, {3456}, 32, 9},
      {"q2_k", {"blocks"}, {{6, 168}}, {1008}, 256, 2.625},
      {"q3_k", {"blocks"}, {{6, 220}}, {1320}, 256, 3.4375},
      {"q4_k", {"blocks"}, {{6, 288}}, {1728}, 256, 4.5},
      {"q5_k", {"blocks"}, {{6, 352}}, {2112}, 256, 5.5},
      {"q6_k", {"blocks"}, {{6, 420}}, {2520}, 256, 6.5625},
      {"q8_k", {"blocks"}, {{6, 584}}, {3504}, 256, 9.125},
      {"iq4_nl", {"blocks"}, {{6, 288}}, {1728}, 32, 4.5},
      {"iq4_xs", {"blocks"}, {{6, 272}}, {1632}, 256, 4.25},
      {"mxfp4", {"blocks"}, {{6, 272}}, {1632}, 32, 4.25},
      {"ternary", {"codes", "scales"}, {{6, 128}, {6, 1}}, {768, 24}, 0, 2},
      {"ternary:absmean", {"codes", "scales"}, {{6, 128}, {1}}, {768, 4}, 128, 2},
      {"ternary:tq1_0", {"blocks"}, {{6, 108}}, {648}, 256, 1.6875},
      {"ternary:tq2_0", {"blocks"}, {{6, 132}}, {792}, 256, 2.0625},
      {"ternary:planes", {"planes", "scales"}, {{6, 1024}, {6, 1}}, {6144, 12}, 0, 16},
  };
  CHECK(table.size() == builtin_registry().all().size());
  for (const Expected& expected : table) {
    CAPTURE(expected.codec);
    const auto stored = codec(expected.codec).components(make_weight({6, 512}));
    REQUIRE(stored.size() == expected.names.size());
    for (std::size_t c = 0; c < stored.size(); ++c) {
      CHECK(stored[c].name == expected.names[c]);
      CHECK(stored[c].shape == expected.shapes[c]);
      CHECK(stored[c].bytes == expected.bytes[c]);
      CHECK(stored[c].per_weight == (expected.codec == "ternary:absmean" && c == 1));
    }
    CHECK(codec(expected.codec).row_granule() == expected.granule);
    CHECK(codec(expected.codec).info().bits_per_weight == expected.bits);
  }
}

TEST_CASE("rows that do not fill a group of codes are padded") {
  for (const std::uint64_t columns : {1u, 100u, 128u, 129u, 1000u}) {
    const std::uint64_t groups = (columns + 127) / 128;
    for (const std::string name : {"ternary", "ternary:absmean"})
      CHECK(codec(name).components(make_weight({3, columns}))[0].bytes == 3 * groups * 32);
    CHECK(codec("ternary:planes").components(make_weight({3, columns}))[0].bytes ==
          3 * groups * 32 * 8);
  }
}

TEST_CASE("leading extents are kept, a vector is one row") {
  CHECK(codec("q8_0").components(make_weight({2, 3, 64}))[0].shape == Shape{2, 3, 68});
  CHECK(codec("q8_0").components(make_weight({64}))[0].shape == Shape{68});
  CHECK(codec("ternary").components(make_weight({2, 3, 5}))[1].shape == Shape{2, 3, 1});
  CHECK(codec("ternary").components(make_weight({5}))[1].shape == Shape{1});
}

TEST_CASE("a weight that does not fit is refused with numbers and a way out") {
  CHECK(reason("q8_0", {4, 100}) == "row length 100 is not a multiple of 32, the block of q8_0");
  CHECK(reason("q4_0", {4, 33}) == "row length 33 is not a multiple of 32, the block of q4_0");
  CHECK(reason("q4_k", {4, 384}) == "row length 384 is not a multiple of 256, the block of q4_k");
  CHECK(reason("iq4_nl", {4, 31}) == "row length 31 is not a multiple of 32, the block of iq4_nl");
  CHECK(reason("ternary:tq1_0", {4, 384}) ==
        "row length 384 is not a multiple of 256, the block of ternary:tq1_0");
  CHECK(reason("ternary:tq2_0", {}) ==
        "a scalar has no row of 256 elements that ternary:tq2_0 could pack");
  for (const std::string name : {"ternary", "ternary:absmean", "ternary:planes"}) {
    CHECK(reason(name, {}) == "a scalar has no row that " + name + " could pack");
    CHECK(reason(name, {7}).empty());
    CHECK(reason(name, {3, 2, 1}).empty());
  }
  for (const std::string name : {"f32", "f16", "bf16", "f64"}) CHECK(reason(name, {}).empty());
  const std::uint64_t longest = std::uint64_t{1} << 24;
  for (const std::string name : {"ternary", "ternary:planes"}) {
    CHECK(reason(name, {2, longest}).empty());
    CHECK(reason(name, {longest + 1}) == "row length 16777217 is more than 16777216, and " + name +
                                             " needs a whole row in memory");
  }
  CHECK(reason("ternary:absmean", {longest + 1}).empty());
}

TEST_CASE("a weight without elements is stored as nothing") {
  for (const Codec* each : builtin_registry().all()) {
    CAPTURE(each->info().id());
    for (const Shape& shape : {Shape{0}, Shape{0, 7}, Shape{7, 0}, Shape{1u << 20, 1u << 20, 0}}) {
      const Weight weight = make_weight(shape);
      CHECK(each->supports(weight).ok);
      for (const Component& component : each->components(weight))
        CHECK(component.bytes == (component.per_weight ? 4 : 0));
    }
  }
}

TEST_CASE("a size past 64 bits is an error of kind limit") {
  const Weight weight = make_weight({std::uint64_t{1} << 62});
  CHECK_THROWS_AS(codec("f32").components(weight), Error);
  CHECK(codec("f16").components(weight)[0].bytes == std::uint64_t{1} << 63);
  const Weight longer = make_weight({std::uint64_t{1} << 63});
  for (const std::string name : {"f16", "ternary:planes", "f64"}) {
    try {
      codec(name).components(longer);
      FAIL_CHECK("no error from " << name);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::limit);
      CHECK(error.problems().front().field == "test.weight");
    }
  }
  CHECK(codec("ternary").components(longer)[0].bytes == std::uint64_t{1} << 61);
  const Weight tall = make_weight({std::uint64_t{1} << 62, 2});
  CHECK_THROWS_AS(codec("ternary").components(tall), Error);
}

}  // namespace synps::testing
