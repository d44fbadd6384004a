#include "artifact_index_rows.h"

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "artifact_samples.h"
#include "synps/error.h"

namespace synps {
namespace {

using testing::compressed;
using testing::dense;
using testing::HalfByteRows;
using testing::packed;
using testing::small_contents;

ArtifactContents all_kinds() {
  ArtifactContents contents = small_contents();
  contents.weights.push_back(compressed(packed("c.weight", Shape{6, 4})));
  contents.weights.push_back(dense("deep", DType::bf16, Shape{1, 2, 1, 3, 1, 2, 1, 2}));
  contents.weights.push_back(dense("ünïcode ~", DType::f16, Shape{2}));
  contents.weights[1].scale = StoredScale{"a.scale", ScaleForm::block, false};
  contents.weights[0].lossless = false;
  contents.weights[0].history = {{"old", "older", 1}, {"half", "half", 3}};
  contents.weights[0].decisions = {{"dtype", "**"}, {"format", "b.*"}, {"form.order", "*"}};
  return contents;
}

std::string written(ArtifactContents contents) {
  return to_json(lay_out(std::move(contents), HalfByteRows()).index);
}

constexpr std::string_view kWeights = ",\"weights\":[";

std::size_t start_of_weights(const std::string& json) {
  return json.find(kWeights) + kWeights.size();
}

/// The same JSON, but not as to_json writes it: for the parser that reads any.
std::string spaced(const std::string& json, std::size_t start) {
  std::string text = json;
  text.insert(std::min(start, text.size()), " ");
  return text;
}

/// What parsing gives: the index as text, or the code of the error.
std::string outcome(const std::string& json) {
  try {
    return to_json(parse_index(json, "file"));
  } catch (const Error& error) {
    return std::to_string(static_cast<int>(error.code()));
  }
}

std::string rows_of(const std::string& json) {
  const std::size_t start = start_of_weights(json);
  return json.substr(start, json.rfind("],\"zstd\"") - start);
}

IndexTables tables_of(const ArtifactIndex& index) {
  IndexTables tables;
  // More rows than any number refers to; which ones does not matter here.
  for (const StoredWeight& weight : index.weights) {
    tables.codecs.push_back(weight.codec);
    tables.decisions.push_back(weight.decisions);
    tables.forms.push_back(
        {weight.asked, {{}, Order::rows1, Orientation::out_in, Residency::heap}});
    tables.schemes.push_back(Scheme{});
  }
  return tables;
}

TEST_CASE("what to_json writes is scanned, and read as the parser reads it") {
  const std::string json = written(all_kinds());
  const ArtifactIndex parsed = parse_index(spaced(json, start_of_weights(json)), "file");
  REQUIRE(to_json(parsed) == json);
  CHECK(to_json(parse_index(json, "file")) == json);
  const auto scanned = scan_weights(rows_of(json), tables_of(parsed));
  REQUIRE(scanned);
  CHECK(scanned->compressed);
  REQUIRE(scanned->weights.size() == parsed.weights.size());
  for (std::size_t i = 0; i < parsed.weights.size(); ++i) {
    CHECK(scanned->weights[i].weight == parsed.weights[i].weight);
    CHECK(scanned->weights[i].scale == parsed.weights[i].scale);
    CHECK(scanned->weights[i].history.size() == parsed.weights[i].history.size());
    CHECK(scanned->weights[i].components.size() == parsed.weights[i].components.size());
  }
  CHECK(scan_weights("", {})->weights.empty());
}

TEST_CASE("what is rare in an index is left to the parser") {
  ArtifactContents contents = small_contents();
  SUBCASE("an escape") {
    contents.weights[0].weight.path = "b\\ias";
  }
  SUBCASE("nine dimensions") {
    contents.weights[0] = dense("b", DType::f32, Shape{1, 1, 1, 1, 1, 1, 1, 1, 5});
  }
  const std::string json = written(contents);
  CHECK(to_json(parse_index(json, "file")) == json);
  CHECK_FALSE(scan_weights(rows_of(json), tables_of(parse_index(json, "file"))));
}

TEST_CASE(
    "an index that differs in any place from a sound one is read or refused as by the parser") {
  ArtifactContents contents;
  contents.weights = {dense("b", DType::f16, Shape{2, 3}), compressed(packed("c", Shape{6, 4})),
                      packed("d", Shape{8})};
  contents.weights[0].scale = StoredScale{"s", ScaleForm::row, true};
  contents.weights[2].lossless = false;
  contents.weights[2].history = {{"old", "older", 1}};
  const std::string json = written(contents);
  const std::size_t start = start_of_weights(json);
  std::size_t compared = 0;
  const auto compare = [&](const std::string& text, std::size_t space) {
    ++compared;
    const std::string fast = outcome(text);
    const std::string any = outcome(spaced(text, space));
    if (fast == any) return;
    CAPTURE(text);
    CHECK(fast == any);
  };
  for (std::size_t i = 0; i < json.size(); ++i) {
    for (const char other : {'0', '"', '\\', '\xFF'}) {
      std::string text = json;
      text[i] = other;
      compare(text, start);
    }
    std::string text = json;
    text.erase(i, 1);
    compare(text, i < start ? start - 1 : start);
    text = json;
    text.insert(i, 1, json[i]);
    compare(text, i < start ? start + 1 : start);
    if (i % 8 == 0) compare(json.substr(0, i), start);
  }
  CHECK(compared > 6 * json.size());
}

TEST_CASE("numbers are read to their last digit, and not beyond") {
  const ArtifactIndex index = lay_out(small_contents(), HalfByteRows()).index;
  const std::string json = to_json(index);
  const std::size_t at = json.find("\"digest\":") + 9;
  const std::size_t end = json.find(',', at);
  for (const char* number : {"18446744073709551615", "18446744073709551616", "99999999999999999999",
                             "184467440737095516150", "00", "01", "-0", "1e0", "1.0", "", "0x1"}) {
    CAPTURE(number);
    std::string text = json;
    text.replace(at, end - at, number);
    CHECK(outcome(text) == outcome(spaced(text, start_of_weights(text))));
  }
  std::string text = json;
  text.replace(at, end - at, "18446744073709551615");
  CHECK(parse_index(text, "file").weights[0].components[0].first_digest == UINT64_MAX);
}

}  // namespace
}  // namespace synps
