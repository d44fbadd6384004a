#include <doctest/doctest.h>
#include <limits>
#include <set>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include "pattern_compare.h"
#include "pattern_match.h"
#include "pattern_oracle.h"
#include "pattern_paths.h"
#include "synps/path_pattern.h"

using synps::Inclusion;
using synps::PathPattern;
using synps::testing::AllPaths;
using synps::testing::NaivePattern;
using synps::testing::PathSet;

namespace {

const std::vector<std::uint32_t> kSeeds = {1, 20240229, 3735928559u};

const AllPaths& all_paths() {
  static const AllPaths paths;
  return paths;
}

struct Sample {
  explicit Sample(const std::string& text_)
      : text(text_), pattern(PathPattern::parse(text_)), naive(text_), paths(all_paths(), naive) {}
  std::string text;
  PathPattern pattern;
  NaivePattern naive;
  PathSet paths;
};

/// Random patterns; the same numbers everywhere, unlike the standard distributions.
class Generator {
 public:
  explicit Generator(std::uint32_t seed) : random_(seed) {}

  std::size_t below(std::size_t limit) { return random_() % limit; }
  bool chance(std::size_t percent) { return below(100) < percent; }
  template <typename T>
  const T& one_of(const std::vector<T>& values) {
    return values[below(values.size())];
  }

  /// Up to four segments of any kind.
  std::string any_pattern() {
    std::string out;
    const std::size_t count = 1 + below(4);
    for (std::size_t i = 0; i < count; ++i) {
      if (i > 0) out += '.';
      out += chance(25) ? std::string("**") : segment(2);
    }
    return out.empty() ? "a" : out;
  }

  /// At most two segments beside `**`, each out of kPlainSegments.
  std::string plain_pattern() {
    static const std::vector<std::string> segments = {"",     "a",      "b",       "?",     "*",
                                                      "?*",   "a*",     "*a",      "b*",    "{a,b}",
                                                      "{,a}", "{a,b}*", "{a*,*b}", "{a,?*}"};
    std::vector<std::string> parts;
    const std::size_t count = 1 + below(2);
    for (std::size_t i = 0; i < count; ++i) {
      if (chance(40)) parts.emplace_back("**");
      parts.push_back(one_of(segments));
    }
    std::string out = parts.front();
    for (std::size_t i = 1; i < parts.size(); ++i) out += "." + parts[i];
    return out.empty() ? "**" : out;
  }

 private:
  std::string segment(std::size_t depth) {
    std::string out;
    const std::size_t count = below(4);
    for (std::size_t i = 0; i < count; ++i) out += piece(depth, out);
    return out;
  }
  std::string piece(std::size_t depth, const std::string& before) {
    const std::size_t kind = below(10);
    if (kind < 3) return "a";
    if (kind < 5) return "b";
    if (kind < 6) return "?";
    if (kind < 8) return before.empty() || before.back() != '*' ? "*" : "b";
    if (depth == 0) return "a";
    std::string out = "{" + segment(depth - 1);
    const std::size_t more = 1 + below(2);
    for (std::size_t i = 0; i < more; ++i) out += "," + segment(depth - 1);
    return out + "}";
  }

  std::mt19937 random_;
};

std::vector<Sample> samples(std::size_t count, Generator& random,
                            std::string (Generator::*pattern)()) {
  std::vector<std::string> texts;
  for (std::size_t i = 0; i < count; ++i) texts.push_back((random.*pattern)());
  std::sort(texts.begin(), texts.end());
  texts.erase(std::unique(texts.begin(), texts.end()), texts.end());
  std::vector<Sample> out;
  for (const std::string& text : texts) out.emplace_back(text);
  return out;
}

struct Compiled {
  explicit Compiled(const std::string& text_)
      : text(text_),
        nfa(synps::pattern::compile(synps::pattern::parse_pattern(text_))),
        table(synps::pattern::Dfa::build(nfa)) {
    REQUIRE(table.has_value());
  }
  std::string text;
  synps::pattern::Nfa nfa;
  std::optional<synps::pattern::Dfa> table;
};

void check_covers(const Sample& sample) {
  for (std::size_t path = 0; path < all_paths().size(); ++path) {
    if (sample.pattern.covers(all_paths().text(path)) != sample.paths.has(path))
      FAIL_CHECK(sample.text << " on '" << all_paths().text(path) << "'");
  }
}

/// Checks that `deciding`, made for a path, does what it is for.
void check_decides(const std::string& deciding, const std::vector<const Sample*>& contenders,
                   const std::string& path) {
  CAPTURE(deciding);
  const Sample found(deciding);
  CHECK(found.pattern.covers(path));
  CHECK(found.naive.covers(path));
  for (const Sample* contender : contenders) {
    CAPTURE(contender->text);
    CHECK(found.pattern.compare(contender->pattern) == Inclusion::narrower);
    CHECK(found.paths.is_within(contender->paths));
  }
}

}  // namespace

TEST_CASE("covers() agrees with a naive matcher") {
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    for (const Sample& sample : samples(60, random, &Generator::any_pattern)) check_covers(sample);
    for (const Sample& sample : samples(30, random, &Generator::plain_pattern))
      check_covers(sample);
  }
}

// For these patterns the paths enumerated decide how two sets relate, so compare() must say just
// that. Let a pattern have at most two segments beside `**` ("fixed" ones).
//
// Words: what Generator::plain_pattern() asks of a word are its length up to one, its first letter
// and its last. Every word thus has an equal among the words of at most two letters, and every
// letter other than a and b one in c.
//
// Segments, common paths: take a shortest path in both sets. Each of its segments is taken by a
// fixed segment of one of the two patterns, else it could be left out; and it ends as soon as both
// have matched. That makes at most 2 + 2 segments.
//
// Segments, paths of A that are not in B: take a shortest one. It ends as soon as A has matched
// (what is not in B does not begin with a path of B), so of its segments at most two are taken by
// A's fixed segments and all others by `**`. Follow the set of B's fixed segments that may come
// next. A segment that A's `**` takes must change that set, else it could be left out. B does not
// match, so the set is within {1st, 2nd}. If B begins with `**`, the 1st stays in it: it is {1st}
// or {1st, 2nd}, and in each of A's two places for `**` one change at most is of use: one segment
// more would repeat a set. If B begins otherwise, the set goes {1st}, {2nd}, {} and never back: two
// changes at most. Either way that makes at most 2 + 2 segments.
TEST_CASE("compare() is what the enumerated paths say, where those decide") {
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    const std::vector<Sample> all = samples(150, random, &Generator::plain_pattern);
    for (const Sample& a : all) {
      for (const Sample& b : all) {
        if (a.pattern.compare(b.pattern) != a.paths.relation(b.paths))
          FAIL_CHECK(a.text << " against " << b.text);
      }
    }
  }
}

TEST_CASE("compare() never contradicts an enumerated path") {
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    const std::vector<Sample> all = samples(90, random, &Generator::any_pattern);
    for (const Sample& a : all) {
      for (const Sample& b : all) {
        const Inclusion said = a.pattern.compare(b.pattern);
        const bool a_in_b = said == Inclusion::equal || said == Inclusion::narrower;
        const bool b_in_a = said == Inclusion::equal || said == Inclusion::broader;
        const bool sound = (!a_in_b || a.paths.is_within(b.paths)) &&
                           (!b_in_a || b.paths.is_within(a.paths)) &&
                           (said != Inclusion::disjoint || !a.paths.meets(b.paths));
        if (!sound) FAIL_CHECK(a.text << " against " << b.text);
      }
    }
  }
}

TEST_CASE("compare() agrees with derivatives of the patterns") {
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    for (int round = 0; round < 250; ++round) {
      const std::string a = random.any_pattern();
      // Half the pairs are alike: one is the other with something put in.
      std::string b = random.any_pattern();
      if (random.chance(50))
        b = random.one_of<std::string>({"**." + a, a + ".*", "a." + a, a + "*"});
      if (b.find("***") != std::string::npos || b.find("**.**") != std::string::npos) continue;
      if (b.size() > a.size() && b.substr(a.size()) == "*" && a.back() == '*') continue;
      CAPTURE(a);
      CAPTURE(b);
      const Inclusion said = PathPattern::parse(a).compare(PathPattern::parse(b));
      CHECK(said == relation_by_derivatives(NaivePattern(a), NaivePattern(b), "abc"));
    }
  }
}

// compare() and covers() choose a way by the pattern's size; here both ways get every pattern.
TEST_CASE("tables and automata agree") {
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    std::vector<Compiled> all;
    for (int i = 0; i < 60; ++i) all.emplace_back(random.any_pattern());
    for (int i = 0; i < 60; ++i) all.emplace_back(random.plain_pattern());
    for (const Compiled& a : all) {
      CAPTURE(a.text);
      for (std::size_t path = random.below(50); path < all_paths().size(); path += 50) {
        const std::string& text = all_paths().text(path);
        const auto end = follow(*a.table, a.nfa.alphabet, a.table->start(), text);
        std::uint64_t enough = synps::pattern::kMaxCompareSteps;
        if (a.table->accepts(end.state) != automaton_covers(a.nfa, text, enough))
          FAIL_CHECK("on '" << text << "'");
      }
      for (const Compiled& b : all) {
        const auto symbols = joint_alphabet(a.nfa.alphabet, b.nfa.alphabet);
        std::uint64_t steps = synps::pattern::kMaxCompareSteps;
        const auto by_table = compare_tables(*a.table, *b.table, symbols, steps);
        const auto by_automaton = compare_automata(a.nfa, b.nfa, symbols, steps);
        REQUIRE((by_table && by_automaton));
        if (*by_table != *by_automaton) FAIL_CHECK("against " << b.text);
      }
    }
  }
}

TEST_CASE("narrower_than_all() gives a pattern that decides") {
  std::size_t decided = 0;
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    std::vector<Sample> all = samples(40, random, &Generator::any_pattern);
    for (const Sample& sample : samples(40, random, &Generator::plain_pattern))
      all.push_back(sample);
    for (int round = 0; round < 60; ++round) {
      const std::size_t number = random.below(all_paths().size());
      const std::string& path = all_paths().text(number);
      CAPTURE(path);
      std::vector<const Sample*> contenders;
      std::vector<const PathPattern*> patterns;
      const std::size_t wanted = 1 + random.below(3);
      for (std::size_t tries = 0; tries < 200 && contenders.size() < wanted; ++tries) {
        const Sample& sample = random.one_of(all);
        if (!sample.paths.has(number)) continue;
        contenders.push_back(&sample);
        patterns.push_back(&sample.pattern);
      }
      const std::string deciding = PathPattern::narrower_than_all(patterns, path);
      if (!deciding.empty()) {
        check_decides(deciding, contenders, path);
        ++decided;
        continue;
      }
      // Only a contender that is the path itself leaves nothing below it.
      const PathPattern itself = PathPattern::parse(PathPattern::literal(path));
      CHECK(std::any_of(patterns.begin(), patterns.end(), [&](const PathPattern* pattern) {
        return itself.compare(*pattern) == Inclusion::equal;
      }));
    }
  }
  CHECK(decided > 100);
}

TEST_CASE("find_path() finds a path between patterns, or none is there") {
  std::size_t found = 0;
  std::size_t none = 0;
  for (const std::uint32_t seed : kSeeds) {
    Generator random(seed);
    const std::vector<Sample> all = samples(60, random, &Generator::any_pattern);
    for (std::size_t round = 0; round < 400; ++round) {
      std::vector<const Sample*> inside;
      std::vector<const Sample*> outside;
      for (std::size_t i = 1 + random.below(2); i > 0; --i) inside.push_back(&random.one_of(all));
      for (std::size_t i = random.below(4); i > 0; --i) outside.push_back(&random.one_of(all));
      const auto patterns = [](const std::vector<const Sample*>& of) {
        std::vector<const PathPattern*> result;
        for (const Sample* each : of) result.push_back(&each->pattern);
        return result;
      };
      std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
      const auto path = PathPattern::find_path(patterns(inside), patterns(outside), steps);
      const auto is_between = [&](const auto& covers) {
        return std::all_of(inside.begin(), inside.end(), covers) &&
               std::none_of(outside.begin(), outside.end(), covers);
      };
      if (path) {
        ++found;
        CAPTURE(*path);
        CHECK(is_between([&](const Sample* each) { return each->naive.covers(*path); }));
        continue;
      }
      ++none;
      for (std::size_t i = 0; i < all_paths().size(); ++i)
        REQUIRE_FALSE(is_between([&](const Sample* each) { return each->paths.has(i); }));
    }
  }
  CHECK(found > 100);
  CHECK(none > 100);
}

TEST_CASE("find_path() and compare() tell the same") {
  for (const std::uint32_t seed : kSeeds) {
    Generator random(seed);
    const std::vector<Sample> all = samples(25, random, &Generator::any_pattern);
    for (const Sample& a : all)
      for (const Sample& b : all) {
        CAPTURE(a.text);
        CAPTURE(b.text);
        std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
        const auto exists = [&](const Sample* one, const Sample* other, bool within) {
          std::vector<const PathPattern*> inside = {&one->pattern};
          std::vector<const PathPattern*> outside;
          (within ? inside : outside).push_back(&other->pattern);
          return PathPattern::find_path(inside, outside, steps).has_value();
        };
        const bool both = exists(&a, &b, true);
        const bool only_a = exists(&a, &b, false);
        const bool only_b = exists(&b, &a, false);
        const Inclusion expected = !both              ? Inclusion::disjoint
                                   : only_a && only_b ? Inclusion::overlapping
                                   : only_a           ? Inclusion::broader
                                   : only_b           ? Inclusion::narrower
                                                      : Inclusion::equal;
        CHECK(a.pattern.compare(b.pattern) == expected);
      }
  }
}

TEST_CASE("wildcard_key() tells covered paths, and no two paths of one key apart by wildcards") {
  for (const std::uint32_t seed : kSeeds) {
    Generator random(seed);
    for (const Sample& sample : samples(40, random, &Generator::any_pattern)) {
      CAPTURE(sample.text);
      std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
      for (std::size_t i = 0; i < all_paths().size(); ++i) {
        const bool has_key = !sample.pattern.wildcard_key(all_paths().text(i), steps).empty();
        if (has_key != sample.paths.has(i))
          FAIL_CHECK(sample.text << " on '" << all_paths().text(i) << "'");
      }
      // Without braces nothing is left open: keys of different paths differ.
      if (sample.text.find('{') != std::string::npos) continue;
      std::set<std::u32string> keys;
      for (std::size_t i = 0; i < all_paths().size(); ++i)
        if (sample.paths.has(i))
          CHECK(keys.insert(sample.pattern.wildcard_key(all_paths().text(i), steps)).second);
    }
  }
}

TEST_CASE("a literal pattern is exactly its path, whatever it is made of") {
  const std::string letters = "a.*?{},\\";
  for (const std::uint32_t seed : kSeeds) {
    CAPTURE(seed);
    Generator random(seed);
    std::vector<std::string> paths;
    for (int i = 0; i < 150; ++i) {
      std::string& path = paths.emplace_back();
      const std::size_t length = random.below(7);
      while (path.size() < length) path += letters[random.below(letters.size())];
    }
    for (const std::string& path : paths) {
      CAPTURE(path);
      const PathPattern pattern = PathPattern::parse(PathPattern::literal(path));
      for (const std::string& other : paths) {
        const bool at_or_below = other == path || other.substr(0, path.size() + 1) == path + ".";
        if (pattern.covers(other) != at_or_below) FAIL_CHECK("on '" << other << "'");
      }
    }
  }
}
