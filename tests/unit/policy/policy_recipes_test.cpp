// The recipes of docs/policy.md do what they say.
#include <doctest/doctest.h>

#include <map>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "synps/builtin_codecs.h"
#include "temp_dir.h"

using namespace synps;
using namespace synps::testing;

namespace {

// The first policy after a recipe's title.
std::string recipe(const std::string& title) {
  static const std::string docs = read_file(std::string(SYNPS_SOURCE_DIR) + "/docs/policy.md");
  const std::size_t heading = docs.find("\n**" + title);
  REQUIRE_MESSAGE(heading != std::string::npos, title);
  const std::string open = "\n```toml\n";
  const std::size_t begin = docs.find(open, heading) + open.size();
  return docs.substr(begin, docs.find("\n```\n", begin) + 1 - begin);
}

// A checkpoint of 32 layers that has a bit of everything.
std::vector<WeightFacts> weights() {
  std::vector<WeightFacts> made;
  const auto add = [&](const std::string& path, Shape shape) {
    made.push_back(facts(path, DType::bf16, std::move(shape)));
  };
  add("model.embed_tokens.weight", {1024, 512});
  add("model.norm.weight", {512});
  for (int layer = 0; layer < 32; ++layer) {
    const std::string base = fmt::format("model.layers.{}.", layer);
    for (const char* name : {"input_layernorm", "self_attn.q_norm"})
      add(base + name + ".weight", {512});
    for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
      add(base + "self_attn." + name + ".weight", {512, 512});
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      add(base + "mlp." + name + ".weight", {512, 512});
    add(base + "mlp.gate.weight", {4, 512});
    add(base + "mlp.experts.2.up_proj.weight", {512, 512});
  }
  return made;
}

using Stored = std::map<std::string, std::string>;  // by path: short codec names, or "keep"

Stored stored_under(const std::string& text) {
  const Policy policy = Policy::parse(text, "policy.md", builtin_registry());
  const std::vector<WeightFacts> all = weights();
  const std::vector<WeightResolution> resolved = policy.resolve(all);
  Stored stored;
  for (std::size_t i = 0; i < all.size(); ++i)
    stored[all[i].weight.path] =
        resolved[i].keep ? "keep" : CodecRegistry::short_name(resolved[i].codec->info());
  return stored;
}

}  // namespace

TEST_CASE("recipe: first and last layers finer") {
  Stored stored = stored_under(recipe("First and last layers finer."));
  for (const int layer : {0, 1, 30, 31})
    CHECK(stored[fmt::format("model.layers.{}.mlp.up_proj.weight", layer)] == "q8_0");
  for (const int layer : {2, 15, 29}) {
    CHECK(stored[fmt::format("model.layers.{}.mlp.up_proj.weight", layer)] == "q4_0");
    CHECK(stored[fmt::format("model.layers.{}.self_attn.q_proj.weight", layer)] == "q4_0");
    CHECK(stored[fmt::format("model.layers.{}.input_layernorm.weight", layer)] == "bf16");
  }
  CHECK(stored["model.embed_tokens.weight"] == "bf16");
}

TEST_CASE("recipe: experts coarse") {
  const std::string text = recipe("Experts coarse.");
  Stored stored = stored_under(text);
  CHECK(stored["model.layers.7.mlp.experts.2.up_proj.weight"] == "q4_0");
  CHECK(stored["model.layers.7.mlp.gate.weight"] == "keep");
  CHECK(stored["model.layers.7.mlp.gate_proj.weight"] == "q8_0");
  const Policy policy = Policy::parse(text, "policy.md", builtin_registry());
  CHECK(policy.explain("model.layers.7.mlp.experts.2.up_proj.weight").form.residency ==
        ResidencyRequest::mapped);
}

TEST_CASE("recipe: embeddings separate, also where they are tied") {
  Stored stored = stored_under(recipe("Embeddings separate."));
  CHECK(stored["model.embed_tokens.weight"] == "q8_0");
  CHECK(stored["model.layers.7.mlp.up_proj.weight"] == "q4_0");
}

TEST_CASE("recipe: norms untouched") {
  const Stored stored = stored_under(recipe("Norms untouched."));
  for (const auto& each : stored) {
    CAPTURE(each.first);
    CHECK((each.second == "keep") == contains(each.first, "norm."));
  }
}

TEST_CASE(
    "recipe: the groups for fused attention hold, and a later rule for one projection breaks") {
  const std::string text = recipe("Fused attention.");
  CHECK(stored_under(text)["model.layers.7.self_attn.q_proj.weight"] == "q8_0");
  const Policy later = Policy::parse(
      text +
          "[[policies.\"**.v_proj\".schemes]]\nformat = \"f16\"\n"
          "[[policies.\"model.layers.*.self_attn.v_proj\".schemes]]\nformat = \"f16\"\n",
      "policy.md", builtin_registry());
  const std::vector<Problem> problems = problems_of([&] { later.resolve(weights()); });
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "members of a group differ"));
  CHECK(contains(problems[0].field, "qkv"));
}

TEST_CASE("recipe: a cache of keys and values in eight bits") {
  const Policy policy =
      Policy::parse(recipe("A cache of keys and values"), "policy.md", builtin_registry());
  const WeightResolution cache = policy.explain(
      "model.layers.7.self_attn.cache", {.scope = Scope::internal, .lifetime = Lifetime::session});
  REQUIRE(cache.codec != nullptr);
  CHECK(cache.codec->info().id() == "q8_0:q8_0");
  CHECK(policy.value_schemes().size() == 1);
}

TEST_CASE("recipe: a mixed model") {
  Stored stored = stored_under(recipe("A mixed model."));
  CHECK(stored["model.layers.0.mlp.up_proj.weight"] == "bf16");
  CHECK(stored["model.layers.31.self_attn.q_proj.weight"] == "bf16");
  CHECK(stored["model.layers.15.mlp.up_proj.weight"] == "q4_0");
  CHECK(stored["model.layers.15.self_attn.q_proj.weight"] == "q8_0");
}
