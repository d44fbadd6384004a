#include "path_folding.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>
#include <set>
#include <string>
#include <vector>

#include "synps/path_pattern.h"

namespace synps::cli {
namespace {

using Strings = std::vector<std::string>;

std::vector<FoldItem> items(const Strings& paths) {
  std::vector<FoldItem> out;
  for (const std::string& path : paths) out.push_back({path, ""});
  return out;
}

Strings patterns(const std::vector<FoldItem>& list, const FoldOptions& options = {}) {
  Strings out;
  for (const FoldedRow& row : fold_paths(list, options)) out.push_back(row.pattern);
  return out;
}

Strings layers(int count, const Strings& names) {
  Strings out;
  for (int i = 0; i < count; ++i)
    for (const std::string& name : names)
      out.push_back("model.layers." + std::to_string(i) + "." + name);
  return out;
}

}  // namespace

TEST_CASE("layers fold into a count") {
  CHECK(patterns(items(layers(12, {"mlp.down_proj.weight"}))) ==
        Strings{"model.layers.{0..11}.mlp.down_proj.weight"});
  CHECK(patterns(items(layers(2, {"norm"}))) == Strings{"model.layers.{0,1}.norm"});
  CHECK(patterns(items({"a.7.w"})) == Strings{"a.7.w"});
}

TEST_CASE("siblings fold, words kept whole") {
  CHECK(patterns(items(layers(6, {"mlp.gate_proj.weight", "mlp.up_proj.weight"}))) ==
        Strings{"model.layers.{0..5}.mlp.{gate,up}_proj.weight"});
  CHECK(patterns(items({"a.query.w", "a.key.w", "a.value.w"})) == Strings{"a.{key,query,value}.w"});
  CHECK(patterns(items({"n.input_layernorm", "n.post_attention_layernorm"})) ==
        Strings{"n.{input,post_attention}_layernorm"});
  CHECK(patterns(items({"a.bias", "a.bins"})) == Strings{"a.{bias,bins}"});
  CHECK(patterns(items({"x.conv1.w", "x.conv2.w", "x.conv3.w"})) == Strings{"x.conv{1..3}.w"});
  CHECK(patterns(items({"x.w", "x.w_w"})) == Strings{"x.{w,w_w}"});
}

TEST_CASE("what a row shows must agree") {
  std::vector<FoldItem> list = items(layers(6, {"w"}));
  list[3].key = "another codec";
  CHECK(patterns(list) ==
        Strings{"model.layers.{0..2}.w", "model.layers.3.w", "model.layers.{4,5}.w"});
}

TEST_CASE("gaps: runs are counted, the rest is listed") {
  CHECK(patterns(items({"a.0", "a.1", "a.2", "a.3", "a.9", "a.20", "a.21", "a.30", "a.31",
                        "a.32"})) == Strings{"a.{0..3}", "a.{9,20,21}", "a.{30..32}"});
  // A number with leading zeros is a name.
  CHECK(patterns(items({"a.00", "a.01", "a.2"})) == Strings{"a.{00,01}", "a.2"});
}

TEST_CASE("experts fold inside layers") {
  Strings paths;
  for (int layer = 0; layer < 4; ++layer)
    for (int expert = 0; expert < 8; ++expert)
      paths.push_back("layers." + std::to_string(layer) + ".experts." + std::to_string(expert) +
                      ".w1");
  CHECK(patterns(items(paths)) == Strings{"layers.{0..3}.experts.{0..7}.w1"});
  paths.erase(std::find(paths.begin(), paths.end(), "layers.2.experts.5.w1"));
  const std::vector<FoldedRow> rows = fold_paths(items(paths));
  std::size_t members = 0;
  for (const FoldedRow& row : rows) members += row.members.size();
  CHECK(members == paths.size());
}

TEST_CASE("siblings stay apart where the pattern would be too wide or have too many choices") {
  FoldOptions narrow;
  narrow.max_width = 10;
  CHECK(patterns(items({"abcdef.gh", "abcdef.ij"}), narrow).size() == 2);
  Strings many;
  for (char c = 'a'; c < 'j'; ++c) many.push_back(std::string("x.") + c);
  CHECK(patterns(items(many)) == many);
}

TEST_CASE("folding can be left out") {
  FoldOptions none;
  none.numbers = false;
  none.names = false;
  CHECK(patterns(items({"a.10.w", "a.9.w"}), none) == Strings{"a.9.w", "a.10.w"});
  none.numbers = true;
  CHECK(patterns(items({"a.0.v", "a.0.w", "a.1.v", "a.1.w"}), none) ==
        Strings{"a.{0,1}.v", "a.{0,1}.w"});
}

TEST_CASE("odd names are escaped, and deep ones left alone") {
  CHECK(patterns(items({"a*b.{c}"})) == Strings{"a\\*b.\\{c\\}"});
  CHECK(patterns(items({"x..a", "x..b"})) == Strings{"x..{a,b}"});
  CHECK(patterns(items({"x.a.", "x.b."})) == Strings{"x.{a,b}."});
  CHECK(patterns(items({"x.", "x.b"})) == Strings{"x.", "x.b"});
  const std::string deep(4000, '.');
  CHECK(patterns(items({deep})) == Strings{deep});
  CHECK(patterns({}).empty());
}

TEST_CASE("natural order counts digits as numbers") {
  CHECK(natural_less("layers.2.w", "layers.10.w"));
  CHECK_FALSE(natural_less("layers.10.w", "layers.2.w"));
  CHECK(natural_less("a", "a1"));
  CHECK(natural_less("a1", "ab"));
  CHECK_FALSE(natural_less("a1", "a1"));
  CHECK(natural_less("a01", "a1") != natural_less("a1", "a01"));
  CHECK(natural_less("18446744073709551616", "18446744073709551617"));
}

// Patterns of rows must cover their members and nothing else that is there, and rows must divide
// the weights: for any names.
TEST_CASE("rows are patterns that policies accept, for exactly their members") {
  std::mt19937 random(7);
  const Strings words{"0",       "1",   "2",   "3",  "7",   "10",  "w",  "gate_proj",
                      "up_proj", "a_1", "a_2", "b*", "{x}", "a,b", "\\", "?"};
  const auto pick = [&] { return words[random() % words.size()]; };
  for (int round = 0; round < 200; ++round) {
    std::set<std::string> unique;
    const std::size_t depth = 1 + random() % 3;
    for (int i = 0; i < 25; ++i) {
      std::string path = pick();
      for (std::size_t d = 1; d < depth; ++d) path += "." + pick();
      unique.insert(path);
    }
    std::vector<FoldItem> list;
    for (const std::string& path : unique) list.push_back({path, random() % 4 == 0 ? "b" : "a"});
    std::vector<int> seen(list.size(), 0);
    for (const FoldedRow& row : fold_paths(list)) {
      CAPTURE(row.pattern);
      const PathPattern pattern = PathPattern::parse(row.pattern);
      std::vector<bool> member(list.size(), false);
      for (const std::size_t i : row.members) {
        member[i] = true;
        ++seen[i];
        CHECK(list[i].key == list[row.members.front()].key);
      }
      for (std::size_t i = 0; i < list.size(); ++i) {
        CAPTURE(list[i].path);
        CHECK(pattern.covers(list[i].path) == member[i]);
      }
    }
    CHECK(std::all_of(seen.begin(), seen.end(), [](int count) { return count == 1; }));
  }
}

}  // namespace synps::cli
