// What resolving may take: policies of a file, policies over one path, steps in all. A file beyond
// a limit ends in an error that says so, however long deciding it would take.
#include <doctest/doctest.h>

#include <random>
#include <string>

#include "policy_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

const std::string kFormats = "[myelin]\nformats = [\"bf16\"]\n";

std::string format_policy(const std::string& pattern, const std::string& format) {
  return fmt::format("[[policies.\"{}\".schemes]]\nformat = \"{}\"\n", pattern, format);
}

std::string agreeing(int count) {
  std::string text = kFormats;
  for (int i = 0; i < count; ++i)
    text += format_policy(fmt::format("{{model,lm_head,a{}}}", i), "f16");
  return text;
}

// Policies of one long glob each, `*p*q*…`, each with letters of its own.
std::string tangled(int count, bool agree) {
  std::mt19937 random(1);
  std::string text = kFormats;
  for (int i = 0; i < count; ++i) {
    std::string pattern = "*";
    for (int at = 0; at < 60; ++at) pattern += {static_cast<char>('a' + random() % 26), '*'};
    text += format_policy(pattern, agree || i % 2 == 0 ? "f16" : "q8_0");
  }
  return text;
}

// Holds all letters, over and over: every tangled pattern covers it.
std::string tangled_path() {
  std::string path;
  for (int i = 0; i < 60; ++i) path += "abcdefghijklmnopqrstuvwxyz";
  return path;
}

}  // namespace

TEST_CASE("many policies over one path are a limit, whether they agree or not") {
  const std::vector<Problem> problems =
      resolve_problems(agreeing(6000), facts_of({"model.x", "lm_head.weight"}));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(problems[0].what == "too many policies cover one path: 'model.x'");
  CHECK(problems[0].found == "6000 policies");
  CHECK(problems[0].want == "at most 256");
  CHECK(place(problems[0]) == "515:12");
  CHECK_FALSE(problems[0].hint.empty());
  const Policy policy = parse(agreeing(257));
  CHECK(problems_of([&] { policy.explain("model"); }).at(0).code == ErrorCode::limit);
  CHECK(policy.explain("a256").policies.size() == 1);
}

TEST_CASE("as many policies as may cover a path do") {
  const Policy policy = parse(agreeing(256));
  const std::vector<WeightResolution> resolved = policy.resolve(facts_of({"model.x"}), {true});
  CHECK(resolved[0].scheme->format == "f16:f16");
  CHECK(resolved[0].policies.size() == 256);
}

TEST_CASE("the policies of a file are limited") {
  std::string text;
  for (int i = 0; i < 10'000; ++i) text += fmt::format("[policies.p{}]\ndtype = \"f16\"\n", i);
  CHECK(parse(text).entries().size() == 10'000);
  const std::vector<Problem> problems =
      parse_problems(text + "[policies.last]\ndtype = \"f16\"\n[policies.x]\nwrong = 1\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(problems[0].found == "10002 policies");
  CHECK(problems[0].want == "at most 10000");
  CHECK(place(problems[0]) == "20001:11");
}

TEST_CASE("all comparing of a resolution shares one budget") {
  for (const bool agree : {true, false}) {
    const std::vector<Problem> problems =
        resolve_problems(tangled(250, agree), {facts(tangled_path())}, {.allow_unmatched = true});
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::limit);
    CHECK(contains(problems[0].what, "takes too long"));
    CHECK(problems[0].found == "more than 200000000 steps");
    CHECK(contains(problems[0].hint, "fewer"));
  }
}

TEST_CASE("a budget of steps is what a comparison takes from") {
  const PathPattern a = PathPattern::parse("*a*b*c*.x");
  const PathPattern b = PathPattern::parse("*b*c*a*.x");
  std::uint64_t steps = 1'000'000;
  CHECK(a.compare(b, steps) == Inclusion::overlapping);
  CHECK(steps < 1'000'000);
  CHECK(steps > 900'000);
  std::uint64_t few = 50;
  CHECK(problems_of([&] { a.compare(b, few); }).at(0).code == ErrorCode::limit);
  // Without steps the narrower pattern is the path.
  std::uint64_t none = 0;
  CHECK(PathPattern::narrower_than_all({&a, &b}, "abca.x", none) == "abca.x");
  const PathPattern own = PathPattern::parse("abca.x");
  CHECK(PathPattern::narrower_than_all({&a, &own}, "abca.x", none).empty());
}

TEST_CASE("hundreds of policies over tens of thousands of weights are within the budget") {
  std::string text = kFormats + format_policy("*", "f16");
  for (int i = 0; i < 250; ++i) {
    text += format_policy(fmt::format("model.layers.{}.mlp", i), "q8_0");
    text += fmt::format("[policies.\"**.experts.{}\".form]\nresidency = \"heap\"\n", i);
  }
  std::vector<WeightFacts> weights;
  for (int layer = 0; layer < 250; ++layer)
    for (int expert = 0; expert < 240; ++expert)
      weights.push_back(facts(fmt::format("model.layers.{}.mlp.experts.{}.weight", layer, expert)));
  const std::vector<WeightResolution> resolved =
      parse(text).resolve(weights, {.allow_unmatched = true});
  REQUIRE(resolved.size() == 60'000);
  CHECK(resolved.back().codec->info().name == "q8_0");
  CHECK(resolved.back().form.residency == ResidencyRequest::heap);
}
