// The example policy and the documentation, held against the code.
#include <doctest/doctest.h>

#include <array>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "policy_schema.h"
#include "synps/builtin_codecs.h"
#include "temp_dir.h"

using namespace synps;
using namespace synps::testing;

namespace {

const std::string kRoot = SYNPS_SOURCE_DIR;

// The weights of the sample checkpoint: five layers, 128 wide, 256 inside the feed-forward part.
std::vector<WeightFacts> sample_weights() {
  std::vector<WeightFacts> weights{
      facts("model.embed_tokens.weight", DType::bf16, {512, 128}),
      facts("model.norm.weight", DType::bf16, {128}),
      facts("lm_head.weight", DType::bf16, {512, 128}),
  };
  const auto add = [&](const std::string& path, Shape shape) {
    weights.push_back(facts(path, DType::bf16, std::move(shape)));
  };
  for (int i = 0; i < 5; ++i) {
    const std::string layer = fmt::format("model.layers.{}.", i);
    for (const char* name : {"input_layernorm", "post_attention_layernorm"})
      add(layer + name + ".weight", {128});
    for (const char* name : {"q_proj", "o_proj"})
      add(fmt::format("{}self_attn.{}.weight", layer, name), {128, 128});
    for (const char* name : {"k_proj", "v_proj"})
      add(fmt::format("{}self_attn.{}.weight", layer, name), {64, 128});
    for (const char* name : {"gate_proj", "up_proj"})
      add(fmt::format("{}mlp.{}.weight", layer, name), {256, 128});
    add(layer + "mlp.down_proj.weight", {128, 256});
  }
  return weights;
}

// The text of every fenced block of `language` in a Markdown file.
std::vector<std::string> fenced_blocks(const std::string& markdown, const std::string& language) {
  std::vector<std::string> blocks;
  const std::string open = "\n```" + language + "\n";
  for (std::size_t at = markdown.find(open); at != std::string::npos;
       at = markdown.find(open, at + 1)) {
    const std::size_t begin = at + open.size();
    blocks.push_back(markdown.substr(begin, markdown.find("\n```\n", begin) + 1 - begin));
  }
  return blocks;
}

}  // namespace

TEST_CASE("the example policy resolves the sample checkpoint, and each of its patterns matches") {
  const Policy policy = Policy::load(kRoot + "/synps.toml.example", builtin_registry());
  const std::vector<WeightFacts> weights = sample_weights();
  const std::vector<WeightResolution> resolved = policy.resolve(weights);
  const auto codec = [&](const std::string& path) {
    for (std::size_t i = 0; i < weights.size(); ++i)
      if (weights[i].weight.path == path)
        return resolved[i].keep ? std::string("keep") : resolved[i].codec->info().id();
    return std::string("no such weight");
  };
  CHECK(codec("model.embed_tokens.weight") == "f16:f16");
  CHECK(codec("lm_head.weight") == "q8_0:q8_0");
  CHECK(codec("model.norm.weight") == "bf16:bf16");
  CHECK(codec("model.layers.4.input_layernorm.weight") == "f32:f32");
  CHECK(codec("model.layers.4.self_attn.k_proj.weight") == "q8_0:q8_0");
  CHECK(codec("model.layers.0.mlp.down_proj.weight") == "keep");
  CHECK(codec("model.layers.0.mlp.up_proj.weight") == "q8_0:q8_0");
  CHECK(codec("model.layers.1.mlp.up_proj.weight") == "q4_0:q4_0");
  CHECK(codec("model.layers.3.mlp.down_proj.weight") == "ternary:tq2_0");
  CHECK(codec("model.layers.3.mlp.up_proj.weight") == "ternary:ternary");
  for (const PolicyEntry& entry : policy.entries()) {
    CAPTURE(entry.pattern.text());
    bool matches = false;
    for (const WeightFacts& weight : weights)
      matches = matches || entry.pattern.covers(weight.weight.path);
    CHECK(matches);
  }
}

TEST_CASE("the example policy shows every key of the schema") {
  const std::string text = read_file(kRoot + "/synps.toml.example");
  for (const KeySpec& key : policy_schema()) {
    // Of what is to come, the example names what people ask for most.
    if (!key.not_yet.empty() && key.name != "packages" && key.name != "profile") continue;
    CAPTURE(std::string(key.name));
    CHECK(contains(text, key.name));
  }
}

TEST_CASE("docs/policy.md documents every key, value and default") {
  const std::string docs = read_file(kRoot + "/docs/policy.md");
  for (const KeySpec& key : policy_schema()) {
    CAPTURE(std::string(key.name));
    CHECK(contains(docs, fmt::format("`{}`", key.name)));
    for (const Choice& choice : key.choices) {
      CAPTURE(std::string(choice.value));
      CHECK(contains(docs, fmt::format("`{}`", choice.value)));
    }
  }
}

TEST_CASE("every TOML block of docs/policy.md is a valid policy") {
  const std::vector<std::string> blocks =
      fenced_blocks(read_file(kRoot + "/docs/policy.md"), "toml");
  CHECK(blocks.size() >= 10);
  for (const std::string& block : blocks) {
    CAPTURE(block);
    const std::vector<Problem> problems =
        problems_of([&] { Policy::parse(block, "policy.md", builtin_registry()); });
    CHECK(problems.empty());
    if (!problems.empty()) MESSAGE(to_string(problems.front()));
  }
}

TEST_CASE("the worked example of docs/policy.md resolves as documented") {
  std::string text;
  for (const std::string& block : fenced_blocks(read_file(kRoot + "/docs/policy.md"), "toml"))
    if (contains(block, "model.layers.0.mlp")) text = block;
  REQUIRE_FALSE(text.empty());
  const std::string path = "model.layers.0.mlp.down_proj.weight";
  const Policy policy = Policy::parse(text, "policy.md", builtin_registry());
  CHECK(policy.entries().size() == 5);
  const WeightResolution resolution = policy.explain(path);
  CHECK(resolution.policies.size() == 5);
  CHECK(resolution.codec->info().id() == "q8_0:q8_0");
  CHECK(decision_of(resolution, "format")->policy->pattern.text() == "model.layers.0.mlp");

  const std::string last = "[[policies.\"model.layers.0.mlp\".schemes]]\nformat = \"q8_0\"\n";
  const std::size_t at = text.find(last);
  REQUIRE(at != std::string::npos);
  const Policy without = Policy::parse(text.erase(at), "policy.md", builtin_registry());
  const std::vector<Problem> problems = problems_of([&] { without.explain(path); });
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].hint, "[[policies.\"model.layers.0.mlp\".schemes]]"));
}

TEST_CASE("the trap of the mixed recipe of docs/policy.md is the error that it says") {
  const std::string base =
      "[myelin]\nformats = [\"bf16\"]\n"
      "[[policies.\"*\".schemes]]\nformat = \"bf16\"\n"
      "[[policies.\"model.layers.*.self_attn\".schemes]]\nformat = \"q8_0\"\n"
      "[[policies.\"model.layers.*.mlp\".schemes]]\nformat = \"q4_0\"\n";
  const std::string trap = "[[policies.\"model.layers.{0,3}\".schemes]]\nformat = \"bf16\"\n";
  const Policy policy = Policy::parse(base + trap, "policy.md", builtin_registry());
  const std::vector<Problem> problems = problems_of([&] { policy.resolve(sample_weights()); });
  REQUIRE(problems.size() == 2);
  CHECK(contains(problems[0].hint, "[[policies.\"model.layers.{0,3}.self_attn\".schemes]]"));
  CHECK(contains(problems[1].hint, "[[policies.\"model.layers.{0,3}.mlp\".schemes]]"));
}
