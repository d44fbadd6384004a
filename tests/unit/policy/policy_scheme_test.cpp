// Scheme fields: what is inferred, what contradicts, which of two claims is more specific.
#include <doctest/doctest.h>

#include <string>

#include "policy_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::string scheme_text(const std::string& fields) {
  return "[[policies.\"*\".schemes]]\nformat = \"f16\"\n" + fields;
}

Scheme scheme_of(const std::string& fields) {
  return parse(scheme_text(fields)).entries().at(0).schemes.at(0).scheme;
}

}  // namespace

TEST_CASE("fields that are left out are inferred from the scope") {
  const std::string format = "f16:f16";
  const struct {
    const char* fields;
    Scheme scheme;
  } cases[] = {
      {"", {Scope::constant, Lifetime::immutable, Update::none, format, false}},
      {"scope = \"constant\"\n",
       {Scope::constant, Lifetime::immutable, Update::none, format, false}},
      {"volatile = true\n", {Scope::constant, Lifetime::immutable, Update::none, format, true}},
      {"lifetime = \"any\"\n", {Scope::constant, Lifetime::any, Update::none, format, false}},
      {"scope = \"any\"\n", {Scope::any, Lifetime::any, Update::whole, format, false}},
      {"scope = \"any\"\nlifetime = \"immutable\"\nupdate = \"none\"\n",
       {Scope::any, Lifetime::immutable, Update::none, format, false}},
      {"scope = \"input\"\n", {Scope::input, Lifetime::invocation, Update::whole, format, false}},
      {"scope = \"output\"\nvolatile = false\n",
       {Scope::output, Lifetime::invocation, Update::whole, format, false}},
      {"scope = \"internal\"\nlifetime = \"session\"\nupdate = \"region\"\n",
       {Scope::internal, Lifetime::session, Update::region, format, false}},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.fields));
    CHECK(scheme_of(each.fields) == each.scheme);
  }
}

TEST_CASE("constants are immutable and not updated, and only constants are volatile") {
  const struct {
    const char* fields;
    const char* key;
    const char* place;
  } cases[] = {
      {"lifetime = \"session\"\n", "lifetime", "3:12"},
      {"lifetime = \"invocation\"\n", "lifetime", "3:12"},
      {"scope = \"constant\"\nlifetime = \"session\"\n", "lifetime", "4:12"},
      {"update = \"whole\"\n", "update", "3:10"},
      {"update = \"region\"\n", "update", "3:10"},
      {"scope = \"input\"\nvolatile = true\n", "volatile", "4:12"},
      {"scope = \"any\"\nvolatile = true\n", "volatile", "4:12"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.fields));
    const std::vector<Problem> problems = parse_problems(scheme_text(each.fields));
    REQUIRE(problems.size() == 1);
    CHECK(contains(problems[0].what, "contradiction"));
    CHECK(problems[0].field == fmt::format("policies.\"*\".schemes.{}", each.key));
    CHECK(place(problems[0]) == each.place);
  }
  CHECK(parse_problems(scheme_text("lifetime = \"session\"\nupdate = \"whole\"\n")).size() == 2);
}

TEST_CASE("a scheme needs a format") {
  const std::vector<Problem> problems =
      parse_problems("[[policies.\"*\".schemes]]\nscope = \"input\"\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "a key is missing");
  CHECK(problems[0].field == "policies.\"*\".schemes.format");
  CHECK(place(problems[0]) == "1:1");
}

TEST_CASE("a specific claim of a policy wins over a general one, in any order") {
  const std::string general = "[[policies.\"*\".schemes]]\nscope = \"any\"\nformat = \"f16\"\n";
  const std::string constant = "[[policies.\"*\".schemes]]\nformat = \"f32\"\n";
  const std::string immutable =
      "[[policies.\"*\".schemes]]\nscope = \"any\"\nlifetime = \"immutable\"\nformat = \"keep\"\n";
  const auto codec = [](const std::string& text) {
    const std::vector<WeightResolution> resolved = parse(text).resolve(facts_of({"a"}));
    return resolved.at(0).scheme->format;
  };
  CHECK(codec(general + "[myelin]\nformats = [\"bf16\"]\n") == "f16:f16");
  for (const std::string& tail : {std::string("[myelin]\nformats = [\"bf16\"]\n")}) {
    CHECK(codec(general + constant + tail) == "f32:f32");
    CHECK(codec(constant + general + tail) == "f32:f32");
    CHECK(codec(general + immutable + tail) == "keep");
    CHECK(codec(constant + immutable + tail) == "f32:f32");
    CHECK(codec(immutable + general + constant + tail) == "f32:f32");
  }
}

TEST_CASE("schemes of other scopes leave weights alone") {
  const Policy policy = parse(
      "[myelin]\nformats = [\"bf16\"]\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n"
      "[[policies.\"*\".schemes]]\nscope = \"input\"\nformat = \"f16\"\n"
      "[[policies.\"a\".schemes]]\nscope = \"internal\"\nformat = \"q8_0\"\n"
      "[[policies.\"a\".schemes]]\nscope = \"any\"\nlifetime = \"session\"\nformat = \"q4_0\"\n");
  const std::vector<WeightResolution> resolved = policy.resolve(facts_of({"a.b"}));
  CHECK(resolved[0].scheme->format == "f32:f32");
  CHECK_FALSE(policy.entries()[1].has_constant_scheme());
  CHECK(policy.entries()[0].has_constant_scheme());
}

TEST_CASE("two claims of one policy that nothing decides between are ambiguous") {
  const auto scheme = [](const char* scope, const char* lifetime) {
    return fmt::format(
        "[[policies.\"*\".schemes]]\nformat = \"f16\"\nscope = \"{}\"\nlifetime = \"{}\"\n", scope,
        lifetime);
  };
  const struct {
    std::string text;
    std::size_t problems;
  } cases[] = {
      {scheme("constant", "immutable") + scheme("constant", "immutable"), 1},
      {scheme("any", "any") + scheme("any", "any"), 1},
      {scheme("constant", "any") + scheme("any", "immutable"), 1},
      {scheme("constant", "any") + scheme("any", "immutable") + scheme("constant", "immutable"), 0},
      {scheme("input", "any") + scheme("any", "session"), 1},
      {scheme("input", "any") + scheme("any", "session") + scheme("input", "session"), 0},
      {scheme("input", "any") + scheme("output", "any"), 0},
      {scheme("input", "session") + scheme("input", "invocation"), 0},
      // A constant never lives a session, so these never meet.
      {scheme("constant", "any") + scheme("any", "session"), 0},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    CHECK(problems.size() == each.problems);
    if (problems.empty()) continue;
    CHECK(contains(problems[0].what, "ambiguous"));
    CHECK(place(problems[0]) == "5:1");
    CHECK(problems[0].found == "lines 1 and 5");
  }
}

TEST_CASE("every scheme is checked, whether or not a narrower policy hides it") {
  const std::vector<Problem> problems = parse_problems(
      "[[policies.\"*\".schemes]]\nformat = \"nothing\"\n"
      "[[policies.\"a\".schemes]]\nformat = \"f16\"\n");
  REQUIRE(problems.size() == 1);
  CHECK(place(problems[0]) == "2:10");
}
