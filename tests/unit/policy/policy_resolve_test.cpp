// Overlay, ambiguity and who decided, over policies that cover the same paths.
#include <doctest/doctest.h>

#include <algorithm>
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

std::string residency_policy(const std::string& pattern, const std::string& residency) {
  return fmt::format("[policies.\"{}\".form]\nresidency = \"{}\"\n", pattern, residency);
}

WeightResolution resolve_one(const Policy& policy, const std::string& path) {
  return policy.resolve({facts(path)}, {.allow_unmatched = true}).at(0);
}

std::string join(const std::vector<std::string>& parts) {
  std::string out;
  for (const std::string& part : parts) out += part;
  return out;
}

// Everything that a resolution says, without pointers and lines.
std::string summary(const WeightResolution& r) {
  std::string out = fmt::format("{}|{}|{}|{}|{}|", r.keep, r.codec ? r.codec->info().id() : "-",
                                r.dtype, r.device, r.fallback_reason);
  for (const KeyDecision& decision : r.decisions) {
    out += fmt::format("{}={} by {} over", decision.key, decision.value,
                       decision.policy ? decision.policy->pattern.text() : "default");
    for (const PolicyEntry* entry : decision.overridden) out += " " + entry->pattern.text();
    out += ";";
  }
  for (const PolicyEntry* entry : r.policies) out += " " + entry->pattern.text();
  return out;
}

// The headers that an ambiguity's hint offers: from "[policies." or "[[policies." to the bracket
// that ends it. No pattern of these tests holds a bracket.
std::vector<std::string> headers_in(const std::string& hint) {
  std::vector<std::string> headers;
  for (std::size_t at = hint.find("[policies."); at != std::string::npos;
       at = hint.find("[policies.", at + 1)) {
    const bool list = at > 0 && hint[at - 1] == '[';
    const std::size_t end = hint.find(']', at) + (list ? 2 : 1);
    headers.push_back(hint.substr(list ? at - 1 : at, end - (list ? at - 1 : at)));
  }
  return headers;
}

}  // namespace

TEST_CASE("narrower overlays broader, whatever their order") {
  std::vector<std::string> parts{kFormats, format_policy("*", "f32"),
                                 format_policy("model.layers", "f16"),
                                 format_policy("model.layers.*.mlp", "q8_0"),
                                 format_policy("model.layers.0.mlp.down_proj.weight", "q4_0")};
  std::sort(parts.begin(), parts.end());
  do {
    const Policy policy = parse(join(parts));
    const auto format = [&](const char* path) { return resolve_one(policy, path).scheme->format; };
    CHECK(format("lm_head.weight") == "f32:f32");
    CHECK(format("model.layers.0.norm.weight") == "f16:f16");
    CHECK(format("model.layers.1.mlp.down_proj.weight") == "q8_0:q8_0");
    CHECK(format("model.layers.0.mlp.down_proj.weight") == "q4_0:q4_0");
  } while (std::next_permutation(parts.begin(), parts.end()));
}

TEST_CASE("a rule equal to a broader one still pins") {
  // The middle policy repeats the root's value; it must hide neither less nor more for that.
  const Policy policy = parse(kFormats + format_policy("*", "f16") + format_policy("a", "q8_0") +
                              format_policy("a.b", "f16"));
  const WeightResolution resolution = resolve_one(policy, "a.b.c");
  CHECK(resolution.scheme->format == "f16:f16");
  const KeyDecision* format = decision_of(resolution, "format");
  REQUIRE(format != nullptr);
  CHECK(format->policy->pattern.text() == "a.b");
  REQUIRE(format->overridden.size() == 2);
  CHECK(format->overridden[0]->pattern.text() == "*");
  CHECK(format->overridden[1]->pattern.text() == "a");
}

TEST_CASE("keys merge one by one, schemes are taken whole") {
  const Policy policy =
      parse(kFormats +
            "[policies.\"*\"]\ndtype = \"f16\"\nfallback = \"f16\"\n"
            "[policies.\"*\".form]\nresidency = \"heap\"\norientation = \"in_out\"\n"
            "[[policies.\"*\".schemes]]\nformat = \"f16\"\nvolatile = true\n"
            "[policies.\"a\".form]\nresidency = \"mapped\"\n"
            "[policies.\"a\".backend]\ndevice = \"board\"\n"
            "[[policies.\"a\".schemes]]\nformat = \"q8_0\"\n"
            "[policies.\"a.b\"]\ndtype = \"bf16\"\n"
            "[devices.board]\n");
  const WeightResolution resolution = resolve_one(policy, "a.b");
  CHECK(resolution.dtype == "bf16");
  CHECK(resolution.device == "board");
  CHECK(resolution.form.residency == ResidencyRequest::mapped);
  CHECK(resolution.form.orientation == Orientation::in_out);
  CHECK(resolution.form.order == OrderRequest::automatic);
  CHECK(resolution.scheme->format == "q8_0:q8_0");
  CHECK_FALSE(resolution.scheme->is_volatile);  // not merged from the root's scheme
  CHECK(resolution.codec == facts_registry().resolve("q8_0"));
  CHECK(decision_of(resolution, "fallback")->policy->pattern.text() == "*");
  CHECK(decision_of(resolution, "form.order")->policy == nullptr);
  CHECK(decision_of(resolution, "form.order")->value == "auto");
  std::vector<std::string> keys;
  for (const KeyDecision& decision : resolution.decisions) keys.push_back(decision.key);
  CHECK(keys == std::vector<std::string>{"backend.device", "dtype", "fallback", "form.compress",
                                         "form.order", "form.orientation", "form.residency",
                                         "format"});
}

TEST_CASE("what nobody sets has its documented default") {
  const Policy policy = parse(kFormats + format_policy("*", "f16"));
  const WeightResolution resolution = resolve_one(policy, "a");
  CHECK(resolution.dtype == "f32");
  CHECK(resolution.device == "local");
  CHECK(resolution.form == FormRequest{});
  CHECK(decision_of(resolution, "fallback") == nullptr);
  CHECK(decision_of(resolution, "dtype")->policy == nullptr);
  CHECK(decision_of(resolution, "dtype")->value == "f32");
}

TEST_CASE("only policies that set a key take part in it") {
  // `a.*.c` is narrower than `a`, yet says nothing about the format.
  const Policy policy = parse(kFormats + format_policy("*", "f32") + format_policy("a", "q8_0") +
                              residency_policy("a.*.c", "heap"));
  const WeightResolution resolution = resolve_one(policy, "a.b.c");
  CHECK(resolution.scheme->format == "q8_0:q8_0");
  CHECK(resolution.form.residency == ResidencyRequest::heap);
  REQUIRE(resolution.policies.size() == 3);
  CHECK(resolution.policies[0]->pattern.text() == "*");
  CHECK(resolution.policies[1]->pattern.text() == "a");
  CHECK(resolution.policies[2]->pattern.text() == "a.*.c");
}

TEST_CASE("overlapping policies that agree decide together") {
  const Policy policy =
      parse(kFormats + format_policy("a.*", "q8_0") + format_policy("*.b", "q8_0"));
  const WeightResolution resolution = resolve_one(policy, "a.b");
  CHECK(resolution.scheme->format == "q8_0:q8_0");
  CHECK(decision_of(resolution, "format")->policy->pattern.text() == "*.b");
  CHECK(decision_of(resolution, "format")->overridden.empty());
}

TEST_CASE("overlapping policies that disagree are an ambiguity that names all") {
  const std::string text = kFormats + format_policy("*", "f32") + format_policy("a.*", "q8_0") +
                           format_policy("*.b", "q4_0");
  const std::vector<Problem> problems = resolve_problems(text, facts_of({"a.b.x", "a.b.y", "c"}));
  REQUIRE(problems.size() == 1);
  const Problem& problem = problems[0];
  CHECK(problem.code == ErrorCode::policy);
  CHECK(problem.file == "synps.toml");
  CHECK(place(problem) == "5:1");
  CHECK(contains(problem.what, "ambiguous"));
  CHECK(contains(problem.what, "2 weights, such as 'a.b.x'"));
  CHECK(problem.field == "format");
  CHECK(problem.found == "q8_0 by \"a.*\" (line 5), q4_0 by \"*.b\" (line 7)");
  CHECK(contains(problem.hint, "[[policies.\"a.b\".schemes]]"));
}

TEST_CASE("equal path sets never decide between each other") {
  // Spelled differently, the same paths.
  const std::string text =
      kFormats + format_policy("{a,b}", "q8_0") + format_policy("{b,a}", "q4_0");
  const std::vector<Problem> problems = resolve_problems(text, facts_of({"a.x"}));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].hint == "they cover the same paths: remove one of them, or make them agree");
  CHECK(
      contains(resolve_problems(kFormats + format_policy("*", "q8_0") + format_policy("**", "q4_0"),
                                facts_of({"a.x", "b.y", "c"}))
                   .at(0)
                   .hint,
               "remove one of them"));
  CHECK(contains(
      resolve_problems(kFormats + format_policy("{a,b}", "q8_0") + format_policy("{b,a}", "q4_0") +
                           format_policy("{a,b,b}", "f16"),
                       facts_of({"a.x"}))
          .at(0)
          .hint,
      "remove all but one of them"));
  // With nothing narrower than the contenders themselves there is nothing to paste.
  const std::string literal =
      kFormats + format_policy("a", "q8_0") + format_policy("{a,a}", "q4_0");
  const std::vector<Problem> same = resolve_problems(literal, facts_of({"a"}));
  REQUIRE(same.size() == 1);
  CHECK(contains(same[0].hint, "remove one of them"));
}

TEST_CASE("a message names the line of the key or scheme, not of the policy's first header") {
  const std::string text =
      "[myelin]\nformats = [\"bf16\"]\n"
      "[policies.\"*\"]\nfallback = \"f16\"\n"
      "[policies.\"a.*\"]\nfallback = \"f16\"\ndtype = \"f16\"\n"
      "[policies.\"*.b\"]\nfallback = \"f16\"\n  dtype = \"bf16\"\n"
      "[[policies.\"*\".schemes]]\nformat = \"f32\"\n"
      "[[policies.\"a.*\".schemes]]\nformat = \"q8_0\"\n"
      "[[policies.\"*.b\".schemes]]\nformat = \"q4_0\"\n";
  const std::vector<Problem> problems = resolve_problems(text, facts_of({"a.b"}));
  REQUIRE(problems.size() == 2);
  CHECK(place(problems[0]) == "7:1");
  CHECK(problems[0].found == "f16 by \"a.*\" (line 7), bf16 by \"*.b\" (line 10)");
  CHECK(place(problems[1]) == "13:1");
  CHECK(problems[1].found == "q8_0 by \"a.*\" (line 13), q4_0 by \"*.b\" (line 15)");

  const Policy policy = parse(text);
  const WeightResolution resolution = policy.explain("a.c");
  const KeyDecision* format = decision_of(resolution, "format");
  REQUIRE(format != nullptr);
  CHECK(format->place.line == 13);
  REQUIRE(format->overridden_places.size() == format->overridden.size());
  REQUIRE(format->overridden_places.size() == 1);
  CHECK(format->overridden_places[0].line == 11);
  CHECK(decision_of(resolution, "dtype")->place.line == 7);
  CHECK(decision_of(resolution, "fallback")->place.line == 6);
  CHECK(decision_of(resolution, "fallback")->overridden_places.at(0).line == 4);
  CHECK(decision_of(resolution, "form.order")->place.line == 0);
}

TEST_CASE("schemes that differ in more than the format disagree") {
  const std::string text = kFormats + format_policy("a.*", "q8_0") +
                           "[[policies.\"*.b\".schemes]]\nformat = \"q8_0\"\nvolatile = true\n";
  const std::vector<Problem> problems = resolve_problems(text, facts_of({"a.b"}));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].found == "q8_0 by \"a.*\" (line 3), q8_0 volatile by \"*.b\" (line 5)");
}

TEST_CASE("every key can be ambiguous, each under its own header") {
  const std::string text =
      kFormats + format_policy("*", "f16") +
      "[policies.\"a.*\"]\ndtype = \"f16\"\nfallback = \"f16\"\n"
      "[policies.\"*.b\"]\ndtype = \"bf16\"\nfallback = \"q8_0\"\n"
      "[policies.\"a.*\".form]\nresidency = \"heap\"\norientation = \"in_out\"\n"
      "order = \"auto\"\n"
      "[policies.\"*.b\".form]\nresidency = \"mapped\"\n"
      "orientation = \"out_in\"\norder = \"as_stored\"\n"
      "[policies.\"a.*\".backend]\ndevice = \"local\"\n"
      "[policies.\"*.b\".backend]\ndevice = \"board\"\n[devices.board]\n";
  const std::vector<Problem> problems = resolve_problems(text, facts_of({"a.b"}));
  std::vector<std::string> keys;
  for (const Problem& problem : problems) keys.push_back(problem.field);
  CHECK(keys == std::vector<std::string>{"dtype", "fallback", "form.residency", "form.orientation",
                                         "form.order", "backend.device"});
  CHECK(contains(problems[5].hint, "[policies.\"a.b\".backend]"));
  CHECK(contains(problems[0].hint, "[policies.\"a.b\"]"));
  CHECK(contains(problems[2].hint, "[policies.\"a.b\".form]"));
}

TEST_CASE("a narrower policy ends an ambiguity of broader ones") {
  const std::string text = kFormats + format_policy("a.*", "q8_0") + format_policy("*.b", "q4_0") +
                           format_policy("a.b", "f16");
  CHECK(resolve_one(parse(text), "a.b").scheme->format == "f16:f16");
}

TEST_CASE("a suggested header is TOML, whatever the pattern holds") {
  const std::string text = kFormats +
                           "[[policies.'a\\*b.*'.schemes]]\nformat = \"q8_0\"\n"
                           "[[policies.\"*.c\".schemes]]\nformat = \"q4_0\"\n";
  std::vector<Problem> problems = resolve_problems(text, facts_of({"a*b.c"}));
  REQUIRE(problems.size() == 1);
  const std::vector<std::string> headers = headers_in(problems[0].hint);
  REQUIRE(headers.size() == 1);
  const std::string decided = text + headers[0] + "\nformat = \"f16\"\n";
  CHECK(resolve_one(parse(decided), "a*b.c").scheme->format == "f16:f16");

  // Quotes, control characters and text direction marks are escaped rather than shown raw.
  const std::string odd = "x\"'\x01\xE2\x80\xAE";
  problems = resolve_problems(kFormats +
                                  "[[policies.\"*.c\".schemes]]\nformat = \"q8_0\"\n"
                                  "[[policies.\"*.*\".schemes]]\nformat = \"f16\"\n"
                                  "[[policies.\"x*.*\".schemes]]\nformat = \"q4_0\"\n",
                              {facts(odd + ".c")});
  REQUIRE(problems.size() == 1);
  CHECK(escape_for_display(problems[0].hint) == problems[0].hint);
}

TEST_CASE("pasting the suggested headers makes every ambiguous file resolve") {
  const std::vector<std::vector<std::string>> collections{
      {"a.*", "*.b"},
      {"a.**", "**.b", "*.*.c"},
      {"model.layers.*.mlp", "model.layers.{0..3}", "model.*.2"},
      {"model.**.weight", "**.mlp.**", "model.layers.?"},
      {"{a,b}.*", "{b,c}.*", "*.x"},
      {"a*.z", "*b.z", "?b*.z"},
      {"**.q", "a.**", "*.*"},
      {"a", "*.b.c", "{a,x}.*.c"},
      {"*.*.weight", "model.*", "**.weight", "{model,lm_head}.*.weight"},
  };
  const std::vector<WeightFacts> weights = facts_of(
      {"a.b", "a.b.c", "a.q", "b.q.b", "a.x.b", "b.x", "a.x", "c.x", "ab.z", "abb.z", "bb.z",
       "model.layers.0.mlp.weight", "model.layers.2.mlp.down.weight", "model.layers.2.norm.weight",
       "model.layers.10.mlp.x", "model.norm.weight", "lm_head.x.weight", "x.y.c"});
  const std::vector<std::string> formats{"f16", "q8_0", "q4_0", "f32"};
  for (const std::vector<std::string>& patterns : collections) {
    std::string text = kFormats + format_policy("*", "bf16");
    for (std::size_t i = 0; i < patterns.size(); ++i)
      text += format_policy(patterns[i], formats[i]);
    bool was_ambiguous = false;
    bool resolved = false;
    for (int round = 0; round < 10 && !resolved; ++round) {
      const std::vector<Problem> problems =
          resolve_problems(text, weights, {.allow_unmatched = true});
      resolved = problems.empty();
      for (const Problem& problem : problems) {
        REQUIRE(contains(problem.what, "ambiguous"));
        was_ambiguous = true;
        for (const std::string& header : headers_in(problem.hint))
          if (!contains(text, header)) text += header + "\nformat = \"keep\"\n";
      }
    }
    CAPTURE(patterns[0]);
    CHECK(was_ambiguous);
    CHECK(resolved);
  }
}

TEST_CASE("shuffling the file changes nothing") {
  std::vector<std::string> parts{kFormats,
                                 format_policy("*", "f32"),
                                 format_policy("model.layers.*.mlp", "q8_0"),
                                 format_policy("**.down_proj", "q8_0"),
                                 format_policy("model.layers.{0,3}.mlp.down_proj", "q4_0"),
                                 residency_policy("**.mlp", "heap"),
                                 residency_policy("model.*.?.mlp.up_proj", "mapped"),
                                 "[policies.\"model\"]\ndtype = \"bf16\"\nfallback = \"f16\"\n",
                                 "[policies.\"**.norm\"]\ndtype = \"bf16\"\n",
                                 "[policies.\"{model,x}\".backend]\ndevice = \"local\"\n"};
  std::vector<WeightFacts> weights;
  for (const char* layer : {"0", "1", "3", "10"})
    for (const char* name : {"mlp.down_proj.weight", "mlp.up_proj.weight", "norm.weight"})
      weights.push_back(facts(fmt::format("model.layers.{}.{}", layer, name)));
  weights.push_back(facts("lm_head.weight"));
  weights.push_back(facts("model.layers.0.mlp.down_proj.bias", DType::bf16, {7}));
  const auto summaries = [&](const std::string& text) {
    std::string out;
    const Policy policy = parse(text);
    for (const WeightResolution& each : policy.resolve(weights)) out += summary(each) + "\n";
    return out;
  };
  const std::string expected = summaries(join(parts));
  CHECK(contains(expected, "row length 7"));
  std::mt19937 random(7);
  for (int i = 0; i < 100; ++i) {
    std::shuffle(parts.begin(), parts.end(), random);
    CHECK(summaries(join(parts)) == expected);
  }
}

TEST_CASE("many weights and policies resolve as each does alone") {
  std::string text = kFormats + format_policy("*", "f16");
  for (int layer = 0; layer < 60; ++layer)
    text += format_policy(fmt::format("model.layers.{}.mlp", layer), layer % 2 ? "q8_0" : "q4_0");
  for (int expert = 0; expert < 60; ++expert)
    text += residency_policy(fmt::format("**.experts.{}", expert), expert % 3 ? "heap" : "mapped");
  const Policy policy = parse(text);
  std::vector<WeightFacts> weights;
  for (int layer = 0; layer < 60; ++layer)
    for (int expert = 0; expert < 100; ++expert)
      weights.push_back(facts(fmt::format("model.layers.{}.mlp.experts.{}.weight", layer, expert)));
  const std::vector<WeightResolution> all = policy.resolve(weights);
  REQUIRE(all.size() == weights.size());
  for (std::size_t i = 0; i < weights.size(); i += 37) {
    CHECK(summary(all[i]) == summary(policy.explain(weights[i].weight.path, {&weights[i]})));
    const auto& entries = policy.entries();
    CHECK(static_cast<std::size_t>(
              std::count_if(entries.begin(), entries.end(), [&](const PolicyEntry& entry) {
                return entry.pattern.covers(weights[i].weight.path);
              })) == all[i].policies.size());
    const std::size_t layer = i / 100;
    const std::size_t expert = i % 100;
    CHECK(all[i].codec->info().name == (layer % 2 ? "q8_0" : "q4_0"));
    const ResidencyRequest wanted = expert >= 60 ? ResidencyRequest::automatic
                                    : expert % 3 ? ResidencyRequest::heap
                                                 : ResidencyRequest::mapped;
    CHECK(all[i].form.residency == wanted);
  }
}

TEST_CASE("a policy covers by its whole pattern, whatever segments it spells out") {
  const struct {
    const char* pattern;
    const char* path;
    bool covers;
  } cases[] = {
      {"a.{0..3}.b", "a.2.b", true},    {"a.{0..3}.b", "a.4.b", false},
      {"{{0..3},x}.b", "x.b.c", true},  {"a..b", "a..b", true},
      {"a..b", "a.b", false},           {"\\\\*.b", "*.b", true},
      {"\\\\{.b.\\\\}", "{.b.}", true}, {"**", "a", true},
      {"**.b", "a.c", false},           {"{a,b}.{1..2}", "b.1.x", true},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.pattern));
    const Policy policy = parse(format_policy(each.pattern, "f16"));
    CHECK(policy.explain(each.path).policies.size() == (each.covers ? 1 : 0));
  }
}
