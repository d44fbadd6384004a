#include <fmt/format.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "path_pattern_program.h"
#include "pattern_compare.h"
#include "synps/error.h"

namespace synps {
namespace {

Inclusion compare_literals(std::string_view a, std::string_view b) {
  if (a == b) return Inclusion::equal;
  const auto is_below = [](std::string_view path, std::string_view root) {
    return path.size() > root.size() && path[root.size()] == '.' &&
           path.substr(0, root.size()) == root;
  };
  if (is_below(a, b)) return Inclusion::narrower;
  return is_below(b, a) ? Inclusion::broader : Inclusion::disjoint;
}

[[noreturn]] void throw_too_hard(const std::string& a, const std::string& b) {
  Problem problem;
  problem.code = ErrorCode::limit;
  problem.what = "two patterns are too complex to compare";
  problem.found = quote(a, 60) + " and " + quote(b, 60);
  problem.want = fmt::format("patterns that compare within {} steps", pattern::kMaxCompareSteps);
  problem.hint = "use fewer wildcards in one pattern, or write several simpler policies";
  throw Error(std::move(problem));
}

}  // namespace

Inclusion PathPattern::compare(const PathPattern& other) const {
  std::uint64_t steps = std::numeric_limits<std::uint64_t>::max();
  return compare(other, steps);
}

Inclusion PathPattern::compare(const PathPattern& other, std::uint64_t& steps) const {
  const Program& a = *program_;
  const Program& b = *other.program_;
  if (a.text == b.text) return Inclusion::equal;
  pattern::spend(steps, 1);
  if (clearly_apart(other)) return Inclusion::disjoint;
  // Texts are compared in passing.
  pattern::spend(steps, 16 + std::min(a.text.size(), b.text.size()) / 8);
  if (a.literal && b.literal) return compare_literals(*a.literal, *b.literal);
  const auto symbols = pattern::joint_alphabet(a.nfa.alphabet, b.nfa.alphabet);
  pattern::spend(steps, 16 * symbols.size());
  std::optional<Inclusion> result;
  if (a.dfa && b.dfa) result = pattern::compare_tables(*a.dfa, *b.dfa, symbols, steps);
  if (!result) result = pattern::compare_automata(a.nfa, b.nfa, symbols, steps);
  if (!result) throw_too_hard(a.text, b.text);
  return *result;
}

}  // namespace synps
