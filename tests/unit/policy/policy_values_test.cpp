#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <string>
#include <vector>

#include "policy_fixture.h"

// Values that are not constants: which scheme holds for them, and the order in which an artifact
// lists their schemes.

namespace synps::testing {
namespace {

std::string scheme(const std::string& pattern, const std::string& fields,
                   const std::string& format) {
  return "[[policies.\"" + pattern + "\".schemes]]\n" + fields + "format = \"" + format + "\"\n";
}

const std::string kCache = "scope = \"internal\"\nlifetime = \"session\"\n";

std::string chosen(const Policy& policy, const char* path, Scope scope, Lifetime lifetime) {
  const WeightResolution resolution = policy.explain(path, {nullptr, scope, lifetime});
  return resolution.scheme ? resolution.scheme->format : "";
}

bool claims(const Scheme& scheme, Scope scope, Lifetime lifetime) {
  return (scheme.scope == Scope::any || scheme.scope == scope) &&
         (scheme.lifetime == Lifetime::any || scheme.lifetime == lifetime);
}

// What a runtime finds with the list of an artifact.
std::string listed(const Policy& policy, const char* path, Scope scope, Lifetime lifetime) {
  for (const PolicyValueScheme& each : policy.value_schemes())
    if (each.policy->pattern.covers(path) && claims(each.scheme->scheme, scope, lifetime))
      return each.scheme->scheme.format;
  return "";
}

}  // namespace

TEST_CASE("a value takes the narrowest policy's scheme for its scope and lifetime") {
  const Policy policy =
      parse(scheme("*", "", "f16") + scheme("*", "scope = \"any\"\n", "f32") +
            scheme("model", kCache, "bf16") + scheme("model.layers.*.k_cache", kCache, "q8_0") +
            scheme("model.layers.*.k_cache", "scope = \"internal\"\n", "f16"));
  const auto session = [&](const char* path) {
    return chosen(policy, path, Scope::internal, Lifetime::session);
  };
  CHECK(session("model.layers.0.k_cache") == "q8_0:q8_0");
  CHECK(session("model.layers.0.v_cache") == "bf16:bf16");
  CHECK(session("head") == "f32:f32");
  CHECK(chosen(policy, "model.layers.0.k_cache", Scope::internal, Lifetime::invocation) ==
        "f16:f16");
  CHECK(chosen(policy, "model.x", Scope::input, Lifetime::invocation) == "f32:f32");
  CHECK(chosen(policy, "model.x", Scope::constant, Lifetime::immutable) == "f16:f16");
}

TEST_CASE("explain says of every scheme why it was not chosen") {
  using Outcome = SchemeVerdict::Outcome;
  const Policy policy =
      parse(scheme("*", "scope = \"any\"\n", "f32") + scheme("*", kCache, "f16") +
            scheme("a", kCache, "q8_0") + scheme("*.b", kCache, "q8_0") + scheme("a", "", "bf16"));
  const WeightResolution resolution =
      policy.explain("a.b", {nullptr, Scope::internal, Lifetime::session});
  std::vector<std::string> verdicts;
  for (const SchemeVerdict& each : resolution.schemes) {
    static const char* const kNames[] = {"chosen", "agrees", "other_values", "less_specific",
                                         "overridden"};
    verdicts.push_back(fmt::format("{} {} {}", each.policy->pattern.text(), each.scheme->place.line,
                                   kNames[static_cast<std::size_t>(each.outcome)]));
    const bool has_by = each.outcome != Outcome::chosen && each.outcome != Outcome::other_values;
    CHECK((each.by != nullptr) == has_by);
    CHECK((each.by_policy != nullptr) == has_by);
    if (each.outcome == Outcome::less_specific) CHECK(each.by_policy == each.policy);
  }
  CHECK(verdicts == std::vector<std::string>{"* 1 less_specific", "* 4 overridden", "*.b 12 chosen",
                                             "a 8 agrees", "a 16 other_values"});
}

TEST_CASE("policies that disagree about values are an error, whatever the checkpoint") {
  const std::string overlap =
      scheme("model.layers.0", kCache, "f16") + scheme("**.k_cache", kCache, "q8_0");
  const std::vector<Problem> problems = parse_problems(overlap);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(contains(problems[0].what, "ambiguous"));
  CHECK(contains(problems[0].what, "scope = \"internal\", lifetime = \"session\""));
  CHECK(contains(problems[0].found, "f16 (update whole) by \"model.layers.0\" (line 1)"));
  CHECK(contains(problems[0].found, "q8_0 (update whole) by \"**.k_cache\" (line 5)"));
  CHECK(
      contains(problems[0].hint, "[[policies.\"model.layers.0.**.k_cache\".schemes]] with scope"));
  // Agreement, other scopes, separate paths, and a narrower policy that decides all are fine.
  CHECK(parse_problems(scheme("a", kCache, "f16") + scheme("**.k", kCache, "f16")).empty());
  CHECK(parse_problems(scheme("a", kCache, "f16") + scheme("**.k", "scope = \"input\"\n", "q8_0"))
            .empty());
  CHECK(parse_problems(scheme("a.*.k", kCache, "f16") + scheme("*.*.v", kCache, "q8_0")).empty());
}

TEST_CASE("several narrower policies may decide together") {
  const std::string overlap = scheme("a.*", kCache, "f16") + scheme("*.{x,y}", kCache, "q8_0");
  CHECK(parse_problems(overlap).size() == 1);
  CHECK(parse_problems(overlap + scheme("a.x", kCache, "f16")).size() == 1);
  CHECK(parse_problems(overlap + scheme("a.x", kCache, "f16") + scheme("a.y", kCache, "f16"))
            .empty());
}

TEST_CASE("hundreds of policies for values are read, and apart ones cost little") {
  std::string text;
  for (int i = 0; i < 600; ++i)
    text += scheme(fmt::format("model.layers.{}.**.q_proj", i), "scope = \"any\"\n",
                   i % 2 == 0 ? "f16" : "bf16");
  CHECK(parse_problems(text).empty());
  text.clear();
  for (int i = 0; i < 9000; ++i)
    text += scheme(fmt::format("a.b{}", i), "scope = \"any\"\nlifetime = \"any\"\n",
                   i % 2 == 0 ? "f16" : "bf16");
  CHECK(parse_problems(text).empty());
}

TEST_CASE("schemes that claim differently and say the same agree") {
  CHECK(parse_problems(scheme("a", "scope = \"any\"\nlifetime = \"any\"\n", "f16") +
                       scheme("**.k", kCache + "update = \"whole\"\n", "f16"))
            .empty());
  CHECK(parse_problems(scheme("a", "scope = \"any\"\nlifetime = \"any\"\n", "f16") +
                       scheme("**.k", kCache + "update = \"region\"\n", "f16"))
            .size() == 1);
}

TEST_CASE("a value that is no weight has no form, and none of its keys is ambiguous") {
  const Policy policy = parse(scheme("*", kCache, "f16") +
                              "[policies.a.form]\nresidency = \"heap\"\n"
                              "[policies.\"*.b\".form]\nresidency = \"mapped\"\n");
  const WeightResolution resolution =
      policy.explain("a.b", {nullptr, Scope::internal, Lifetime::session});
  CHECK(resolution.scheme->format == "f16:f16");
  CHECK(decision_of(resolution, "form.residency") == nullptr);
  CHECK(decision_of(resolution, "fallback") == nullptr);
  CHECK(decision_of(resolution, "dtype") != nullptr);
  CHECK_FALSE(problems_of([&] { policy.explain("a.b"); }).empty());
}

TEST_CASE("constants that overlap are judged by the weights there are") {
  CHECK(parse_problems(scheme("a", "", "f16") + scheme("**.k", "", "q8_0")).empty());
}

TEST_CASE("the list for artifacts finds what resolution finds") {
  std::mt19937 random(7);
  const char* const patterns[] = {"*", "a", "a.*", "*.b", "a.b", "**.c", "a.{b,c}", "a.b.c", "?"};
  const char* const paths[] = {"a", "a.b", "a.c", "b.b", "a.b.c", "x.y.c", "b", "ab.c", "a.b.c.d"};
  const char* const scopes[] = {"any", "input", "output", "internal"};
  const char* const lifetimes[] = {"any", "immutable", "invocation", "session"};
  const char* const formats[] = {"f16", "bf16", "f32"};
  int sound = 0;
  for (int round = 0; round < 4000; ++round) {
    std::string text;
    const auto count = 1 + random() % 4;
    for (std::size_t i = 0; i < count; ++i)
      text += scheme(patterns[random() % 9],
                     fmt::format("scope = \"{}\"\nlifetime = \"{}\"\n", scopes[random() % 4],
                                 lifetimes[random() % 4]),
                     formats[random() % 3]);
    CAPTURE(text);
    if (!parse_problems(text).empty()) continue;
    ++sound;
    const Policy policy = parse(text);
    for (const char* path : paths)
      for (const Scope scope : {Scope::input, Scope::output, Scope::internal})
        for (const Lifetime lifetime :
             {Lifetime::immutable, Lifetime::invocation, Lifetime::session})
          REQUIRE(listed(policy, path, scope, lifetime) == chosen(policy, path, scope, lifetime));
  }
  CHECK(sound > 500);
}

TEST_CASE("the list does not depend on the order of the file") {
  const std::vector<std::string> parts = {
      scheme("*", kCache, "f16"), scheme("a", kCache, "f16"), scheme("*.b", kCache, "f16"),
      scheme("a.b", "scope = \"any\"\n", "q8_0"), scheme("a.b", kCache, "bf16")};
  std::vector<std::size_t> order = {0, 1, 2, 3, 4};
  std::vector<std::string> first;
  do {
    std::string text;
    for (const std::size_t i : order) text += parts[i];
    std::vector<std::string> list;
    const Policy policy = parse(text);
    for (const PolicyValueScheme& each : policy.value_schemes())
      list.push_back(each.policy->pattern.text() + " " + each.scheme->scheme.format);
    if (first.empty()) first = list;
    CHECK(list == first);
  } while (std::next_permutation(order.begin(), order.end()));
  CHECK(first == std::vector<std::string>{"a.b bf16:bf16", "a.b q8_0:q8_0", "*.b f16:f16",
                                          "a f16:f16", "* f16:f16"});
}

}  // namespace synps::testing
