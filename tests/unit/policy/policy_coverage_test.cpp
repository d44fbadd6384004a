// Which policies cover a path: one path alone, and one after another.
#include "policy_coverage.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <random>
#include <string>
#include <vector>

#include "policy_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

// Literal and not, of every depth, with and without a table, in ASCII and beyond.
const std::array kPatterns{
    "*",           "**",
    "{,}",         "a",
    "a.b",         "a.b.c",
    "a.*",         "a.*.c",
    "*.b",         "**.b",
    "**.c.**.b",   "a.**.b",
    "a?",          "a*b",
    "?",           "a.b*",
    "{a,b}.c",     "a.{b,bb}.c",
    "a.{0..12}.b", "a.{10..99}",
    "ä",           "ä.b",
    "a.ä*",        "a.?.b",
    "**.*ä",       "€",
    "a.€.b",       "**.{a,b}{a,b}{a,b}{a,b}",
    "b.*.{a,?}b",  "*a*.*b*.*c*",
    "a.**.**.**",  "c.c.c.c",
    "a.b.c.a.b",   "**.a.*.*.*.c",
    "bb.b",        "ab",
};

std::vector<PolicyEntry> entries() {
  std::vector<PolicyEntry> made;
  for (const char* text : kPatterns) {
    PolicyEntry entry;
    entry.pattern = PathPattern::parse(text);
    made.push_back(entry);
  }
  return made;
}

class Paths {
 public:
  explicit Paths(std::uint32_t seed) : random_(seed) {}

  std::string any() {
    std::string path = word();
    for (std::size_t more = random_() % 5; more > 0; --more) path += "." + word();
    return path;
  }
  // Begins as `path` does.
  std::string neighbour(const std::string& path) {
    const std::string end = any();
    return path.substr(0, random_() % (path.size() + 1)) + end.substr(random_() % (end.size() + 1));
  }

 private:
  // The last ones are no UTF-8: the bytes that begin € and stop.
  std::string word() {
    static const std::array kWords{"",   "a",  "b",  "c", "ab", "bb", "a1",   "0",
                                   "12", "13", "99", "ä", "bä", "€",  "\xe2", "\xe2\x82"};
    return kWords[random_() % kWords.size()];
  }

  std::mt19937 random_;
};

PolicySet one_by_one(const std::vector<PolicyEntry>& all, const std::string& path) {
  PolicySet covering;
  for (std::uint32_t i = 0; i < all.size(); ++i)
    if (all[i].pattern.covers(path)) covering.push_back(i);
  return covering;
}

void check_walk(const std::vector<PolicyEntry>& all, const std::vector<std::string>& paths) {
  const PolicyCoverage coverage(all);
  CoverageWalk walk(coverage);
  StepBudget budget("synps.toml");
  for (const std::string& path : paths) {
    CAPTURE(path);
    const PolicySet expected = one_by_one(all, path);
    REQUIRE(CoverageWalk(coverage).covering(path, budget) == expected);
    REQUIRE(walk.covering(path, budget) == expected);
  }
}

}  // namespace

TEST_CASE("the policies that cover a path are found, whatever paths came before") {
  const std::vector<PolicyEntry> all = entries();
  for (const std::uint32_t seed : {1u, 2u, 3u}) {
    Paths random(seed);
    std::vector<std::string> paths{""};
    for (int i = 0; i < 10'000; ++i)
      paths.push_back(i % 3 == 0 ? random.any() : random.neighbour(paths.back()));
    check_walk(all, paths);
    std::sort(paths.begin(), paths.end());
    check_walk(all, paths);
    std::reverse(paths.begin(), paths.end());
    check_walk(all, paths);
  }
}

TEST_CASE("what the first bytes of a path decide holds for every path that begins with them") {
  Paths random(4);
  std::size_t reused = 0;
  for (const PolicyEntry& entry : entries()) {
    CAPTURE(entry.pattern.text());
    for (int i = 0; i < 2'000; ++i) {
      const std::string path = random.any();
      CAPTURE(path);
      std::uint64_t steps = 1'000'000;
      std::size_t read = 0;
      const bool covers = entry.pattern.covers(path, steps, read);
      CHECK(covers == entry.pattern.covers(path));
      REQUIRE(read <= path.size() + 1);
      if (read > path.size()) continue;
      const std::string other = path.substr(0, read) + random.neighbour(path.substr(read));
      CAPTURE(other);
      REQUIRE(entry.pattern.covers(other) == covers);
      ++reused;
    }
  }
  CHECK(reused > 10'000);
}

TEST_CASE("neighbours in a checkpoint are not read again") {
  const std::vector<PolicyEntry> all = entries();
  const PolicyCoverage coverage(all);
  CoverageWalk walk(coverage);
  StepBudget budget("synps.toml");
  const auto steps_for = [&](const std::string& path) {
    const std::uint64_t before = budget.left();
    walk.covering(path, budget);
    return before - budget.left();
  };
  const std::string deep = "c.c.c.c." + std::string(10'000, 'x');
  const std::uint64_t first = steps_for(deep + ".a.weight");
  CHECK(steps_for(deep + ".b.weight") < first);
  const std::uint64_t again = steps_for("b." + deep);
  CHECK(steps_for("b." + deep) < again);
}
