// What a GGUF output has no room for is a problem of the policy that asks for it.

#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "policy_fixture.h"

namespace synps::testing {
namespace {

constexpr ResolveOptions kForGguf{.output = OutputKind::gguf};

std::string scheme(const std::string& pattern, const std::string& format) {
  return "[[policies.\"" + pattern + "\".schemes]]\nformat = \"" + format + "\"\n";
}

TEST_CASE("every codec that GGUF has a type for is allowed, and keep") {
  for (const char* format :
       {"f32", "f16", "bf16", "q8_0", "q4_0", "q4_k", "ternary:tq2_0", "keep"}) {
    CAPTURE(format);
    const std::string text = "[myelin]\nformats = [\"bf16\"]\n" + scheme("*", format);
    CHECK(resolve_problems(text, {facts("w")}, kForGguf).empty());
  }
}

TEST_CASE("a codec that GGUF has no type for is refused at its scheme, once for all its weights") {
  const std::string text =
      "[myelin]\nformats = [\"bf16\"]\n" + scheme("*", "ternary") + scheme("kept", "keep");
  CHECK(resolve_problems(text, facts_of({"a", "b", "kept"})).empty());
  const auto problems = resolve_problems(text, facts_of({"a", "b", "kept"}), kForGguf);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(place(problems[0]) == "3:1");
  CHECK(problems[0].what == "GGUF has no tensor type for a codec: 2 weights, such as 'a'");
  CHECK(problems[0].field == "ternary");
  CHECK(problems[0].want == "one of bf16, f16, f32, q4_0, q4_k, q8_0, ternary:tq2_0, or keep");
  CHECK(contains(problems[0].hint, "pack an artifact"));
}

TEST_CASE("a fallback is judged where it is used, and a format before its fallback") {
  const std::string start = "[myelin]\nformats = [\"bf16\"]\n[policies.\"*\"]\nfallback = ";
  const std::string text = start + "\"ternary\"\n" + scheme("*", "q8_0");
  CHECK(resolve_problems(text, {facts("w")}, kForGguf).empty());
  const auto problems =
      resolve_problems(text, {facts("w", DType::bf16, {4, 33}), facts("v")}, kForGguf);
  REQUIRE(problems.size() == 1);
  CHECK(place(problems[0]) == "4:1");
  CHECK(contains(problems[0].what, "GGUF has no tensor type for a codec: 'w'"));
  CHECK(problems[0].field == "ternary");
  // Nobody asked for the fallback where the format itself cannot be had.
  const auto format =
      resolve_problems(start + "\"f16\"\n" + scheme("*", "ternary"), {facts("w")}, kForGguf);
  REQUIRE(format.size() == 1);
  CHECK(place(format[0]) == "5:1");
}

TEST_CASE("compression is refused where a policy sets it, of integers as well") {
  const std::string text = scheme("*", "keep") + "[policies.\"*\".form]\ncompress = \"zstd:7\"\n";
  for (const DType dtype : {DType::bf16, DType::i64}) {
    const auto problems = resolve_problems(text, {facts("w", dtype)}, kForGguf);
    REQUIRE(problems.size() == 1);
    CHECK(place(problems[0]) == "4:1");
    CHECK(problems[0].what == "GGUF holds no compressed weights: 'w'");
    CHECK(problems[0].field == "form.compress");
    CHECK(problems[0].found == "compress = \"zstd:7\"");
    CHECK(contains(problems[0].hint, "compress = \"none\""));
  }
  const std::string none = text + "[policies.\"w\".form]\ncompress = \"none\"\n";
  CHECK(resolve_problems(none, {facts("w")}, kForGguf).empty());
}

TEST_CASE("what only tells a loader is no problem") {
  const std::string text = "[policies.\"*\"]\ndtype = \"bf16\"\n" + scheme("*", "keep") +
                           "volatile = true\n[policies.\"*\".form]\nresidency = \"mapped\"\n"
                           "orientation = \"in_out\"\norder = \"as_stored\"\n";
  CHECK(resolve_problems(text, {facts("w")}, kForGguf).empty());
}

/// What `text` comes to for weights of bf16 in a GGUF file: their warnings, "" for none.
std::vector<std::string> warnings(const std::string& text, const std::vector<Shape>& shapes,
                                  OutputKind output = OutputKind::gguf, DType dtype = DType::bf16) {
  std::vector<WeightFacts> weights;
  for (const Shape& shape : shapes)
    weights.push_back(facts("w" + std::to_string(weights.size()), dtype, shape));
  std::vector<std::string> found;
  for (const WeightResolution& weight : parse(text).resolve(weights, {.output = output}))
    found.push_back(weight.warning);
  return found;
}

TEST_CASE("a weight of one dimension is warned of where GGUF would have it as anything but f32") {
  const std::string start = "[myelin]\nformats = [\"bf16\", \"f16\"]\n";
  for (const char* format : {"q8_0", "q4_0", "f16", "ternary:tq2_0"}) {
    CAPTURE(format);
    const std::string text = start + "[policies.\"*\"]\nfallback = \"f16\"\n" + scheme("*", format);
    const auto found = warnings(text, {{256}, {1, 256}, {}, {2, 256}});
    for (std::size_t i = 0; i < 3; ++i) {
      CAPTURE(i);
      const std::string stored = i == 2 ? "f16" : format;  // a scalar has no row of a block
      CHECK(contains(found[i], "1-D in a GGUF file, and stored as " + stored + ": "));
      CHECK(contains(found[i], "give them format = \"keep\" or \"f32\""));
    }
    CHECK(found[3] == "");
    for (const std::string& each : warnings(text, {{256}, {2, 256}}, OutputKind::artifact))
      CHECK(each == "");
  }
  for (const char* format : {"keep", "f32", "bf16"}) {
    CAPTURE(format);
    CHECK(warnings(start + scheme("*", format), {{256}})[0] == "");  // as it is, or as it should be
  }
  const auto f32 = warnings(start + scheme("*", "q8_0"), {{256}}, OutputKind::gguf, DType::f32);
  CHECK(contains(f32[0], "give them format = \"keep\""));
  CHECK_FALSE(contains(f32[0], "or \"f32\""));
}

TEST_CASE("two warnings of a weight are told together") {
  const std::string text = "[myelin]\nformats = [\"bf16\"]\n" + scheme("*", "q8_0") +
                           "volatile = true\n[policies.\"*\".form]\nresidency = \"heap\"\n";
  const std::string found = warnings(text, {{256}})[0];
  CHECK(contains(found, "cannot be discarded; 1-D in a GGUF file"));
}

TEST_CASE("explain warns, with a weight and without") {
  const Policy policy = parse("[myelin]\nformats = [\"bf16\"]\n" + scheme("*", "ternary"));
  ExplainRequest request;
  request.output = OutputKind::gguf;
  const WeightResolution path = policy.explain("w", request);
  CHECK(path.warning == "GGUF has no tensor type for a codec: ternary");
  const WeightFacts weight = facts("w");
  request.facts = &weight;
  const WeightResolution known = policy.explain("w", request);
  CHECK(known.codec == nullptr);
  CHECK(contains(known.warning, "synps.toml:3:1: GGUF has no tensor type for a codec (ternary)"));
}

}  // namespace
}  // namespace synps::testing
