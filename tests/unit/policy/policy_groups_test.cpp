#include <doctest/doctest.h>

#include <limits>
#include <string>
#include <vector>

#include "policy_fixture.h"

namespace synps::testing {
namespace {

const std::string kHead =
    "[myelin]\nformats = [\"bf16\"]\n[[policies.\"*\".schemes]]\nformat = \"f16\"\n";

std::string group(const std::string& paths, const std::string& more = "") {
  return "[groups.qkv]\npaths = \"" + paths + "\"\n" + more;
}

std::string scheme(const std::string& pattern, const std::string& format) {
  return "[[policies.\"" + pattern + "\".schemes]]\nformat = \"" + format + "\"\n";
}

std::vector<WeightFacts> attention(int layers) {
  std::vector<WeightFacts> weights;
  for (int i = 0; i < layers; ++i)
    for (const char* name : {"q_proj.weight", "k_proj.weight", "v_proj.weight", "q_proj.bias",
                             "k_proj.bias", "o_proj.weight"})
      weights.push_back(facts(fmt::format("layers.{}.attn.{}", i, name)));
  return weights;
}

std::u32string key(const char* pattern, const char* path) {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  return PathPattern::parse(pattern).wildcard_key(path, steps);
}

}  // namespace

TEST_CASE("keys of paths are equal when wildcards matched the same") {
  const auto same = [](const char* pattern, const char* a, const char* b) {
    CAPTURE(std::string(pattern));
    CHECK_FALSE(key(pattern, a).empty());
    return key(pattern, a) == key(pattern, b);
  };
  CHECK(same("l.*.{q,k}", "l.0.q", "l.0.k"));
  CHECK_FALSE(same("l.*.{q,k}", "l.0.q", "l.1.k"));
  CHECK(same("l.*.{q,k}", "l.0.q.weight", "l.0.k.weight"));
  CHECK_FALSE(same("l.*.{q,k}", "l.0.q.weight", "l.0.k.bias"));
  CHECK_FALSE(same("l.*.{q,k}", "l.0.q", "l.0.k.bias"));
  CHECK(same("**.{q,k}_proj", "a.b.q_proj", "a.b.k_proj"));
  CHECK_FALSE(same("**.{q,k}_proj", "a.b.q_proj", "a.k_proj"));
  CHECK_FALSE(same("**.{q,k}_proj", "a.b.q_proj", "a.bb.k_proj"));
  CHECK(same("l?.{q,k}", "l1.q", "l1.k"));
  CHECK_FALSE(same("l?.{q,k}", "l1.q", "l2.k"));
  CHECK(same("l.{0..9}.*", "l.1.x", "l.2.x"));
  CHECK(same("*_{q,k}_*", "a_q_b", "a_k_b"));
  CHECK_FALSE(same("*_{q,k}_*", "a_q_b", "ab_k_"));
  // Where the cut falls is part of it: "x" and "" against "" and "x".
  CHECK_FALSE(same("*{q,k}*", "xq", "kx"));
  CHECK(key("a.*", "b.c").empty());
  CHECK(same("{q,k}", "q", "k"));
  CHECK(same("*.{q,k}", ".q", ".k"));
  std::uint64_t few = 3;
  CHECK(PathPattern::parse("**.a*b*c*.**").wildcard_key("x.y.abcabc.z", few).empty());
  CHECK(few == 0);
}

TEST_CASE("many groups over tens of thousands of weights are within the budget") {
  std::vector<WeightFacts> weights;
  for (int layer = 0; layer < 60; ++layer)
    for (int expert = 0; expert < 256; ++expert)
      for (const char* name : {"gate_proj", "up_proj", "down_proj"})
        weights.push_back(
            facts(fmt::format("model.layers.{}.mlp.experts.{}.{}.weight", layer, expert, name)));
  std::string text = kHead;
  for (int i = 0; i < 12; ++i)
    text += fmt::format("[groups.g{}]\npaths = \"**.experts.*.{{gate,up}}_proj\"\n", i);
  CHECK(resolve_problems(text, weights).empty());
  for (int i = 12; i < 900; ++i)
    text += fmt::format("[groups.g{}]\npaths = \"**.*.*a*.**.{{gate,up}}_proj\"\n", i);
  const std::vector<Problem> problems = resolve_problems(text, weights);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(problems[0].what == "finding the members of the groups takes too long");
  CHECK(problems[0].line != 0);
}

TEST_CASE("members that resolve alike are fine") {
  const std::string text = kHead + group("layers.*.attn.{q,k,v}_proj");
  CHECK(resolve_problems(text, attention(3)).empty());
  CHECK(resolve_problems(text + scheme("layers.*.attn.{q,k,v}_proj.weight", "q8_0"), attention(3))
            .empty());
  // Each layer by itself.
  CHECK(
      resolve_problems(text + scheme("layers.1.attn.{q,k,v}_proj", "q8_0"), attention(3)).empty());
}

TEST_CASE("a violation names the members, once for all sets") {
  const std::vector<Problem> problems =
      resolve_problems(kHead + group("layers.*.attn.{q,k,v}_proj") +
                           scheme("layers.{1,2}.attn.k_proj.weight", "q8_0"),
                       attention(3));
  REQUIRE(problems.size() == 1);
  const Problem& problem = problems[0];
  CHECK(problem.code == ErrorCode::policy);
  CHECK(problem.what == "members of a group differ, in 2 of its 6 sets");
  CHECK(problem.field == "groups.\"qkv\"");
  CHECK(place(problem) == "5:9");
  CHECK(contains(problem.found, "'layers.1.attn.q_proj.weight' is"));
  CHECK(contains(problem.found, "'layers.1.attn.k_proj.weight' is"));
  CHECK(contains(problem.found, "q8_0 by \"layers.{1,2}.attn.k_proj.weight\" (line 7)"));
  CHECK(contains(problem.found, "'layers.1.attn.v_proj.weight' is"));
  CHECK_FALSE(contains(problem.found, "layers.0"));
  CHECK(problem.want == "the same form and format");
}

TEST_CASE("packed blocks that are kept have the format of their codec") {
  const WeightFacts packed{{"a.q", {64, 256}, DType::f32}, "q8_0:q8_0"};
  const std::vector<WeightFacts> weights = {packed, facts("a.k", DType::f32)};
  const std::string text = scheme("*", "q8_0") + scheme("a.q", "keep") + group("a.{q,k}");
  CHECK(resolve_problems(text, weights).empty());
  const std::string other = scheme("*", "q4_0") + scheme("a.q", "keep") + group("a.{q,k}");
  const std::vector<Problem> problems = resolve_problems(other, weights);
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found, "'a.q' is q8_0"));
}

TEST_CASE("format means what is stored in the end") {
  // The fallback of one member is another format than its siblings'.
  std::vector<WeightFacts> weights = {facts("a.q"), facts("a.k", DType::bf16, {64, 100})};
  const std::string text =
      "[myelin]\nformats = [\"bf16\"]\n[policies.\"*\"]\nfallback = \"f16\"\n" +
      scheme("*", "q8_0") + group("a.{q,k}");
  std::vector<Problem> problems = resolve_problems(text, weights);
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found,
                 "'a.k' is f16, the fallback by \"*\" (line 4), because the row length 100"));
  // What all have in common is left out.
  CHECK_FALSE(contains(problems[0].found, "residency"));
  CHECK(contains(problems[0].hint, "can hold each"));
  // Kept as stored is the source's encoding, the same as that codec by name.
  weights = {facts("a.q"), facts("a.k")};
  const std::string kept = scheme("*", "bf16") + scheme("a.q", "keep") + group("a.{q,k}");
  CHECK(resolve_problems(kept, weights).empty());
  weights[0] = facts("a.q", DType::f16);
  CHECK(resolve_problems(kept, weights).size() == 1);
}

TEST_CASE("same says what is compared") {
  const std::string heap = "[policies.\"a.q\".form]\nresidency = \"heap\"\n";
  const std::string dtype = "[policies.\"a.q\"]\ndtype = \"f16\"\n";
  const std::string device = "[devices.gpu]\n[policies.\"a.q\".backend]\ndevice = \"gpu\"\n";
  const std::string format = scheme("a.q", "q8_0");
  const auto found = [&](const std::string& same, const std::string& more) {
    return resolve_problems(kHead + group("a.{q,k}", "same = [\"" + same + "\"]\n") + more,
                            facts_of({"a.q", "a.k"}))
        .size();
  };
  CHECK(found("format", heap + dtype + device) == 0);
  CHECK(found("format", format) == 1);
  CHECK(found("form", format + dtype + device) == 0);
  CHECK(found("form", heap) == 1);
  CHECK(found("dtype", heap + format + device) == 0);
  CHECK(found("dtype", dtype) == 1);
  CHECK(found("device", heap + format + dtype) == 0);
  CHECK(found("device", device) == 1);
}

TEST_CASE("a group that matches nothing is an error, unless it may") {
  const std::vector<WeightFacts> weights = facts_of({"layers.0.attn.q_proj.weight"});
  const std::string text = kHead + group("layers.*.attn.{q,k}_prj");
  const std::vector<Problem> problems = resolve_problems(text, weights);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "the group matches no weight");
  CHECK(place(problems[0]) == "6:9");
  CHECK(contains(problems[0].hint, "q_proj"));
  CHECK(resolve_problems(text + "optional = true\n", weights).empty());
  CHECK(resolve_problems(text, weights, {.allow_unmatched = true}).empty());
}

TEST_CASE("malformed groups are found with their places") {
  struct Case {
    const char* text;
    const char* what;
    const char* place;
  };
  const Case cases[] = {
      {"[groups.g]\nsame = [\"format\"]\n", "a key is missing", "1:1"},
      {"[groups.g]\npaths = 3\n", "wrong type", "2:9"},
      {"[groups.g]\npaths = \"a.{b\"\n", "", "2:12"},
      {"[groups.g]\npaths = \"a.{b*,c}\"\n", "a wildcard inside the braces of a group", "2:9"},
      {"[groups.g]\npaths = \"a.{b,{c?,d}}\"\n", "a wildcard inside the braces of a group", "2:9"},
      {"[groups.g]\npaths = \"a\"\nsame = [\"fromat\"]\n", "unknown value", "3:9"},
      {"[groups.g]\npaths = \"a\"\nsame = []\n", "a group that asks for nothing", "3:8"},
      {"[groups.g]\npaths = \"a\"\nsmae = [\"format\"]\n", "unknown key", "3:1"},
      {"[groups]\ng = \"a\"\n", "wrong type", "2:5"},
  };
  for (const Case& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CHECK(contains(problems[0].what, each.what));
    CHECK(place(problems[0]) == each.place);
  }
}

TEST_CASE("integers in a group are compared as they are kept") {
  const std::string text = kHead + group("a.{q,k}");
  CHECK(resolve_problems(text, {facts("a.q", DType::i64), facts("a.k", DType::i64)}).empty());
  CHECK(resolve_problems(text, {facts("a.q", DType::i64), facts("a.k", DType::i32)}).size() == 1);
}

}  // namespace synps::testing
