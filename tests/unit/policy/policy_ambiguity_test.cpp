#include <doctest/doctest.h>

#include <random>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "temp_dir.h"

// Every ambiguity error comes with what cures it: pasting that, with one of the values that were
// claimed, makes the policy pass.

namespace synps::testing {
namespace {

struct Ambiguous {
  const char* name;
  const char* text;
  std::vector<WeightFacts> weights;
  std::size_t problems = 1;
};

const std::string kRoot =
    "[myelin]\nformats = [\"bf16\"]\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n";

std::vector<Ambiguous> collection() {
  const std::vector<WeightFacts> layers =
      facts_of({"model.layers.0.mlp.down.weight", "model.layers.1.mlp.down.weight",
                "model.layers.0.attn.q.weight", "model.norm.weight"});
  return {
      {"layer against projection",
       "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"model.layers.*.mlp\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"suffix against prefix",
       "[[policies.\"**.weight\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"model.layers\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"globs inside a segment",
       "[[policies.\"*.layers.*.m*\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"*.layers.*.*p\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"alternatives and ranges",
       "[[policies.\"model.layers.{0..1}\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"model.layers.*.{mlp,attn}\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"two depths",
       "[[policies.\"**.mlp.**.weight\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"model.**.down\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"question marks",
       "[[policies.\"?odel.layers.?.mlp\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"mode?.layers.0\".schemes]]\nformat = \"q8_0\"\n",
       layers},
      {"three contenders",
       "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"**.mlp\".schemes]]\nformat = \"q8_0\"\n"
       "[[policies.\"**.down\".schemes]]\nformat = \"q4_0\"\n",
       layers, 2},
      {"a dtype",
       "[policies.\"model.layers.0\"]\ndtype = \"f16\"\n[policies.\"**.mlp\"]\ndtype = \"bf16\"\n",
       layers},
      {"a fallback",
       "[policies.\"model.layers.0\"]\nfallback = \"f16\"\n[policies.\"**.mlp\"]\nfallback = "
       "\"keep\"\n",
       layers},
      {"a residency",
       "[policies.\"model.layers.0\".form]\nresidency = \"heap\"\n"
       "[policies.\"**.mlp\".form]\nresidency = \"mapped\"\n",
       layers},
      {"an order",
       "[policies.\"model.layers.0\".form]\norder = \"as_stored\"\n"
       "[policies.\"**.mlp\".form]\norder = \"auto\"\n",
       layers},
      {"an orientation",
       "[policies.\"model.layers.0\".form]\norientation = \"in_out\"\n"
       "[policies.\"**.mlp\".form]\norientation = \"out_in\"\n",
       layers},
      {"a device",
       "[devices.a]\n[devices.b]\n[policies.\"model.layers.0\".backend]\ndevice = \"a\"\n"
       "[policies.\"**.mlp\".backend]\ndevice = \"b\"\n",
       layers},
      {"format and volatile",
       "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\nvolatile = true\n"
       "[[policies.\"**.mlp\".schemes]]\nformat = \"f16\"\n",
       layers},
      {"a scheme for any scope",
       "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\n"
       "[[policies.\"**.mlp\".schemes]]\nscope = \"any\"\nformat = \"q8_0\"\n",
       layers},
      {"two keys at once",
       "[policies.\"model.layers.0\"]\ndtype = \"f16\"\n"
       "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\n"
       "[policies.\"**.mlp\"]\ndtype = \"bf16\"\n"
       "[[policies.\"**.mlp\".schemes]]\nformat = \"q8_0\"\n",
       layers, 2},
      {"names that need quoting",
       "[[policies.'a\"b.*'.schemes]]\nformat = \"f16\"\n"
       "[[policies.'*.c\\*d'.schemes]]\nformat = \"q8_0\"\n",
       facts_of({"a\"b.c*d.e"})},
      {"values: overlapping caches",
       "[[policies.\"model.layers.0\".schemes]]\nscope = \"internal\"\nlifetime = \"session\"\n"
       "format = \"f16\"\n"
       "[[policies.\"**.k_cache\".schemes]]\nscope = \"internal\"\nlifetime = \"session\"\n"
       "format = \"q8_0\"\n",
       layers},
      {"values: a cache at any depth",
       "[[policies.\"model.layers.*.self_attn\".schemes]]\nscope = \"internal\"\nformat = \"f16\"\n"
       "[[policies.\"**.cache\".schemes]]\nscope = \"internal\"\nformat = \"q8_0\"\n",
       layers},
      {"values: any scope against one",
       "[[policies.\"model.layers.0\".schemes]]\nscope = \"any\"\nlifetime = \"session\"\n"
       "format = \"f16\"\n"
       "[[policies.\"**.k_cache\".schemes]]\nscope = \"input\"\nlifetime = \"any\"\n"
       "format = \"q8_0\"\n",
       layers},
      {"values: several kinds at once",
       "[[policies.\"a.*\".schemes]]\nscope = \"input\"\nformat = \"f16\"\n"
       "[[policies.\"a.*\".schemes]]\nscope = \"output\"\nformat = \"f16\"\n"
       "[[policies.\"*.b\".schemes]]\nscope = \"input\"\nformat = \"q8_0\"\n"
       "[[policies.\"*.b\".schemes]]\nscope = \"output\"\nformat = \"q4_0\"\n",
       layers, 2},
  };
}

std::size_t end_of_header(const std::string& hint, std::size_t at) {
  char quote = '\0';
  for (std::size_t i = at; i < hint.size(); ++i) {
    const char c = hint[i];
    if (quote == '"' && c == '\\') {
      ++i;
    } else if (quote != '\0') {
      if (c == quote) quote = '\0';
    } else if (c == '"' || c == '\'') {
      quote = c;
    } else if (c == ']' && (i + 1 == hint.size() || hint[i + 1] != ']')) {
      return i + 1;
    }
  }
  FAIL("the hint has no whole header: " << hint);
  return hint.size();
}

// What a person would paste: every header of the hint, with the first value that was claimed.
std::string cure(const Problem& problem) {
  const std::string value = problem.found.substr(0, problem.found.find(" by "));
  std::string body;
  std::string format = value;
  if (const std::size_t extra = format.find(' '); extra != std::string::npos) format.resize(extra);
  if (problem.field == "format") {
    body = "format = \"" + format + "\"\n";
    if (contains(value, " volatile")) body += "volatile = true\n";
  } else {
    body = problem.field.substr(problem.field.rfind('.') + 1) + " = \"" + value + "\"\n";
  }
  const std::size_t with = problem.hint.find("] with scope = ");
  if (with != std::string::npos) {
    // One key a line: `scope = "internal", lifetime = "session"`.
    for (const char c : problem.hint.substr(with + 7)) body += c == ',' ? '\n' : c;
    body += '\n';
  }
  std::string pasted;
  for (std::size_t at = problem.hint.find('['); at != std::string::npos;
       at = problem.hint.find('[', at)) {
    const std::size_t end = end_of_header(problem.hint, at);
    pasted += problem.hint.substr(at, end - at) + "\n" + body;
    at = end;
  }
  CHECK_MESSAGE(!pasted.empty(), problem.hint);
  return pasted;
}

}  // namespace

TEST_CASE("pasting what an ambiguity error prints makes the policy pass") {
  const TempDir dir;
  for (const Ambiguous& each : collection()) {
    CAPTURE(std::string(each.name));
    const std::string text = kRoot + each.text;
    const std::string path = dir.file("synps.toml");
    write_file(path, text);
    const PolicyCheck before = PolicyCheck::run(path, facts_registry(), &each.weights);
    CHECK(before.problems.size() == each.problems);
    std::string pasted = text;
    for (const Problem& problem : before.problems) {
      CHECK(contains(problem.what, "ambiguous"));
      CHECK(problem.line != 0);
      CHECK(contains(problem.found, "(line "));
      pasted += cure(problem);
    }
    write_file(path, pasted);
    const PolicyCheck after = PolicyCheck::run(path, facts_registry(), &each.weights);
    const std::string left = after.problems.empty() ? "" : to_string(after.problems.front());
    CHECK_MESSAGE(after.problems.empty(), left, "\n", pasted);
    CHECK(after.policy.has_value());
  }
}

TEST_CASE("every contender is named with its line") {
  const std::vector<Problem> problems =
      resolve_problems(kRoot +
                           "[[policies.\"model.layers.0\".schemes]]\nformat = \"f16\"\n"
                           "[[policies.\"**.mlp\".schemes]]\nformat = \"q8_0\"\n"
                           "[[policies.\"model.*.*.mlp\".schemes]]\nformat = \"q4_0\"\n",
                       facts_of({"model.layers.0.mlp.weight"}));
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].found, "f16 by \"model.layers.0\" (line 5)"));
  CHECK(contains(problems[0].found, "q4_0 by \"model.*.*.mlp\" (line 9)"));
  // "**.mlp" is broader than "model.*.*.mlp" and decides nothing.
  CHECK_FALSE(contains(problems[0].found, "q8_0"));
  CHECK(contains(problems[0].hint, "[[policies.\"model.layers.0.mlp\".schemes]]"));
}

TEST_CASE("patterns made to explode end in a limit error, for values too") {
  std::mt19937 random(1);
  std::string text = kRoot;
  for (int i = 0; i < 200; ++i) {
    std::string pattern = "*";
    for (int at = 0; at < 60; ++at) pattern += {static_cast<char>('a' + random() % 26), '*'};
    text += "[[policies.\"" + pattern + "\".schemes]]\nscope = \"internal\"\nformat = ";
    text += i % 2 == 0 ? "\"f16\"\n" : "\"bf16\"\n";
  }
  const std::vector<Problem> problems = parse_problems(text);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
  CHECK(problems[0].what == "deciding between the policies takes too long");
}

}  // namespace synps::testing
