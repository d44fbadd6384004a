#include "starter_policy.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <fstream>
#include <map>
#include <random>
#include <set>
#include <string>
#include <string_view>
#include <vector>

#include "model_families.h"
#include "starter_text.h"
#include "synps/builtin_codecs.h"
#include "synps/error.h"
#include "temp_dir.h"

namespace synps::cli {
namespace {

using Facts = std::vector<WeightFacts>;

WeightFacts facts(std::string path, std::vector<std::uint64_t> shape, DType dtype = DType::bf16) {
  return {{std::move(path), Shape(std::move(shape)), dtype}, std::string(encoding_name(dtype))};
}

std::string text_for(const Facts& weights, const Preset& preset) {
  const CodecRegistry& codecs = builtin_registry();
  return starter_text(make_starter_policy(weights, preset, codecs), weights, "model", codecs);
}

std::string text_for(const Facts& weights, std::string_view preset) {
  return text_for(weights, *find_preset(preset));
}

Policy parsed(const std::string& text) {
  return Policy::parse(text, "synps.toml", builtin_registry());
}

std::string format_of(const WeightResolution& resolution) {
  return resolution.keep ? "keep" : CodecRegistry::short_name(resolution.codec->info());
}

/// Formats by path. The text must resolve, and every policy must decide something.
std::map<std::string, std::string> formats_under(const std::string& text, const Facts& weights) {
  CAPTURE(text);
  const Policy policy = parsed(text);
  std::vector<WeightResolution> resolutions;
  CHECK_NOTHROW(resolutions = policy.resolve(weights));
  REQUIRE(resolutions.size() == weights.size());
  std::map<std::string, std::string> out;
  std::set<const PolicyEntry*> deciding;
  bool floats = false;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    out[weights[i].weight.path] = format_of(resolutions[i]);
    CHECK(resolutions[i].warning.empty());
    floats = floats || resolutions[i].needs_scheme;
    for (const KeyDecision& decision : resolutions[i].decisions)
      if (decision.key == "format") deciding.insert(decision.policy);
  }
  if (floats) CHECK(deciding.size() == policy.entries().size());
  return out;
}

/// What `synps check --strict` says: no problem, and no warning.
void check_is_content(const std::string& text, const Facts& weights) {
  const testing::TempDir folder;
  const std::string path = folder.file("synps.toml");
  std::ofstream(path, std::ios::binary) << text;
  const PolicyCheck check = PolicyCheck::run(path, builtin_registry(), &weights);
  CAPTURE(text);
  for (const Problem& problem : check.problems) FAIL_CHECK(to_string(problem));
  for (const Problem& warning : check.warnings) FAIL_CHECK(to_string(warning));
}

/// Comments stay comments, whatever is in the names.
void check_lines(const std::string& text) {
  CHECK(text.back() == '\n');
  for (std::size_t begin = 0; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    const std::string line = text.substr(begin, end - begin);
    CAPTURE(line);
    CHECK(std::none_of(line.begin(), line.end(),
                       [](char c) { return static_cast<unsigned char>(c) < 0x20 || c == 0x7F; }));
    CHECK((line.empty() || line.back() != ' '));
    const bool known = line.empty() || line[0] == '#' || line[0] == '[' ||
                       line.rfind("format", 0) == 0 || line.rfind("fallback = ", 0) == 0;
    CHECK(known);
    begin = end + 1;
  }
}

/// The text with the comment that starts at a heading, and all after it, made part of the policy.
std::string uncommented(const std::string& text, const std::string& heading) {
  const std::size_t at = text.find(heading);
  REQUIRE(at != std::string::npos);
  std::string out = text.substr(0, at);
  for (std::size_t begin = at; begin < text.size();) {
    const std::size_t end = text.find('\n', begin);
    std::string line = text.substr(begin, end - begin);
    const bool policy = line.rfind("# [", 0) == 0 || line.find(" = ") != std::string::npos;
    out += (policy ? line.substr(2) : "# " + line) + "\n";
    begin = end + 1;
  }
  return out;
}

/// With an encoding declared no more, the policy must not do, unless a format or fallback names it.
void check_declarations(const std::string& text, const Facts& weights) {
  const std::size_t at = text.find("\nformats = [");
  if (at == std::string::npos) return;
  const Policy policy = parsed(text);
  for (const std::string& name : policy.source_formats()) {
    CAPTURE(name);
    if (text.find(" = \"" + name + "\"\n") != std::string::npos) continue;
    std::string without = text;
    const std::string quoted = "\"" + name + "\"";
    without.replace(without.find(quoted, at), quoted.size(), "\"f32\"");
    CHECK_THROWS_AS(static_cast<void>(parsed(without).resolve(weights)), Error);
  }
}

const std::map<std::string, Role> kRoles{
    {"norm", Role::norm},           {"bias", Role::bias},
    {"mask", Role::mask},           {"router", Role::router},
    {"scale", Role::scale},         {"vector", Role::vector},
    {"embedding", Role::embedding}, {"head", Role::head},
    {"attention", Role::attention}, {"feed_forward", Role::feed_forward},
    {"expert", Role::expert},       {"convolution", Role::convolution},
    {"matrix", Role::matrix},       {"not_float", Role::not_float},
};

}  // namespace

TEST_CASE("roles are recognised in the names of many families") {
  for (const Family& family : model_families()) {
    CAPTURE(family.name());
    const std::vector<Role> roles = weight_roles(family.weights());
    for (std::size_t i = 0; i < roles.size(); ++i) {
      CAPTURE(family.weights()[i].weight.path);
      CHECK(role_title(roles[i]) == role_title(kRoles.at(family.roles()[i])));
    }
  }
}

TEST_CASE("every preset gives each family a policy that resolves and does what it says") {
  for (const Family& family : model_families())
    for (const Preset& preset : presets()) {
      CAPTURE(family.name());
      CAPTURE(preset.name);
      const Facts& weights = family.weights();
      const std::string text = text_for(weights, preset);
      check_lines(text);
      check_declarations(text, weights);
      check_is_content(text, weights);
      const auto formats = formats_under(text, weights);
      CHECK(parsed(text).entries().size() < 30);
      for (std::size_t i = 0; i < weights.size(); ++i) {
        const Weight& weight = weights[i].weight;
        CAPTURE(weight.path);
        const Role role = kRoles.at(family.roles()[i]);
        const std::string& format = formats.at(weight.path);
        const bool table = role == Role::embedding || role == Role::head;
        const std::string_view wanted = table ? preset.tables : preset.matrices;
        if (!is_large(role) || builtin_registry().for_dtype(weight.dtype) == nullptr)
          CHECK(format == "keep");
        else if (weight.dtype == DType::f8_e4m3 && wanted == "q8_0")
          CHECK(format == "keep");  // which would take more bits than it has
        else if (weight.shape.columns() % 32 == 0 || wanted == "f16")
          CHECK(format == wanted);
        else
          CHECK((format == "keep" || format == "f16" || format == "bf16"));
      }
    }
}

TEST_CASE("the text does not depend on the order of the tensors' data, and is always the same") {
  const Family family = model_families().front();
  CHECK(text_for(family.weights(), "q4_0") == text_for(family.weights(), "q4_0"));
  Facts reversed(family.weights().rbegin(), family.weights().rend());
  CHECK(text_for(reversed, "q4_0") == text_for(family.weights(), "q4_0"));
}

TEST_CASE("layers become a star where that is exact, and are counted where it is not") {
  const Family family = model_families().front();
  CHECK(text_for(family.weights(), "q4_0")
            .find("\"model.layers.*.mlp.{down,gate,up}_proj.weight\"") != std::string::npos);
  // A matrix that stands where the star would match.
  Facts weights;
  for (const char* name : {"l.0.w", "l.1.w", "l.2.w"}) weights.push_back(facts(name, {64, 64}));
  weights.push_back(facts("l.norm.w", {64}));
  CHECK(text_for(weights, "q4_0").find("[[policies.\"l.{0..2}.w\".schemes]]") != std::string::npos);
  // One layer that no codec decodes.
  weights = {facts("l.0.w", {64, 64}), facts("l.1.w", {64, 64}, DType::f8_e8m0),
             facts("l.2.w", {64, 64})};
  CHECK(text_for(weights, "q4_0").find("[[policies.\"l.{0,2}.w\".schemes]]") != std::string::npos);
  CHECK(formats_under(text_for(weights, "q4_0"), weights).at("l.1.w") == "keep");
}

TEST_CASE("rows that do not fit fall back, and are counted") {
  Facts weights{facts("l.0.w", {64, 64}), facts("l.1.w", {64, 48}), facts("l.2.w", {64, 50}),
                facts("n", {64})};
  const std::string text = text_for(weights, "q4_0");
  CHECK(text.find("For 2 weights with rows of 48 and 50, which q4_0 cannot hold.\n"
                  "fallback = \"bf16\"\n") != std::string::npos);
  CHECK(formats_under(text, weights).at("l.1.w") == "bf16");

  // None fits: they stay. Headers do not tell whether wider ones would fit 16 bits.
  weights = {facts("l.0.w", {64, 48}), facts("m", {64, 64})};
  CHECK(formats_under(text_for(weights, "q8_0"), weights).at("l.0.w") == "keep");
  weights = {facts("l.0.w", {64, 48}, DType::f32), facts("n", {64})};
  CHECK(formats_under(text_for(weights, "q8_0"), weights).at("l.0.w") == "keep");

  // Sources of several kinds under one pattern.
  weights = {facts("l.0.w", {64, 48}, DType::f16), facts("l.1.w", {64, 48}, DType::bf16),
             facts("l.2.w", {64, 64}), facts("n", {64})};
  CHECK(text_for(weights, "q8_0").find("fallback = \"keep\"") != std::string::npos);
  formats_under(text_for(weights, "q8_0"), weights);

  // Whole rows that are longer than the codec takes, and rows that it would make longer.
  weights = {facts("a", {2, (1u << 24) + 1}), facts("b", {64, 64}), facts("c", {640, 8}),
             facts("n", {64})};
  const auto formats = formats_under(text_for(weights, "ternary"), weights);
  CHECK(formats.at("a") == "bf16");
  CHECK(formats.at("b") == "ternary");
  CHECK(formats.at("c") == "keep");
}

TEST_CASE("the root says what most weights get where nothing else is left for it") {
  const Facts weights{facts("a.0.w", {64, 64}), facts("a.1.w", {64, 48})};
  const std::string text = text_for(weights, "q4_0");
  const Policy policy = parsed(text);
  CHECK(policy.entries().size() == 1);
  const auto formats = formats_under(text, weights);
  CHECK(formats.at("a.0.w") == "q4_0");
  CHECK(formats.at("a.1.w") == "bf16");
}

TEST_CASE("checkpoints with next to nothing in them") {
  for (const Preset& preset : presets()) {
    formats_under(text_for({}, preset), {});
    for (const Facts& weights :
         {Facts{facts("ids", {4}, DType::i64)}, Facts{facts("s", {}, DType::f32)},
          Facts{facts("e", {0, 64})}, Facts{facts("w", {64, 64}, DType::f8_e5m2)},
          Facts{facts("w", {64, 64}, DType::c64)}, Facts{facts("", {64, 64})},
          Facts{facts("", {64, 64}), facts(".", {64}), facts("..", {64, 64})}}) {
      const std::string text = text_for(weights, preset);
      check_lines(text);
      check_is_content(text, weights);
      formats_under(text, weights);
    }
  }
}

TEST_CASE("8-bit floats stay where a format would make them no smaller") {
  const Facts weights{facts("model.layers.0.mlp.up_proj.weight", {64, 64}, DType::f8_e4m3),
                      facts("model.layers.1.mlp.up_proj.weight", {64, 64}, DType::f8_e4m3),
                      facts("model.embed_tokens.weight", {64, 64}, DType::f8_e4m3),
                      facts("model.norm.weight", {64})};
  const std::string kept = text_for(weights, "q8_0");
  CHECK(formats_under(kept, weights).at("model.layers.0.mlp.up_proj.weight") == "keep");
  CHECK(kept.find("Eight bits already: q8_0 would take") != std::string::npos);
  const std::string smaller = text_for(weights, "q4_0");
  const auto formats = formats_under(smaller, weights);
  CHECK(formats.at("model.layers.0.mlp.up_proj.weight") == "q4_0");
  CHECK(formats.at("model.embed_tokens.weight") == "keep");
  const std::string larger = text_for(weights, "f16");
  CHECK(formats_under(larger, weights).at("model.layers.0.mlp.up_proj.weight") == "f16");
  CHECK(larger.find("get twice as large") != std::string::npos);
}

TEST_CASE("f64 is declared, and its rounding said") {
  const Facts weights{facts("w", {64, 64}, DType::f64), facts("n", {64}, DType::f64)};
  const std::string text = text_for(weights, "f16");
  CHECK(text.find("formats = [\"f64\"]") != std::string::npos);
  CHECK(text.find("f64 is read as f32, which rounds.") != std::string::npos);
  CHECK(text.find("f16 ends at 65504.") != std::string::npos);
  formats_under(text, weights);
}

TEST_CASE("what a text proposes in comments works") {
  for (const Family& family : model_families()) {
    const std::string heading = "# To treat some layers differently";
    for (const Preset& preset : presets()) {
      CAPTURE(family.name());
      CAPTURE(preset.name);
      const std::string text = text_for(family.weights(), preset);
      if (text.find(heading) == std::string::npos) continue;
      check_is_content(uncommented(text, heading), family.weights());
    }
  }
  const Family llama = model_families().front();
  const auto formats = formats_under(
      uncommented(text_for(llama.weights(), "q4_0"), "# To treat some layers"), llama.weights());
  CHECK(formats.at("model.layers.0.mlp.up_proj.weight") == "q8_0");
  CHECK(formats.at("model.layers.1.mlp.up_proj.weight") == "q4_0");
  CHECK(formats.at("model.layers.3.mlp.up_proj.weight") == "q8_0");
}

TEST_CASE("orientation is proposed where names and shapes suggest it, and never declared") {
  const std::string heading = "# Orientation.";
  for (const Family& family : model_families()) {
    const std::string text = text_for(family.weights(), "q8_0");
    CAPTURE(family.name());
    CHECK((text.find(heading) != std::string::npos) == (family.name() == "gpt2"));
    if (family.name() != "gpt2") continue;
    const Policy declared = parsed(uncommented(text, heading));
    const std::vector<WeightResolution> resolutions = declared.resolve(family.weights());
    for (std::size_t i = 0; i < resolutions.size(); ++i) {
      const std::string& path = family.weights()[i].weight.path;
      const bool conv1d = path.find(".c_") != std::string::npos && path.find("weight") != path.npos;
      CHECK((resolutions[i].form.orientation == Orientation::in_out) == conv1d);
    }
  }
}

TEST_CASE("weights above and below each other in the tree of names") {
  const Facts weights{facts("a", {64, 64}),
                      facts("a.b", {64}),
                      facts("a.b.c", {64, 64}),
                      facts("x.0", {64, 64}),
                      facts("x.0.absmax", {}, DType::f32),
                      facts("x.1", {64, 64}),
                      facts("x.1.absmax", {}, DType::f32),
                      facts("x.1.ids", {}, DType::i64)};
  const auto formats = formats_under(text_for(weights, "q4_0"), weights);
  CHECK(formats.at("a") == "q4_0");
  CHECK(formats.at("a.b") == "keep");
  CHECK(formats.at("a.b.c") == "q4_0");
  CHECK(formats.at("x.1") == "q4_0");
  CHECK(formats.at("x.1.absmax") == "keep");

  // A chain deeper than policies may be: all are left to the root.
  Facts chain;
  std::string path;
  for (int i = 0; i < 300; ++i) {
    path += i == 0 ? "a" : ".a";
    chain.push_back(i % 2 == 0 ? facts(path, {64, 64}) : facts(path, {64}));
  }
  const std::string text = text_for(chain, "q4_0");
  CHECK(text.find("Not converted: 150 weights") != std::string::npos);
  formats_under(text, chain);
}

TEST_CASE("names without anything in common") {
  std::mt19937_64 random(3);
  Facts weights;
  for (int i = 0; i < 20000; ++i) {
    std::string name = "t";
    for (std::uint64_t bits = random(); bits != 0; bits >>= 4)
      name += static_cast<char>('a' + (bits & 15u));
    weights.push_back(facts(name + std::to_string(i), {64, 64}));
  }
  // Only matrices: the root takes them.
  CHECK(parsed(text_for(weights, "q8_0")).entries().size() == 1);
  for (int i = 0; i < 100; ++i) weights[static_cast<std::size_t>(i)].weight.shape = Shape{64};
  const std::string few = text_for(weights, "q8_0");
  CHECK(parsed(few).entries().size() == 101);
  formats_under(few, weights);
  // Too many of each: the largest are named, the rest is kept and counted.
  for (int i = 0; i < 10000; ++i) weights[static_cast<std::size_t>(i)].weight.shape = Shape{64};
  const std::string many = text_for(weights, "q8_0");
  CHECK(parsed(many).entries().size() == 201);
  CHECK(many.find("Not converted: 9,800 weights") != std::string::npos);
  CHECK(many.size() < 64 * 1024);
  formats_under(many, weights);
}

TEST_CASE("a large checkpoint stays readable") {
  Family family("large", DType::bf16);
  family.layers(0, 99).experts(200);
  for (const char* name : {"w1", "w2", "w3"})
    family.add(std::string("layers.#.experts.#.") + name + ".weight", {64, 64}, "expert");
  family.add("layers.#.norm.weight", {64}, "norm");
  REQUIRE(family.weights().size() == 60100);
  const std::string text = text_for(family.weights(), "q4_0");
  CHECK(text.size() < 4096);
  CHECK(parsed(text).entries().size() == 2);
}

TEST_CASE("hostile names stay inside quotes and comments") {
  const std::vector<std::string> names{"a\"b",
                                       "a'b",
                                       "a\"'b",
                                       "a\nb = 1",
                                       "a\r\nb",
                                       "tab\there",
                                       "nul\0byte",
                                       "\x1b[2J",
                                       "a\\b",
                                       "a\\",
                                       "*",
                                       "**",
                                       "a.*.b",
                                       "{a,b}",
                                       "{0..3}",
                                       "}",
                                       "#",
                                       "# x",
                                       "]]",
                                       "a..b",
                                       ".",
                                       ".x",
                                       "x.",
                                       "\xC3\xA9t\xC3\xA9",
                                       "\xE2\x80\xAE rtl",
                                       "\xF0\x9F\x98\x80",
                                       "\x01",
                                       "\x7F",
                                       " ",
                                       "  a ",
                                       "a,b",
                                       std::string(9000, 'x'),
                                       std::string(3000, '.'),
                                       std::string("nul\0byte", 8),
                                       std::string(1500, '\x02')};
  std::set<std::string> unique(names.begin(), names.end());
  for (const Preset& preset : presets()) {
    Facts mixed;
    for (const std::string& name : unique) {
      const bool matrix = mixed.size() % 3 != 0;
      mixed.push_back(matrix ? facts(name, {64, 64}) : facts(name, {64}));
      const std::string text = text_for({mixed.back()}, preset);
      check_lines(text);
      const auto formats = formats_under(text, {mixed.back()});
      if (matrix) CHECK(formats.at(name) != "keep");
    }
    const std::string text = text_for(mixed, preset);
    check_lines(text);
    formats_under(text, mixed);
  }
}

TEST_CASE("any tree of names and shapes gives a policy that resolves") {
  std::mt19937 random(11);
  const std::vector<std::string> words{"0",    "1",     "2",      "3",    "07",   "10",  "w",
                                       "norm", "embed", "weight", "bias", "attn", "mlp", "head",
                                       "",     "*",     "{x}",    "a b",  "\"",   "\\",  "experts",
                                       "\n",   "gate",  "scale",  "conv", "#"};
  const std::vector<std::vector<std::uint64_t>> shapes{
      {},        {1},      {64},         {0, 64}, {64, 64},     {64, 48},  {2000, 32},
      {1, 1, 8}, {8, 256}, {64, 64, 64}, {7, 3},  {8, 4, 3, 3}, {5000, 64}};
  const auto pick = [&](const auto& list) { return list[random() % list.size()]; };
  for (int round = 0; round < 400; ++round) {
    std::set<std::string> unique;
    const std::size_t vocabulary = 2 + random() % (words.size() - 2);
    const std::size_t depth = 1 + random() % 4;
    const std::size_t count = 1 + random() % 60;
    for (std::size_t i = 0; i < count; ++i) {
      std::string path = words[random() % vocabulary];
      for (std::size_t d = random() % depth; d > 0; --d) path += "." + words[random() % vocabulary];
      unique.insert(path);
    }
    Facts weights;
    const bool one_dtype = random() % 2 == 0;
    const std::size_t kinds = 1 + random() % shapes.size();
    for (const std::string& path : unique) {
      const auto dtypes = all_dtypes();
      DType dtype = one_dtype ? DType::bf16 : dtypes[random() % dtypes.size()];
      if (dtype_bits(dtype) < 8) dtype = DType::f32;
      weights.push_back(facts(path, shapes[random() % kinds], dtype));
      // Some in packed blocks, as a GGUF checkpoint has them.
      const Shape& shape = weights.back().weight.shape;
      if (random() % 4 != 0 || shape.columns() % 32 != 0) continue;
      const bool decodes = random() % 2 == 0;
      weights.back() = {{path, shape, DType::f32}, decodes ? "q8_0:q8_0" : "gguf:iq2_xxs"};
    }
    const std::string text = text_for(weights, pick(presets()));
    check_lines(text);
    check_declarations(text, weights);
    check_is_content(text, weights);
    formats_under(text, weights);
  }
}

TEST_CASE("what is packed already is kept, whatever the preset") {
  Facts weights;
  for (int i = 0; i < 4; ++i) {
    const std::string layer = "blk." + std::to_string(i);
    weights.push_back({{layer + ".ffn_up.weight", Shape{256, 256}, DType::f32},
                       i % 2 == 0 ? "q8_0:q8_0" : "q4_0:q4_0",
                       std::uint64_t{256 * 256 / 32} * (i % 2 == 0 ? 34 : 18)});
    weights.push_back(facts(layer + ".ffn_down.weight", {256, 256}, DType::f16));
    weights.push_back(
        {{layer + ".attn_q.weight", Shape{256, 256}, DType::f32}, "gguf:iq2_xxs", 16896});
  }
  for (const Preset& preset : presets()) {
    CAPTURE(std::string(preset.name));
    const std::string text = text_for(weights, preset);
    const auto formats = formats_under(text, weights);
    CHECK(formats.at("blk.0.ffn_up.weight") == "keep");
    CHECK(formats.at("blk.1.ffn_up.weight") == "keep");
    CHECK(formats.at("blk.0.ffn_down.weight") == preset.matrices);
    CHECK(formats.at("blk.0.attn_q.weight") == "keep");
    CHECK(text.find("Packed already") != text.npos);
    CHECK(text.find("No codec here decodes") != text.npos);
    CHECK(text.find("formats = [\"q8_0") == text.npos);
  }
}

}  // namespace synps::cli
