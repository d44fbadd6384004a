// What a policy says against the weights of a checkpoint: coverage, support, fallback, encodings.
#include <doctest/doctest.h>

#include <string>

#include "policy_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

const std::string kFormats = "[myelin]\nformats = [\"bf16\"]\n";

std::string root(const std::string& format) {
  return fmt::format("[[policies.\"*\".schemes]]\nformat = \"{}\"\n", format);
}

Problem only_problem(const std::string& text, const std::vector<WeightFacts>& weights,
                     const ResolveOptions& options = {}) {
  const std::vector<Problem> problems = resolve_problems(text, weights, options);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(problems[0].file == "synps.toml");
  return problems[0];
}

}  // namespace

TEST_CASE("a float weight that no scheme covers is an error, once for all") {
  const std::string text = kFormats + "[[policies.\"a\".schemes]]\nformat = \"f16\"\n";
  Problem problem = only_problem(text, facts_of({"a.w", "b.w", "c.w", "d.w"}));
  CHECK(problem.what == "a float weight that no scheme covers: 3 weights, such as 'b.w'");
  CHECK(contains(problem.hint, "[[policies.\"*\".schemes]]"));
  CHECK(problem.line == 0);
  problem = only_problem(text, facts_of({"a.w", "b.w"}));
  CHECK(problem.what == "a float weight that no scheme covers: 'b.w'");
  // A policy that covers a weight without a scheme for it does not help.
  problem = only_problem(text +
                             "[policies.\"*\"]\ndtype = \"f32\"\n"
                             "[[policies.\"*\".schemes]]\nscope = \"input\"\nformat = \"f32\"\n",
                         facts_of({"a.w", "b.w"}));
  CHECK(contains(problem.what, "no scheme covers"));
}

TEST_CASE("weights that are not floats need no scheme and are kept") {
  const Policy policy = parse(
      "[[policies.\"a\".schemes]]\nformat = \"q8_0\"\n"
      "[policies.\"*\".form]\nresidency = \"heap\"\n");
  const std::vector<WeightFacts> weights{facts("ids", DType::i64, {512}),
                                         facts("mask", DType::boolean), facts("z", DType::c64),
                                         facts("a.packed", DType::u8), facts("a.w", DType::f32)};
  const std::vector<WeightResolution> resolved = policy.resolve(weights);
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK_FALSE(resolved[i].needs_scheme);
    CHECK(resolved[i].keep);
    CHECK(resolved[i].codec == nullptr);
    CHECK_FALSE(resolved[i].scheme.has_value());
    CHECK(decision_of(resolved[i], "format") == nullptr);
    CHECK(decision_of(resolved[i], "dtype") == nullptr);
    CHECK(resolved[i].form.residency == ResidencyRequest::heap);
  }
  CHECK(resolved[3].policies.size() == 2);
  CHECK(resolved[4].needs_scheme);
  CHECK_FALSE(resolved[4].keep);
}

TEST_CASE("an ambiguous format does not concern a weight that is not a float") {
  const std::string text =
      "[[policies.\"a.*\".schemes]]\nformat = \"q8_0\"\n"
      "[[policies.\"*.b\".schemes]]\nformat = \"q4_0\"\n";
  CHECK(resolve_problems(text, {facts("a.b", DType::i64)}).empty());
  CHECK(resolve_problems(text, {facts("a.b", DType::f32)}).size() == 1);
}

TEST_CASE("every float dtype needs a scheme") {
  for (const DType dtype : all_dtypes()) {
    const std::string name(encoding_name(dtype));
    CAPTURE(name);
    const std::vector<Problem> problems = resolve_problems("", {facts("w", dtype)});
    CHECK(problems.size() == (dtype_is_float(dtype) ? 1 : 0));
  }
}

TEST_CASE("a codec that cannot store a weight's shape is an error without a fallback") {
  const std::vector<WeightFacts> weights{
      facts("a", DType::f32, {8, 64}), facts("b", DType::f32, {8, 100}),
      facts("c", DType::f32, {9, 100}), facts("d", DType::f32, {8, 33}),
      facts("e", DType::f32, {})};
  const std::vector<Problem> problems = resolve_problems(root("q8_0"), weights);
  REQUIRE(problems.size() == 3);  // by reason
  for (const Problem& problem : problems) {
    CHECK(place(problem) == "1:1");
    CHECK(problem.field == "q8_0");
    CHECK(contains(problem.hint, "fallback"));
  }
  CHECK(problems[0].what == "the codec cannot store a weight: 'd'");
  CHECK(problems[1].what == "the codec cannot store a weight: 'e'");
  CHECK(problems[2].what == "the codec cannot store a weight: 2 weights, such as 'b'");
  CHECK(problems[2].found == "the row length 100 is not a multiple of 32");
}

TEST_CASE("a fallback takes what the codec cannot, and says so") {
  const std::string text = "[policies.\"*\"]\nfallback = \"f16\"\n" + root("q8_0");
  const std::vector<WeightResolution> resolved =
      parse(text).resolve({facts("a", DType::f32, {8, 64}), facts("b", DType::f32, {8, 100})});
  CHECK_FALSE(resolved[0].used_fallback);
  CHECK(resolved[0].codec->info().name == "q8_0");
  CHECK(resolved[1].used_fallback);
  CHECK(resolved[1].codec->info().name == "f16");
  CHECK(resolved[1].fallback_reason == "the row length 100 is not a multiple of 32");
  CHECK(resolved[1].scheme->format == "q8_0:q8_0");
}

TEST_CASE("the codec that will be used is the one that is checked") {
  // 64 fits the root's q8_0, and not the 256 of the policy that overrides it.
  const std::string text =
      root("q8_0") + "[[policies.\"a\".schemes]]\nformat = \"ternary:tq2_0\"\n";
  const Problem problem = only_problem(text, {facts("a", DType::f32, {8, 64})});
  CHECK(contains(problem.found, "256"));
  CHECK(place(problem) == "3:1");
}

TEST_CASE("a fallback is checked like any codec") {
  const std::string text = "[policies.\"*\"]\nfallback = \"q4_0\"\n" + root("ternary:tq2_0");
  CHECK(parse(text).resolve({facts("a", DType::f32, {8, 64})})[0].codec->info().name == "q4_0");
  const Problem problem = only_problem(text, {facts("a", DType::f32, {8, 65})});
  CHECK(contains(problem.what, "neither the codec nor the fallback"));
  CHECK(contains(problem.found, "256"));
  CHECK(contains(problem.found, "q4_0: the row length 65 is not a multiple of 32"));
}

TEST_CASE("keep stores any float as it is, as format or as fallback") {
  std::vector<WeightResolution> resolved =
      parse(root("keep")).resolve({facts("a", DType::f8_e4m3), facts("b", DType::bf16)});
  for (const WeightResolution& each : resolved) {
    CHECK(each.keep);
    CHECK(each.needs_scheme);
    CHECK(each.codec == nullptr);
    CHECK_FALSE(each.used_fallback);
  }
  resolved = parse("[policies.\"*\"]\nfallback = \"keep\"\n" + root("q8_0"))
                 .resolve({facts("a", DType::bf16, {8, 33})});
  CHECK(resolved[0].keep);
  CHECK(resolved[0].used_fallback);
  CHECK(resolved[0].codec == nullptr);
}

TEST_CASE("a source encoding must be named; f32 always is") {
  CHECK(resolve_problems(root("q8_0"), {facts("a", DType::f32)}).empty());
  const Problem problem =
      only_problem(root("q8_0"), {facts("a", DType::f32), facts("b", DType::bf16),
                                  facts("c", DType::bf16), facts("d", DType::i32)});
  CHECK(problem.what == "a source encoding that the policy does not name: 2 weights, such as 'b'");
  CHECK(problem.field == "bf16");
  CHECK(problem.hint == "add \"bf16\" to `formats` under [myelin]");
  for (const std::string declared :
       {"[myelin]\nformats = [\"bf16\"]\n", "[policies.\"*\"]\nfallback = \"bf16\"\n",
        "[[policies.\"a\".schemes]]\nformat = \"bf16\"\n",
        "[[policies.\"a\".schemes]]\nscope = \"input\"\nformat = \"bf16:bf16\"\n",
        "[myelin]\nformats = [\"bf16:bf16\"]\n"}) {
    CAPTURE(declared);
    CHECK(resolve_problems(root("q8_0") + declared, facts_of({"a", "b"})).empty());
  }
  // The dtype that a graph computes in declares nothing.
  CHECK(resolve_problems(root("q8_0") + "[policies.\"*\"]\ndtype = \"bf16\"\n", facts_of({"b"}))
            .size() == 1);
}

TEST_CASE("f64 is read only where it is named") {
  CHECK(contains(only_problem(root("f32"), {facts("a", DType::f64)}).hint, "\"f64\""));
  CHECK(resolve_problems("[myelin]\nformats = [\"f64\"]\n" + root("f32"), {facts("a", DType::f64)})
            .empty());
}

TEST_CASE("a float that nothing decodes can only be kept") {
  for (const DType dtype : {DType::f4, DType::f6_e2m3, DType::f6_e3m2, DType::f8_e8m0}) {
    const std::string name(encoding_name(dtype));
    CAPTURE(name);
    const Problem problem = only_problem(
        fmt::format("[myelin]\nformats = [\"{}\"]\n", name) + root("f32"), {facts("a", dtype)});
    CHECK(contains(problem.what, "no codec here decodes"));
    CHECK(problem.field == name);
    CHECK(contains(problem.hint, "format = \"keep\""));
    CHECK(resolve_problems(root("keep"), {facts("a", dtype)}).empty());
  }
}

TEST_CASE("a weight without elements is kept as stored, whatever its codec and source") {
  const std::string text = "[policies.\"*\"]\nfallback = \"f16\"\n" + root("q8_0");
  const Policy policy = parse(text);
  for (const WeightFacts& weight :
       {facts("a", DType::f8_e4m3, {0, 64}), facts("b", DType::bf16, {0, 33}),
        facts("c", DType::f32, {4, 0})}) {
    CAPTURE(weight.weight.path);
    const WeightResolution resolved = policy.resolve({weight}).at(0);
    CHECK(resolved.keep);
    CHECK(resolved.codec == nullptr);
    CHECK_FALSE(resolved.used_fallback);
    CHECK(resolved.needs_scheme);
    const WeightResolution explained = policy.explain(weight.weight.path, {&weight});
    CHECK(explained.keep);
    CHECK(explained.warning.empty());
  }
  CHECK(contains(only_problem("", {facts("a", DType::f32, {0})}).what, "no scheme covers"));
}

TEST_CASE("a policy whose pattern matches no weight is an error") {
  const std::string bad = "[[policies.\"model.lyers.*.mlp\".schemes]]\nformat = \"q8_0\"\n";
  const std::vector<WeightFacts> weights =
      facts_of({"model.layers.0.mlp.down_proj.weight", "model.norm.weight", "lm_head.weight"});
  const Problem problem = only_problem(kFormats + root("f16") + bad, weights);
  CHECK(problem.what == "the pattern matches no weight");
  CHECK(place(problem) == "5:12");
  CHECK(problem.field == "policies.\"model.lyers.*.mlp\"");
  CHECK(contains(problem.hint, "\"model.layers.*.mlp\""));
  CHECK(contains(problem.hint, "'model.layers.0.mlp.down_proj.weight'"));
  CHECK(resolve_problems(kFormats + root("f16") + bad, weights, {.allow_unmatched = true}).empty());
  CHECK(resolve_problems(
            kFormats + root("f16") + bad + "[policies.\"model.lyers.*.mlp\"]\noptional = true\n",
            weights)
            .empty());
  CHECK(resolve_problems(
            kFormats + root("f16") + bad + "[policies.\"model.lyers.*.mlp\"]\noptional = false\n",
            weights)
            .size() == 1);
}

TEST_CASE("what speaks of weights must match one; what speaks of other values need not") {
  const std::string base = kFormats + root("f16");
  const auto unmatched = [&](const std::string& text) {
    return resolve_problems(base + text, facts_of({"a"})).size();
  };
  CHECK(unmatched("[[policies.\"x\".schemes]]\nscope = \"any\"\nformat = \"f16\"\n") == 1);
  CHECK(unmatched("[policies.\"x\".form]\nresidency = \"heap\"\n") == 1);
  CHECK(unmatched("[policies.\"x\"]\nfallback = \"f32\"\n") == 1);
  CHECK(unmatched("[policies.\"x\"]\ndtype = \"f16\"\n") == 0);
  CHECK(unmatched("[policies.\"x\".backend]\ndevice = \"local\"\n") == 0);
  CHECK(unmatched("[[policies.\"x\".schemes]]\nscope = \"input\"\nformat = \"f16\"\n") == 0);
  CHECK(unmatched("[[policies.\"cache.*\".schemes]]\nscope = \"internal\"\n"
                  "lifetime = \"session\"\nupdate = \"region\"\nformat = \"q8_0\"\n") == 0);
  // A weight that is not a float is a match all the same.
  CHECK(resolve_problems("[[policies.\"ids\".schemes]]\nformat = \"f16\"\n",
                         {facts("ids", DType::i64)})
            .empty());
}

TEST_CASE("the hint for an unmatched pattern is a pattern or path that exists") {
  const std::vector<WeightFacts> weights =
      facts_of({"model.layers.0.mlp.down_proj.weight", "model.layers.0.mlp.up_proj.weight",
                "model.layers.1.mlp.down_proj.weight", "model.norm.weight", "lm_head.weight"});
  const struct {
    const char* pattern;
    const char* hint;
  } cases[] = {
      {"model.layers.*.mlp.dwn_proj", "\"model.layers.*.mlp.down_proj\""},
      {"modle.layer.*.mpl", "\"model.layers.*.mlp\""},
      {"lm_heads", "\"lm_head\""},
      {"layers.0.mlp", "\"**.layers.0.mlp\""},
      {"model.norm.weight.scale", "'model.norm.weight'"},
      {"model.layers.{7..9}.mlp", "'model.layers.0.mlp.down_proj.weight'"},
      {"**.bias", "set `optional = true`"},
      {"transformer.h.0", "paths look like 'model.layers.0.mlp.down_proj.weight'"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.pattern));
    const Problem problem = only_problem(
        kFormats + root("f16") +
            fmt::format("[[policies.\"{}\".schemes]]\nformat = \"q8_0\"\n", each.pattern),
        weights);
    CHECK(contains(problem.hint, each.hint));
    if (std::string_view(each.pattern) == "**.bias") CHECK_FALSE(contains(problem.hint, "lm_head"));
  }
}

TEST_CASE("a volatile weight on the heap is allowed, with a warning") {
  const std::string text =
      "[[policies.\"*\".schemes]]\nformat = \"f16\"\nvolatile = true\n"
      "[policies.\"a\".form]\nresidency = \"heap\"\n";
  const std::vector<WeightResolution> resolved =
      parse(text).resolve({facts("a", DType::f32), facts("b", DType::f32)});
  CHECK(contains(resolved[0].warning, "volatile"));
  CHECK(resolved[0].form.residency == ResidencyRequest::heap);
  CHECK(resolved[1].warning.empty());
}

TEST_CASE("everything that is wrong comes in one error, by place") {
  const std::string text = root("q8_0") +
                           "[[policies.\"none\".schemes]]\nformat = \"f16\"\n"
                           "[[policies.\"a.*\".schemes]]\nformat = \"f16\"\n"
                           "[[policies.\"*.b\".schemes]]\nformat = \"q4_0\"\n"
                           "[[policies.\"h.*\".schemes]]\nformat = \"ternary:tq2_0\"\n";
  const std::vector<Problem> problems =
      resolve_problems(text, {facts("a.b", DType::f32), facts("c", DType::bf16),
                              facts("d", DType::f8_e4m3), facts("h.e", DType::f32, {4, 32})});
  std::vector<std::string> whats;
  for (const Problem& problem : problems) whats.push_back(problem.what.substr(0, 20));
  CHECK(whats == std::vector<std::string>{"a source encoding th", "no codec here decode",
                                          "the pattern matches ", "ambiguous: policies ",
                                          "the codec cannot sto"});
}

TEST_CASE("explain answers for paths with and without a weight") {
  const Policy policy = parse(root("q8_0") + "[[policies.\"a\".schemes]]\nformat = \"keep\"\n");
  WeightResolution resolution = policy.explain("x.y");
  CHECK(resolution.codec->info().name == "q8_0");
  CHECK_FALSE(resolution.used_fallback);
  resolution = policy.explain("a.y");
  CHECK(resolution.keep);
  CHECK(resolution.codec == nullptr);
  // With a weight's facts, what is wrong with it is a warning.
  WeightFacts weight = facts("x", DType::f32, {3, 33});
  resolution = policy.explain("x", {&weight});
  CHECK(contains(resolution.warning, "not a multiple of 32"));
  CHECK(contains(resolution.warning, "synps.toml:1:1"));
  weight = facts("ids", DType::i64);
  resolution = policy.explain("ids", {&weight});
  CHECK_FALSE(resolution.needs_scheme);
  CHECK(resolution.keep);
}

TEST_CASE("a source in packed blocks is decoded by its codec, which must be named") {
  const auto packed = [](const char* encoding) {
    return std::vector<WeightFacts>{{{"w", {64, 256}, DType::f32}, encoding}};
  };
  const std::string f16 = root("f16");
  std::vector<Problem> problems = resolve_problems(f16, packed("q8_0:q8_0"));
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "a source encoding that the policy does not name"));
  CHECK(problems[0].hint == "add \"q8_0\" to `formats` under [myelin]");
  CHECK(resolve_problems("[myelin]\nformats = [\"q8_0\"]\n" + f16, packed("q8_0:q8_0")).empty());
  CHECK(resolve_problems("[myelin]\nformats = [\"ternary:tq2_0\"]\n" + f16, packed("ternary:tq2_0"))
            .empty());
  // The format that it has already names it.
  CHECK(resolve_problems(root("q8_0"), packed("q8_0:q8_0")).empty());
  problems = resolve_problems(f16, packed("gguf:iq2_xxs"));
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "no codec here decodes a source encoding"));
  CHECK(problems[0].field == "gguf:iq2_xxs");
  CHECK(resolve_problems(root("keep"), packed("gguf:iq2_xxs")).empty());
}

TEST_CASE("explain of a path that no scheme covers has no format") {
  const Policy policy = parse("[policies.\"a\"]\ndtype = \"f16\"\n");
  const WeightResolution resolution = policy.explain("a.b");
  CHECK(resolution.codec == nullptr);
  CHECK_FALSE(resolution.keep);
  CHECK(resolution.dtype == "f16");
  CHECK(decision_of(resolution, "format") == nullptr);
  CHECK(policy.explain("elsewhere").policies.empty());
}

TEST_CASE("explain of an ambiguous path is an error") {
  const Policy policy = parse(
      "[[policies.\"a.*\".schemes]]\nformat = \"q8_0\"\n"
      "[[policies.\"*.b\".schemes]]\nformat = \"q4_0\"\n");
  const std::vector<Problem> problems = problems_of([&] { policy.explain("a.b"); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(contains(problems[0].what, "'a.b'"));
  const WeightFacts ids = facts("a.b", DType::i64);
  CHECK(policy.explain("a.b", {&ids}).keep);
}

TEST_CASE("a resolution outlives a move of its policy") {
  Policy policy = parse(root("q8_0"));
  const WeightResolution resolution = policy.explain("a");
  const Policy moved = std::move(policy);
  CHECK(resolution.policies.at(0) == &moved.entries().at(0));
}
