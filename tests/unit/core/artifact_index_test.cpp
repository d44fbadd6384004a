#include <doctest/doctest.h>

#include <functional>

#include "artifact_samples.h"
#include "synps/error.h"

namespace synps {
namespace {

using testing::HalfByteRows;
using testing::small_contents;

std::string sample_json() {
  return to_json(lay_out(small_contents(), HalfByteRows()).index);
}

/// The message of the error that parsing gives; "" when there is none.
std::string fault_of(const std::string& json) {
  try {
    parse_index(json, "file");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::artifact);
    return error.what();
  }
  return "";
}

std::string replaced(std::string text, const std::string& from, const std::string& to) {
  const std::size_t at = text.find(from);
  REQUIRE(at != std::string::npos);
  return text.replace(at, from.size(), to);
}

TEST_CASE("an index reads back as it was written") {
  const std::string json = sample_json();
  const ArtifactIndex index = parse_index(json + "   ", "file");
  CHECK(to_json(index) == json);
  CHECK(index.weights.size() == 9);
  CHECK(index.weights[0].weight.path == "a.weight");
  CHECK(index.weights[0].codec == CodecRef{"half", "half", 3});
  CHECK(index.weights[0].scheme->format == "half:half");
  CHECK_FALSE(index.weights[1].scheme);
  REQUIRE(index.values.size() == 2);
  // In the order given, which says which decides.
  CHECK(index.values[0].pattern == "z.**");
  CHECK(index.values[1].pattern == "a.*");
  CHECK(index.values[1].scheme.lifetime == Lifetime::session);
}

TEST_CASE("a weight's scale is there where it has one, and nowhere else") {
  ArtifactIndex index = lay_out(small_contents(), HalfByteRows()).index;
  CHECK(to_json(index).find("\"scale\"") == std::string::npos);
  index.weights[0].scale = StoredScale{"a.weight_scale \"x\"", ScaleForm::block, true};
  index.weights[1].scale = StoredScale{"b", ScaleForm::row, false};
  const std::string json = to_json(index);
  const std::string scale =
      R"("scale":{"folded":true,"form":"block","path":"a.weight_scale \"x\""},"scheme":0)";
  CHECK(json.find(scale) != std::string::npos);
  const ArtifactIndex again = parse_index(json, "file");
  CHECK(to_json(again) == json);
  CHECK(again.weights[0].scale == index.weights[0].scale);
  CHECK(again.weights[1].scale == index.weights[1].scale);
  CHECK_FALSE(again.weights[2].scale);
  const struct {
    std::string from;
    std::string to;
    const char* names;
  } faults[] = {
      {R"("form":"block")", R"("form":"column")", "weights[0].scale.form"},
      {R"("folded":true)", R"("folded":1)", "weights[0].scale.folded"},
      {R"("folded":true,)", "", "weights[0].scale.folded"},
      {R"("folded":true)", R"("folded":true,"more":1)", "weights[0].scale"},
      {R"("scale":{)", R"("scale":null,"more":{)", "weights[0].scale"},
      {R"("scale":{)", R"("scale":{},"scale":{)", "weights[0]"},
  };
  for (const auto& fault : faults) {
    CAPTURE(fault.to);
    CHECK(fault_of(replaced(json, fault.from, fault.to)).find(fault.names) != std::string::npos);
  }
}

TEST_CASE("a weight's history is there where it has one, and nowhere else") {
  ArtifactIndex index = lay_out(small_contents(), HalfByteRows()).index;
  CHECK(to_json(index).find("\"history\"") == std::string::npos);
  index.weights[0].history = {{"older", "old", 2}, index.weights[0].codec};
  index.weights[0].lossless = false;
  const std::string json = to_json(index);
  CHECK(json.find(R"("history":[1,0],"lossless":false)") != std::string::npos);
  CHECK(json.find(R"({"name":"old","package":"older","revision":2})") != std::string::npos);
  const ArtifactIndex again = parse_index(json, "file");
  CHECK(to_json(again) == json);
  CHECK(again.weights[0].history == index.weights[0].history);
  CHECK(again.weights[1].history.empty());
  for (const char* bad : {"[]", "null", "{}", "1", "[99]", "[-1]", "[1.0]", "[true]", "[\"half\"]",
                          "[1,0],\"history\":[1]", "[[1]]"}) {
    CAPTURE(bad);
    const std::string message = fault_of(replaced(json, "[1,0]", bad));
    CHECK(message.find("weights[0]") != std::string::npos);
  }
  const std::string lossless = fault_of(
      replaced(json, R"("history":[1,0],"lossless":false)", R"("history":[1,0],"lossless":true)"));
  CHECK(lossless.find("weights[0].lossless") != std::string::npos);
}

TEST_CASE("repeated values are stored once") {
  const std::string json = sample_json();
  const std::string codec = R"({"name":"half","package":"half","revision":3})";
  CHECK(json.find(codec) != std::string::npos);
  CHECK(json.find(codec, json.find(codec) + 1) == std::string::npos);
}

TEST_CASE("an index that to_json would not write is refused, naming the field") {
  const std::string json = sample_json();
  const struct {
    std::string from;
    std::string to;
    const char* names;
  } faults[] = {
      {R"("version":1)", R"("version":2)", "version"},
      {R"("version":1)", R"("version":"0")", "version"},
      {R"("version":1,)", "", "version"},
      {R"("version":1)", R"("extra":1,"version":1)", "no other or repeated fields"},
      {R"("version":1)", R"("version":1,"version":1)", "no other or repeated fields"},
      {R"("lossless":false)", R"("lossless":0)", "weights[0].lossless"},
      {R"("codec":0)", R"("codec":99)", "weights[0].codec"},
      {R"("package":"half")", R"("package":"")", "codecs[0].package"},
      {R"("revision":3)", R"("revision":0)", "codecs[0].revision"},
      {"requantize_to(half:half)", "dequantize_to(f32)", "forms[0].encoding"},
      {R"("codec":0)", R"("codec":-1)", "weights[0].codec"},
      {R"("codec":0)", R"("codec":1.0)", "weights[0].codec"},
      {R"("scheme":0)", R"("scheme":7)", "weights[0].scheme"},
      {R"("path":"a.weight")", R"("path":"zz.weight")", "paths that rise"},
      {R"("path":"a.weight")", R"("path":"b.bias")", "paths that rise"},
      {R"("dtype":"U8")", R"("dtype":"U9")", "components[0].dtype"},
      {R"("order":"rows1","per)", R"("order":"rows9","per)", "components[0].order"},
      // Known, but not the form's.
      {R"("order":"rows1","per)", R"("order":"rows8","per)", "components[0].order"},
      {R"("order":"rows1","orient)", R"("order":"rows8","orient)", "components[0].order"},
      {R"("compression":"none")", R"("compression":"gzip")", "compression"},
      {R"("bytes":30)", R"("bytes":31)", "components[0].bytes"},
      {R"("stored_bytes":64)", R"("stored_bytes":29)", "stored_bytes"},
      {R"("chunk_bytes":)", R"("chunk_bytes":"x","y":)", "chunk_bytes"},
      {R"("shape":[10,3])", R"("shape":[10,-3])", "shape"},
      {R"("shape":[10,3])", R"("shape":[18446744073709551615,18446744073709551615])", "shape"},
      {R"("residency":"mapped"})", R"("residency":"disk"})", "forms[0].residency"},
      {R"("scope":"constant")", R"("scope":"constants")", "schemes[0].scope"},
      {R"("revision":3)", R"("revision":4294967296)", "codecs[0].revision"},
      {R"({"pattern":"a.*",)", R"({"pattern":7,)", "values[1].pattern"},
      {R"({"pattern":"a.*",)", R"({"more":1,"pattern":"a.*",)", "values[1]"},
      {R"(["format","*"])", R"(["format"])", "decisions"},
      {R"("header":")", R"("header":"X)", "header"},
  };
  for (const auto& fault : faults) {
    CAPTURE(fault.to);
    const std::string message = fault_of(replaced(json, fault.from, fault.to));
    CAPTURE(message);
    CHECK(message.find(fault.names) != std::string::npos);
  }
  CHECK_FALSE(fault_of("").empty());
  CHECK_FALSE(fault_of("[]").empty());
  CHECK_FALSE(fault_of(json.substr(0, json.size() - 1)).empty());
  CHECK_FALSE(fault_of(std::string(100'000, '[')).empty());
}

}  // namespace
}  // namespace synps
