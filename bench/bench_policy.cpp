// How long reading a policy and resolving a checkpoint under it take, and how that grows with the
// number of weights and of policies.
//
// The checkpoint is a mixture of experts: attention, norms, a router and experts with three
// projections in each layer. The policies are what people write for one: a root, a pattern for each
// kind of weight, then layer after layer its own projections and ranges of experts. "worst" is not
// what people write: as many policies as may cover one path (256) do cover each. "groups" finds the
// members of groups that stand for most weights; "values" reads policies for caches.

#include <benchmark/benchmark.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "synps/builtin_codecs.h"
#include "synps/policy.h"

namespace synps {
namespace {

constexpr std::size_t kWeightsInLayer = 10;  // besides the experts'

WeightFacts weight(std::string path, Shape shape) {
  return {{std::move(path), std::move(shape), DType::bf16}, "bf16"};
}

void add_layer(std::size_t layer, std::size_t experts, std::vector<WeightFacts>& weights) {
  const std::string base = fmt::format("model.layers.{}.", layer);
  for (const char* name : {"input_layernorm", "post_attention_layernorm"})
    weights.push_back(weight(base + name + ".weight", {2048}));
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    weights.push_back(weight(fmt::format("{}self_attn.{}.weight", base, name), {2048, 2048}));
  for (const char* name : {"q_norm", "k_norm"})
    weights.push_back(weight(fmt::format("{}self_attn.{}.weight", base, name), {128}));
  weights.push_back(weight(base + "mlp.gate.weight", {experts, 2048}));
  weights.push_back(weight(base + "mlp.gate.bias", {experts}));
  for (std::size_t expert = 0; expert < experts; ++expert)
    for (const char* name : {"gate_proj", "up_proj", "down_proj"})
      weights.push_back(
          weight(fmt::format("{}mlp.experts.{}.{}.weight", base, expert, name), {768, 2048}));
}

/// A checkpoint of about `count` weights in at most 48 layers.
std::vector<WeightFacts> checkpoint(std::size_t count) {
  const std::size_t layers = count >= 48 * 13 ? 48 : 4;
  const std::size_t in_layer = std::max<std::size_t>(count / layers, kWeightsInLayer + 3);
  std::vector<WeightFacts> weights{weight("model.embed_tokens.weight", {151936, 2048}),
                                   weight("model.norm.weight", {2048}),
                                   weight("lm_head.weight", {151936, 2048})};
  for (std::size_t layer = 0; layer < layers; ++layer)
    add_layer(layer, (in_layer - kWeightsInLayer) / 3, weights);
  return weights;
}

std::string scheme(std::string_view pattern, std::string_view format) {
  return fmt::format("[[policies.\"{}\".schemes]]\nformat = \"{}\"\n", pattern, format);
}

std::string residency(std::string_view pattern, std::string_view value) {
  return fmt::format("[policies.\"{}\".form]\nresidency = \"{}\"\n", pattern, value);
}

/// The policies that every such file has.
std::vector<std::string> common_policies() {
  return {
      "[policies.\"*\"]\nfallback = \"bf16\"\n" + scheme("*", "q8_0"),
      scheme("model.embed_tokens", "f16"),
      scheme("lm_head", "q8_0"),
      scheme("**.*norm*", "f32"),
      scheme("**.bias", "f32"),
      scheme("model.layers.*.mlp.experts", "q4_0"),
      residency("model.layers.*.mlp.experts.*.{gate,up,down}_proj", "mapped"),
      residency("**.self_attn", "heap"),
  };
}

/// The policies of one layer: its projections one by one, and ranges of its experts.
std::vector<std::string> layer_policies(std::size_t layer) {
  const std::string base = fmt::format("model.layers.{}", layer);
  std::vector<std::string> made{fmt::format("[policies.\"{}\"]\ndtype = \"bf16\"\n", base)};
  for (const char* name : {"q_proj", "k_proj", "v_proj", "o_proj"})
    made.push_back(scheme(fmt::format("{}.self_attn.{}", base, name), "q8_0"));
  for (const char* name : {"gate_proj", "up_proj", "down_proj"})
    made.push_back(scheme(fmt::format("{}.mlp.experts.*.{}", base, name), "q4_0"));
  for (int range = 0; range < 3; ++range)
    made.push_back(scheme(
        fmt::format("{}.mlp.experts.{{{}..{}}}.down_proj", base, 100 * range, 100 * range + 49),
        range == 0 ? "q8_0" : "ternary"));
  return made;
}

/// A file of `count` policies, none of them ambiguous.
std::string policy_text(std::size_t count) {
  std::vector<std::string> policies = common_policies();
  for (std::size_t layer = 0; policies.size() < count; ++layer)
    for (std::string& policy : layer_policies(layer)) policies.push_back(std::move(policy));
  policies.resize(count);
  std::string text;
  for (const std::string& policy : policies) text += policy;
  return text;
}

/// As many policies as may cover one path, 256, cover every weight of the layers, none inside
/// another but all inside the root, and each sets every key. The others cover nothing.
std::string worst_text(std::size_t count) {
  const auto policy = [](std::string_view pattern) {
    return fmt::format(
               "[policies.\"{0}\"]\ndtype = \"f32\"\nfallback = \"bf16\"\n"
               "[policies.\"{0}\".form]\norder = \"auto\"\norientation = \"out_in\"\n"
               "residency = \"auto\"\n[policies.\"{0}\".backend]\ndevice = \"local\"\n",
               pattern) +
           scheme(pattern, "q8_0");
  };
  std::string text = policy("*");
  for (std::size_t i = 1; i < std::min<std::size_t>(count, 256); ++i)
    text += policy(fmt::format("{{model,lm_head,other{}}}", i));
  for (std::size_t i = 256; i < count; ++i)
    text += fmt::format("[policies.\"absent{}\"]\ndtype = \"f16\"\n", i);
  return text;
}

/// `count` policies for values that are no weights: caches and activations, layer by layer.
std::string values_text(std::size_t count) {
  std::string text = scheme("*", "bf16");
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format(
        "[[policies.\"model.layers.{}.*.{}\".schemes]]\nscope = \"{}\"\nformat = \"{}\"\n", i / 4,
        i % 2 == 0 ? "k_cache" : "v_cache", i % 4 < 2 ? "any" : "internal",
        i % 3 == 0 ? "q8_0" : "f16");
  return text;
}

/// The policies that every such file has, and `count` groups over the experts.
std::string groups_text(std::size_t count) {
  std::string text = policy_text(8);
  for (std::size_t i = 0; i < count; ++i)
    text += fmt::format("[groups.g{}]\npaths = \"**.experts.*.{{gate,up}}_proj\"\n", i);
  return text;
}

Policy read(const std::string& text) {
  return Policy::parse(text, "synps.toml", builtin_registry());
}

void resolve(benchmark::State& state, std::string (*make)(std::size_t)) {
  const auto weights = checkpoint(static_cast<std::size_t>(state.range(0)));
  const Policy policy = read(make(static_cast<std::size_t>(state.range(1))));
  const ResolveOptions options{.allow_unmatched = true};  // a small checkpoint lacks layers
  for (auto _ : state) benchmark::DoNotOptimize(policy.resolve(weights, options));
  state.counters["weights"] = static_cast<double>(weights.size());
  state.counters["policies"] = static_cast<double>(policy.entries().size());
}

void parse(benchmark::State& state, std::string (*make)(std::size_t)) {
  const std::string text = make(static_cast<std::size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(read(text));
  state.counters["bytes"] = static_cast<double>(text.size());
}

void add_benchmarks() {
  benchmark::RegisterBenchmark("parse", [](benchmark::State& state) { parse(state, policy_text); })
      ->Unit(benchmark::kMillisecond)
      ->ArgName("policies")
      ->Arg(5)
      ->Arg(50)
      ->Arg(500)
      ->Arg(5000);
  benchmark::RegisterBenchmark("parse/values",
                               [](benchmark::State& state) { parse(state, values_text); })
      ->Unit(benchmark::kMillisecond)
      ->ArgName("policies")
      ->Arg(5)
      ->Arg(50)
      ->Arg(500);
  benchmark::RegisterBenchmark("resolve/groups",
                               [](benchmark::State& state) { resolve(state, groups_text); })
      ->Unit(benchmark::kMillisecond)
      ->ArgNames({"weights", "groups"})
      ->ArgsProduct({{600, 6'000, 60'000}, {1, 8}});
  benchmark::RegisterBenchmark("resolve",
                               [](benchmark::State& state) { resolve(state, policy_text); })
      ->Unit(benchmark::kMillisecond)
      ->ArgNames({"weights", "policies"})
      ->ArgsProduct({{600, 6'000, 60'000, 600'000}, {5, 50, 500}})
      ->Args({60'000, 5'000});
  benchmark::RegisterBenchmark("resolve/worst",
                               [](benchmark::State& state) { resolve(state, worst_text); })
      ->Unit(benchmark::kMillisecond)
      ->ArgNames({"weights", "policies"})
      ->ArgsProduct({{600, 6'000, 60'000}, {500}});
}

}  // namespace
}  // namespace synps

int main(int argc, char** argv) {
  synps::add_benchmarks();
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
