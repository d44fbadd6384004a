// form.compress: overlay, equality, contradictions, what the command line gives.

#include <doctest/doctest.h>

#include <optional>
#include <string>

#include "policy_fixture.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kNone{};
constexpr CompressRequest kZstd3{Compression::zstd, 3};

std::string form(const std::string& pattern, const std::string& keys) {
  return "[policies.\"" + pattern + "\".form]\n" + keys + "\n";
}

std::string scheme(const std::string& pattern, const std::string& keys) {
  return "[[policies.\"" + pattern + "\".schemes]]\n" + keys + "\n";
}

const std::string kRoot = scheme("*", "format = \"bf16\"");

WeightResolution resolved(const std::string& text, const WeightFacts& weight,
                          const ResolveOptions& options = {}) {
  return parse(text).resolve({weight}, options).front();
}

TEST_CASE("compress overlays as the other keys of form do") {
  const std::string text = kRoot + form("*", "compress = \"zstd\"") +
                           form("*.bias", "compress = \"none\"") +
                           form("fc.**", "residency = \"heap\"\ncompress = \"zstd:19\"");
  const Policy policy = parse(text + form("fc.bias", "compress = \"zstd:1\""));
  const auto weights = facts_of({"a.weight", "a.bias", "fc.weight", "fc.bias"});
  const auto all = policy.resolve(weights);
  CHECK(all[0].form.compress == kZstd3);
  CHECK(all[1].form.compress == kNone);
  CHECK(all[2].form.compress == CompressRequest{Compression::zstd, 19});
  CHECK(all[3].form.compress == CompressRequest{Compression::zstd, 1});
  CHECK(decision_of(all[0], "form.compress")->value == "zstd:3");
  CHECK(decision_of(all[0], "form.compress")->policy->pattern.text() == "*");
}

TEST_CASE("nothing is compressed unless somebody says so, integers like any other weight") {
  CHECK(resolved(kRoot, facts("w")).form.compress == kNone);
  const std::string text = kRoot + form("*", "compress = \"zstd\"");
  CHECK(resolved(text, facts("ids", DType::i64)).form.compress == kZstd3);
}

TEST_CASE("zstd is zstd:3, so policies that say either agree") {
  const std::string text =
      kRoot + form("a.*", "compress = \"zstd\"") + form("*.b", "compress = \"zstd:3\"");
  CHECK(resolved(text, facts("a.b")).form.compress == kZstd3);
  const auto problems = resolve_problems(
      kRoot + form("a.*", "compress = \"zstd\"") + form("*.b", "compress = \"zstd:4\""),
      {facts("a.b")}, {.allow_unmatched = true});
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "ambiguous"));
  CHECK(problems[0].field == "form.compress");
  CHECK(contains(problems[0].found, "zstd:3 by"));
}

TEST_CASE("the command line decides where no policy does, and only there") {
  ResolveOptions options;
  options.compress = CompressRequest{Compression::zstd, 9};
  const WeightResolution given = resolved(kRoot, facts("w"), options);
  CHECK(given.form.compress == *options.compress);
  const KeyDecision* decision = decision_of(given, "form.compress");
  REQUIRE(decision != nullptr);
  CHECK(decision->given);
  CHECK(decision->policy == nullptr);
  CHECK(decision->value == "zstd:9");
  const WeightResolution own =
      resolved(kRoot + form("*", "compress = \"none\""), facts("w"), options);
  CHECK(own.form.compress == kNone);
  CHECK_FALSE(decision_of(own, "form.compress")->given);
  CHECK_FALSE(decision_of(resolved(kRoot, facts("w")), "form.compress")->given);
  ExplainRequest request;
  request.compress = options.compress;
  const Policy policy = parse(kRoot);
  CHECK(policy.explain("w", request).form.compress == *options.compress);
}

TEST_CASE("compressed weights cannot be mapped") {
  const std::string text =
      kRoot + form("*", "residency = \"mapped\"") + form("fc", "compress = \"zstd\"");
  const auto problems = resolve_problems(text, facts_of({"fc.a", "fc.b", "other"}));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(contains(problems[0].what, "a contradiction: compressed, and to be mapped from the file"));
  CHECK(contains(problems[0].what, "2 weights, such as 'fc.a'"));
  CHECK(place(problems[0]) == "6:1");
  CHECK(contains(problems[0].found, "compress = \"zstd:3\" by \"fc\" (line 6)"));
  CHECK(contains(problems[0].found, "residency = \"mapped\" by \"*\" (line 4)"));
  CHECK(contains(problems[0].hint, "compress = \"none\""));
  // Integers have a form, too; a weight without elements has nothing to compress.
  CHECK(resolve_problems(text, {facts("fc.ids", DType::i32), facts("other")}).size() == 1);
  CHECK(resolve_problems(text, {facts("fc.a", DType::f32, Shape{0, 4}), facts("other")}).empty());
}

TEST_CASE("volatile weights must be pages of the file, so they are not compressed") {
  const std::string text =
      scheme("*", "format = \"bf16\"\nvolatile = true") + form("*", "compress = \"zstd\"");
  const auto problems = resolve_problems(text, facts_of({"w"}));
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found, "volatile = true by \"*\" (line 1)"));
  const std::string heap = text + "residency = \"heap\"\n";
  CHECK(resolve_problems(heap, facts_of({"w"})).size() == 1);
}

TEST_CASE("contradictions with the command line name it") {
  ResolveOptions options;
  options.compress = kZstd3;
  const std::string text = kRoot + form("*", "residency = \"mapped\"");
  const auto problems = resolve_problems(text, facts_of({"w"}), options);
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found, "by the command line (--compress)"));
  CHECK(place(problems[0]) == "4:1");
  CHECK(resolve_problems(text, facts_of({"w"})).empty());
}

TEST_CASE("explain without a checkpoint warns of the contradiction") {
  const Policy policy = parse(kRoot + form("*", "residency = \"mapped\"\ncompress = \"zstd\""));
  CHECK(contains(policy.explain("w").warning, "a contradiction: compressed"));
}

TEST_CASE("groups that must have one form are told of compression") {
  const std::string text =
      kRoot + form("a.q", "compress = \"zstd\"") + "[groups.qk]\npaths = \"a.{q,k}\"\n";
  const auto problems = resolve_problems(text, facts_of({"a.q", "a.k"}));
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found, "compress zstd:3"));
}

}  // namespace
}  // namespace synps::testing
