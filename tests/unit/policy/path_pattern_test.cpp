#include "synps/path_pattern.h"

#include <doctest/doctest.h>

#include <string>
#include <string_view>
#include <thread>
#include <utility>
#include <vector>

#include "synps/error.h"

using synps::Error;
using synps::ErrorCode;
using synps::Inclusion;
using synps::PathPattern;
using synps::Problem;

namespace {

bool covers(std::string_view pattern, std::string_view path) {
  return PathPattern::parse(pattern).covers(path);
}

Inclusion compare(std::string_view a, std::string_view b) {
  return PathPattern::parse(a).compare(PathPattern::parse(b));
}

Problem problem_of(std::string_view pattern) {
  try {
    PathPattern::parse(pattern);
  } catch (const Error& error) {
    REQUIRE(error.problems().size() == 1);
    return error.problems().front();
  }
  FAIL("accepted: " << std::string(pattern));
  return {};
}

std::string narrower(const std::vector<std::string>& texts, std::string_view path) {
  std::vector<PathPattern> patterns;
  for (const std::string& text : texts) patterns.push_back(PathPattern::parse(text));
  std::vector<const PathPattern*> contenders;
  for (const PathPattern& pattern : patterns) contenders.push_back(&pattern);
  const std::string forward = PathPattern::narrower_than_all(contenders, path);
  const std::vector<const PathPattern*> reversed(contenders.rbegin(), contenders.rend());
  CHECK(PathPattern::narrower_than_all(reversed, path) == forward);
  return forward;
}

std::string repeat(std::string_view part, std::size_t count) {
  std::string out;
  for (std::size_t i = 0; i < count; ++i) out += part;
  return out;
}

}  // namespace

TEST_CASE("a literal pattern covers its path and everything below") {
  const PathPattern pattern = PathPattern::parse("model.layers.0");
  CHECK(pattern.text() == "model.layers.0");
  CHECK(pattern.covers("model.layers.0"));
  CHECK(pattern.covers("model.layers.0.mlp.weight"));
  CHECK(pattern.covers("model.layers.0."));
  CHECK_FALSE(pattern.covers("model.layers"));
  CHECK_FALSE(pattern.covers("model.layers.01"));
  CHECK_FALSE(pattern.covers("model.layers.1"));
  CHECK_FALSE(pattern.covers(""));
}

TEST_CASE("a star segment is exactly one segment, which may be empty") {
  CHECK(covers("a.*.w", "a.b.w"));
  CHECK(covers("a.*.w", "a..w"));
  CHECK_FALSE(covers("a.*.w", "a.w"));
  CHECK_FALSE(covers("a.*.w", "a.b.c.w"));
  CHECK(covers("*", ""));
  CHECK(covers("*", "any.path"));
}

TEST_CASE("a double star is any number of segments, none included") {
  CHECK(covers("**.w", "w"));
  CHECK(covers("**.w", "a.w"));
  CHECK(covers("**.w", "a.b..w"));
  CHECK(covers("**.w", "a.w.below"));
  CHECK_FALSE(covers("**.w", "a.ww"));
  CHECK_FALSE(covers("**.w", ""));
  CHECK(covers("a.**.w", "a.w"));
  CHECK(covers("a.**.w", "a.x.y.w"));
  CHECK(covers("a.**", "a"));
  CHECK(covers("**", ""));
  CHECK(covers("**", "a.b"));
  CHECK(covers("**.**.a.**.**", "a"));
}

TEST_CASE("globs inside a segment") {
  CHECK(covers("layer*", "layer"));
  CHECK(covers("layer*", "layer12.w"));
  CHECK_FALSE(covers("layer*", "laye"));
  CHECK(covers("*_proj", "q_proj"));
  CHECK(covers("*_proj", "_proj"));
  CHECK_FALSE(covers("*_proj", "q.x_proj"));
  CHECK(covers("a*b*c", "aXbYbZc"));
  CHECK_FALSE(covers("a*b*c", "aXcYb"));
  CHECK(covers("h?.w", "h1.w"));
  CHECK_FALSE(covers("h?.w", "h.w"));
  CHECK_FALSE(covers("h?.w", "h12.w"));
  CHECK_FALSE(covers("h?w", "h.w"));
}

TEST_CASE("a question mark is one code point, however many bytes it has") {
  CHECK(covers("?", "é"));
  CHECK(covers("?", "漢"));
  CHECK(covers("?", "🧠"));
  CHECK_FALSE(covers("?", "e\xCC\x81"));  // e and a combining accent are two
  CHECK(covers("漢*", "漢字"));
  CHECK(covers("{é,漢}", "漢"));
  CHECK_FALSE(covers("{é,漢}", "è"));
}

TEST_CASE("bytes that are no UTF-8 count one by one") {
  CHECK(covers("?", "\xFF"));
  CHECK(covers("??", "\xE6\xBC"));            // a sequence cut short
  CHECK(covers("??", "\xC0\x80"));            // an overlong form
  CHECK(covers("???", "\xED\xA0\x80"));       // a surrogate
  CHECK(covers("????", "\xF4\x90\x80\x80"));  // past U+10FFFF
  CHECK_FALSE(covers("\xFE", "\xFF"));
  CHECK(covers("a\xFF*", "a\xFF\xFE"));
}

TEST_CASE("what a pattern begins with is read like the rest of it") {
  CHECK(covers("aé*", "aé"));
  CHECK_FALSE(covers("aé*", "a\xC3"));
  CHECK_FALSE(covers("a\xC3*", "aé"));  // é is one code point, not the byte it starts with
  CHECK_FALSE(covers("model.*", "model"));
  CHECK(covers("model.**.*", "model.w"));
  CHECK_FALSE(covers("model.**.*", "model"));
  CHECK(covers("model.**.{a,b}", "model.a"));
  CHECK(covers("a.{b,}", "a."));
  CHECK_FALSE(covers("a.{b,}", "a"));
}

TEST_CASE("braces choose") {
  CHECK(covers("{up,down}_proj", "up_proj"));
  CHECK(covers("{up,down}_proj", "down_proj.weight"));
  CHECK_FALSE(covers("{up,down}_proj", "updown_proj"));
  CHECK(covers("w{,_scale}", "w"));
  CHECK(covers("w{,_scale}", "w_scale"));
  CHECK(covers("{a*,?b}", "abc"));
  CHECK(covers("{a*,?b}", "xb"));
  CHECK_FALSE(covers("{a*,?b}", "xbc"));
  CHECK(covers("{a,b{c,d{e,f}}}g", "bdfg"));
  CHECK_FALSE(covers("{a,b{c,d{e,f}}}g", "bdg"));
  CHECK(covers("{only}", "only"));
  CHECK(covers("{,}", ""));
  CHECK(covers("{,}.a", ".a"));
  CHECK(covers("a,b", "a,b"));  // a comma means nothing outside braces
  CHECK(covers("*{*,a}", "xyz"));
}

TEST_CASE("braces count, both ends included") {
  const PathPattern pattern = PathPattern::parse("layers.{9..11}");
  CHECK_FALSE(pattern.covers("layers.8"));
  CHECK(pattern.covers("layers.9"));
  CHECK(pattern.covers("layers.10"));
  CHECK(pattern.covers("layers.11.w"));
  CHECK_FALSE(pattern.covers("layers.12"));
  CHECK_FALSE(pattern.covers("layers.09"));
  CHECK_FALSE(pattern.covers("layers.1"));
  CHECK_FALSE(pattern.covers("layers.110"));
  CHECK(covers("{5..5}", "5"));
  CHECK(covers("h{{0..2},x}", "h1"));
  CHECK(covers("h{{0..2},x}", "hx"));
  CHECK_FALSE(covers("h{{0..2},x}", "h3"));
  CHECK(covers("{0..999999}", "999999"));
  CHECK(covers("{999999999999999998..999999999999999999}", "999999999999999999"));
}

TEST_CASE("leading zeros pad every number of a range") {
  const PathPattern pattern = PathPattern::parse("{00..12}");
  CHECK(pattern.covers("00"));
  CHECK(pattern.covers("07"));
  CHECK(pattern.covers("12"));
  CHECK_FALSE(pattern.covers("7"));
  CHECK_FALSE(pattern.covers("13"));
  CHECK_FALSE(pattern.covers("012"));
}

TEST_CASE("a range covers its numbers and no other text of digits") {
  const std::vector<std::pair<unsigned, unsigned>> ranges = {
      {0, 0},   {0, 9},    {0, 10},   {1, 9},     {3, 7},     {9, 10},    {10, 19},
      {8, 123}, {99, 100}, {95, 995}, {100, 199}, {101, 198}, {190, 210}, {0, 1099}};
  for (const auto& [first, last] : ranges) {
    const std::string text = "{" + std::to_string(first) + ".." + std::to_string(last) + "}";
    CAPTURE(text);
    const PathPattern pattern = PathPattern::parse(text);
    for (unsigned number = 0; number <= 1200; ++number) {
      CAPTURE(number);
      CHECK(pattern.covers(std::to_string(number)) == (first <= number && number <= last));
      CHECK_FALSE(pattern.covers("0" + std::to_string(number)));
    }
    CHECK_FALSE(pattern.covers(""));
  }
}

TEST_CASE("a backslash takes a character's meaning away") {
  CHECK(covers("a\\*", "a*"));
  CHECK_FALSE(covers("a\\*", "ab"));
  CHECK(covers("\\?\\{x\\}\\\\", "?{x}\\"));
  CHECK(covers("{a\\,b,c}", "a,b"));
  CHECK_FALSE(covers("{a\\,b,c}", "a"));
  CHECK(covers("{a\\},c}", "a}"));
  CHECK(covers("\\a", "a"));
  CHECK(covers("\\é", "é"));
  CHECK(covers("*\\*", "x*"));
}

TEST_CASE("empty segments are segments") {
  CHECK(covers("a..b", "a..b"));
  CHECK_FALSE(covers("a..b", "a.b"));
  CHECK(covers(".", "."));
  CHECK(covers(".", "..x"));
  CHECK_FALSE(covers(".", ""));
  CHECK(covers("a.", "a."));
  CHECK_FALSE(covers("a.", "a"));
}

TEST_CASE("what is no pattern is an error with a place and a way out") {
  struct Case {
    const char* pattern;
    std::uint32_t column;
    const char* what;
    const char* hint;
  };
  const std::vector<Case> cases = {
      {"", 1, "an empty pattern", "write ** to cover every path"},
      {"model.la**", 9, "`**` with something beside it in its segment", "put dots around **"},
      {"***", 1, "`**` with something beside it in its segment", "put dots around **"},
      {"a.**b", 3, "`**` with something beside it in its segment", "put dots around **"},
      {"{a,**}", 4, "`**` with something beside it in its segment", "put dots around **"},
      {"é.漢\\", 4, "a backslash at the end escapes nothing", "write \\\\ for a backslash"},
      {"a\\.b", 2, "an escaped dot", "a dot always separates segments"},
      {"{a\\.b}", 3, "an escaped dot", "a dot always separates segments"},
      {"ab}", 3, "a closing brace that nothing opened", "write \\}"},
      {"é.{a,b", 3, "a brace that is never closed", "write \\{"},
      {"{a{b}", 1, "a brace that is never closed", "write \\{"},
      {"{a,b\\}", 1, "a brace that is never closed", "write \\{"},
      {"{a.b,c}", 3, "a dot inside braces", "one policy for each path"},
      {"{0..3,9}", 3, "a dot inside braces", "{{0..3},9}"},
      {"layers.{}.w", 8, "empty braces", "write \\{\\}"},
      {"{a..c}", 1, "a range that does not count integers", "list other values"},
      {"x{0..}", 2, "a range that does not count integers", "list other values"},
      {"{-1..3}", 1, "a range that does not count integers", "list other values"},
      {"{0..9..2}", 1, "a range that does not count integers", "list other values"},
      {"a.{10..2}", 3, "a range that counts down", "write {2..10}"},
      {"{1..0}", 1, "a range that counts down", "write {0..1}"},
      {"{08..12345}", 1, "a range of zero-padded numbers of different widths",
       "write {00008..12345} for padded numbers, {8..12345} for plain ones"},
      {"{0..007}", 1, "a range of zero-padded numbers of different widths",
       "write {000..007} for padded numbers, {0..7} for plain ones"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.pattern);
    const Problem problem = problem_of(c.pattern);
    CHECK(problem.code == ErrorCode::policy);
    CHECK(problem.what == c.what);
    CHECK(problem.column == c.column);
    CHECK(problem.hint.find(c.hint) != std::string::npos);
    CHECK_FALSE(problem.found.empty());
    CHECK_FALSE(problem.want.empty());
  }
}

TEST_CASE("a pattern made to explode is refused") {
  const std::vector<std::string> patterns = {
      "{0..1000000000}",
      "{0..1000000}",
      "{0..99999999999999999999999999}",
      "{" + repeat("9", 5000) + ".." + repeat("9", 5000) + "}",
      repeat("a", 8193),
      repeat("a", 1 << 20),
      repeat("é.", 4097),
      repeat("{a,", 4000) + repeat("}", 4000),
      repeat("{", 9) + "a" + repeat("}", 9),
      repeat("{123456..876543}", 500),
  };
  for (const std::string& pattern : patterns) {
    CAPTURE(pattern.substr(0, 60));
    const Problem problem = problem_of(pattern);
    CHECK(problem.code == ErrorCode::limit);
    CHECK(problem.column >= 1);
    CHECK_FALSE(problem.want.empty());
    CHECK_FALSE(problem.hint.empty());
  }
}

TEST_CASE("patterns at the limits are accepted") {
  CHECK(covers(repeat("a", 8192), repeat("a", 8192)));
  CHECK(covers(repeat("é", 8192), repeat("é", 8192)));
  CHECK(covers("{0..999999}", "123456"));
  CHECK(covers(repeat("{", 8) + "a" + repeat("}", 8), "a"));
  const std::string many = repeat("*a", 4096);
  CHECK(covers(many, repeat("a", 4096)));
  CHECK_FALSE(covers(many, repeat("a", 4095)));
  const std::string choices = repeat("{a,b}", 1600);
  CHECK(covers(choices, repeat("ab", 800)));
  CHECK_FALSE(covers(choices, repeat("ab", 799)));
}

// The number of deterministic states of such a pattern doubles with each `?`, so these are followed
// state set by state set.
TEST_CASE("matching does not blow up with the pattern") {
  const PathPattern twelfth_from_end = PathPattern::parse("*a???????????");
  for (unsigned word = 0; word < (1u << 14); ++word) {
    std::string text(14, 'b');
    for (std::size_t i = 0; i < text.size(); ++i)
      if (((word >> i) & 1u) != 0) text[i] = 'a';
    REQUIRE(twelfth_from_end.covers(text) == (text[2] == 'a'));
  }
  CHECK(twelfth_from_end.covers("abbbbbbbbbbb.below"));
  CHECK_FALSE(twelfth_from_end.covers("abbbbbbbbbb"));
  const PathPattern stars = PathPattern::parse(repeat("*a", 60) + "*b");
  CHECK_FALSE(stars.covers(repeat("a", 5000)));
  CHECK(stars.covers(repeat("a", 5000) + "b"));
  const PathPattern depths = PathPattern::parse(repeat("**.a.", 60) + "b");
  CHECK_FALSE(depths.covers(repeat("a.", 3000)));
  CHECK(depths.covers(repeat("a.", 3000) + "b"));
}

TEST_CASE("how path sets relate") {
  struct Case {
    const char* a;
    const char* b;
    Inclusion relation;
  };
  const std::vector<Case> cases = {
      {"a", "a", Inclusion::equal},
      {"a.b", "a", Inclusion::narrower},
      {"a", "b", Inclusion::disjoint},
      {"a", "ab", Inclusion::disjoint},
      {"a", "\\a", Inclusion::equal},
      {"a", "a.**", Inclusion::equal},
      {"*", "**", Inclusion::equal},
      {"*.**.*", "*.*", Inclusion::equal},
      {"**.*.a", "*.**.a", Inclusion::equal},
      {"model.layers.*.mlp.down_proj.weight", "model.layers.*.mlp", Inclusion::narrower},
      {"model.layers.*.mlp.down_proj.weight", "**.down_proj.weight", Inclusion::narrower},
      {"model.layers.*.mlp", "**.down_proj.weight", Inclusion::overlapping},
      {"model.layers.{0..3}.mlp", "model.layers.*.mlp.down_proj", Inclusion::overlapping},
      {"model.layers.{0..3}", "model.layers.{2..5}", Inclusion::overlapping},
      {"model.layers.{0..3}", "model.layers.{4..5}", Inclusion::disjoint},
      {"model.layers.{1..2}", "model.layers.{0..3}", Inclusion::narrower},
      {"layers.{0..3}", "layers.{0,1,2,3}", Inclusion::equal},
      {"layers.{0..11}", "layers.{{0..9},10,11}", Inclusion::equal},
      {"layers.{0..9}", "layers.{00..09}", Inclusion::disjoint},
      {"{00..99}", "{{0..9}{0..9},}", Inclusion::narrower},
      {"{00..99}", "{0..9}{0..9}", Inclusion::equal},
      {"{0..9999}", "*", Inclusion::narrower},
      {"a.*.w", "*.b.w", Inclusion::overlapping},
      {"?*", "*", Inclusion::narrower},
      {"{,?*}", "*", Inclusion::equal},
      {"a*", "*a", Inclusion::overlapping},
      {"a*b", "a*", Inclusion::narrower},
      {"a?", "a??", Inclusion::disjoint},
      {"{a,b}*", "{a*,b*}", Inclusion::equal},
      {"encoder.*", "decoder.*", Inclusion::disjoint},
      {"é*", "?*", Inclusion::narrower},
      {"{é,è}", "é", Inclusion::broader},
      {"{,}", "a", Inclusion::disjoint},
      {"{,}", "?", Inclusion::disjoint},
      {"{,}", "*", Inclusion::narrower},
      // Longer texts and more segments do not make a pattern narrower.
      {"**.a.**.a", "**.a.a", Inclusion::broader},
      {"**.weight", "model.*.*.*.*", Inclusion::overlapping},
  };
  const auto mirrored = [](Inclusion relation) {
    if (relation == Inclusion::narrower) return Inclusion::broader;
    return relation == Inclusion::broader ? Inclusion::narrower : relation;
  };
  for (const Case& c : cases) {
    CAPTURE(c.a);
    CAPTURE(c.b);
    CHECK(compare(c.a, c.b) == c.relation);
    CHECK(compare(c.b, c.a) == mirrored(c.relation));
  }
}

// Of the letters i, i + n and i + 2n of a word over two letters, two are equal, so `words` lies
// within `repeats`; but to see that, a search has to remember n letters in every combination.
struct HardInclusion {
  explicit HardInclusion(std::size_t n)
      : words(repeat("{a,b}", 2 * n + 1)),
        repeats("{" + letters(n, 'a') + "," + letters(n, 'b') + "," + letters(2 * n, 'a') + "," +
                letters(2 * n, 'b') + "}") {}
  static std::string letters(std::size_t distance, char letter) {
    return std::string("*") + letter + repeat("?", distance - 1) + letter + "*";
  }
  std::string words;
  std::string repeats;
};

TEST_CASE("a comparison that takes too long ends in a limit error") {
  const HardInclusion few(4);
  CHECK(compare(few.words, few.repeats) == Inclusion::narrower);
  const HardInclusion many(30);
  try {
    compare(many.words, many.repeats);
    FAIL("compared");
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    CHECK(error.problems().front().found.find("{a,b}{a,b}") != std::string::npos);
    CHECK_FALSE(error.problems().front().want.empty());
    CHECK_FALSE(error.problems().front().hint.empty());
  }
  const PathPattern pattern = PathPattern::parse(many.repeats);
  CHECK(pattern.compare(pattern) == Inclusion::equal);
}

TEST_CASE("patterns without a table compare as well") {
  const std::string hard = "*a" + repeat("?", 24);
  CHECK(compare(hard, "*") == Inclusion::narrower);
  CHECK(compare("**", hard) == Inclusion::broader);
  CHECK(compare(hard, "**.w") == Inclusion::overlapping);
  CHECK(compare(hard, "a") == Inclusion::disjoint);
  CHECK(compare(hard, "a" + repeat("b", 24)) == Inclusion::broader);
  CHECK(compare(hard, "x." + hard) == Inclusion::disjoint);
  CHECK(compare(hard, "{" + hard + ",}") == Inclusion::narrower);
  CHECK(compare("{" + hard + "," + hard + "}", hard) == Inclusion::equal);
  CHECK(compare(hard, "*b" + repeat("?", 24)) == Inclusion::disjoint);
  CHECK(compare(hard, "*b" + repeat("?", 23)) == Inclusion::overlapping);
  CHECK(compare(hard + "*", "*a*") == Inclusion::narrower);
  CHECK(compare("**." + hard, hard + ".**") == Inclusion::broader);
}

TEST_CASE("a literal pattern covers one path and what lies below it") {
  const std::vector<std::string> paths = {
      "",         "a",   "a.b", ".",           "..",     "a..b",      "*",      "**",
      "a.**.b",   "***", "?",   "{a,b}",       "{0..3}", "{}",        "a,b",    "\\",
      "\\\\.\\*", "a\\", "}{",  "é.漢.🧠", "\xFF",   "a\xE6\xBC", "#x y\n", "model.layers.0.w"};
  for (const std::string& path : paths) {
    CAPTURE(path);
    const PathPattern pattern = PathPattern::parse(PathPattern::literal(path));
    for (const std::string& other : paths) {
      CAPTURE(other);
      const bool at_or_below = other == path || other.substr(0, path.size() + 1) == path + ".";
      CHECK(pattern.covers(other) == at_or_below);
    }
    CHECK(pattern.covers(path + ".below"));
    CHECK_FALSE(pattern.covers(path + "x"));
    CHECK(pattern.compare(PathPattern::parse("**")) == Inclusion::narrower);
  }
  CHECK(PathPattern::literal("model.layers.0.w") == "model.layers.0.w");
  CHECK(PathPattern::literal("a,b") == "a,b");
}

TEST_CASE("a deciding pattern is the intersection where it can be written") {
  struct Case {
    std::vector<std::string> contenders;
    const char* path;
    const char* answer;
  };
  const std::vector<Case> cases = {
      {{"model.layers.{0..3}.mlp", "model.layers.*.mlp.down_proj"},
       "model.layers.2.mlp.down_proj.weight",
       "model.layers.{0..3}.mlp.down_proj"},
      {{"a.*.w", "*.b.w"}, "a.b.w", "a.b.w"},
      {{"model.layers.*.mlp.**", "**.down_proj.weight"},
       "model.layers.0.mlp.down_proj.weight",
       "model.layers.*.mlp.**.down_proj.weight"},
      {{"model.layers.0", "**.weight"}, "model.layers.0.mlp.weight", "model.layers.0.**.weight"},
      {{"**.b", "a.**"}, "a.b.c.b", "a.**.b"},
      {{"**.mlp.**", "model.**.weight"}, "model.0.mlp.up.weight", "model.**.mlp.**.weight"},
      {{"layers.{0..5}", "layers.{4..9}"}, "layers.4", "layers.{4..5}"},
      {{"layers.{0..5}", "layers.{5..9}"}, "layers.5", "layers.5"},
      {{"h{00..31}", "h{16..47}"}, "h20.w", "h{16..31}"},
      {{"{up,down,gate}_proj", "{down,gate,q}*"}, "gate_proj", "{down_proj,gate_proj}"},
      {{"q*", "*_proj"}, "qkv_proj.weight", "q*_proj"},
      {{"{a*,b}x", "{*bx,a}"}, "bx", "bx"},
      {{"*a*", "*b*"}, "ab", "*a*b*"},
      {{"a?*", "*?a"}, "abca", "a?*?a"},
      {{"a?*", "*?a"}, "aba", "aba"},
      {{"a.*.*", "*.b.*", "*.*.c"}, "a.b.c.d", "a.b.c"},
      {{"a*.**", "**.*b"}, "ab", "a*b"},
      {{"a?*.x", "*?a.x"}, "aba.x.y", "aba.x"},
      {{"**.b", "b.*"}, "b.b.c", "b.b"},
      {{"{,}.*", "*.a"}, ".a", "{,}.a"},
  };
  for (const Case& c : cases) {
    CAPTURE(c.contenders.front());
    CAPTURE(c.path);
    CHECK(narrower(c.contenders, c.path) == c.answer);
  }
}

TEST_CASE("contenders with equal path sets get the path itself") {
  CHECK(narrower({"a.*", "a.{,?*}"}, "a.b.c") == "a.b.c");
  CHECK(narrower({"*", "**"}, "x.y") == "x.y");
  CHECK(narrower({"*", "**"}, "") == "{,}");
}

TEST_CASE("nothing decides where a contender is the path itself") {
  CHECK(narrower({"a.b", "a.*"}, "a.b").empty());
  CHECK(narrower({"a.b", "a.{b}"}, "a.b").empty());
  CHECK(narrower({"a.b"}, "a.b.c") == "a.b.c");
  CHECK(narrower({"{,}", "*"}, "").empty());
}

TEST_CASE("contenders that are hard to compare or to align still get an answer") {
  const HardInclusion hard(30);
  const std::string path = repeat("a", 61);
  CHECK(narrower({hard.words, hard.repeats}, path) == path);
  const std::string deep = repeat("a.", 1500);
  CHECK(narrower({repeat("*.", 1400) + "a", "**.a"}, deep) == deep);
  CHECK(narrower({"**"}, repeat("a", 9000)).empty());  // its literal is too long for a pattern
}

TEST_CASE("threads may share a pattern") {
  const PathPattern table = PathPattern::parse("model.layers.*.mlp");
  const PathPattern simulated = PathPattern::parse("*a???????????");
  std::vector<int> hits(4, 0);
  std::vector<std::thread> threads;
  for (int& hit : hits) {
    threads.emplace_back([&] {
      for (int i = 0; i < 200; ++i) {
        if (table.covers("model.layers.7.mlp.w")) ++hit;
        if (simulated.covers("bbabbbbbbbbbbb")) ++hit;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  for (const int hit : hits) CHECK(hit == 400);
}
