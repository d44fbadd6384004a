#include <algorithm>
#include <unordered_set>

#include "pattern_compare.h"

namespace synps::pattern {
namespace {

/// Walks both tables in step over all paths and notes which of the three kinds of path there are:
/// in both sets, in the first alone, in the second alone. They decide how the sets relate.
class TableWalk {
 public:
  TableWalk(const Dfa& a, const Dfa& b, const std::vector<SymbolPair>& symbols)
      : a_(a), b_(b), symbols_(symbols) {}

  std::optional<Inclusion> run(std::uint64_t limit) {
    visit(a_.start(), b_.start());
    while (!pending_.empty() && !decided()) {
      if ((steps_ += symbols_.size()) > limit) return std::nullopt;
      const SymbolPair at = pending_.back();
      pending_.pop_back();
      for (const SymbolPair& symbol : symbols_)
        visit(a_.step(at.first, symbol.first), b_.step(at.second, symbol.second));
    }
    return result();
  }

  std::uint64_t steps() const noexcept { return steps_; }

 private:
  bool decided() const noexcept { return both_ && only_a_ && only_b_; }

  Inclusion result() const noexcept {
    if (!both_) return Inclusion::disjoint;
    if (only_a_ && only_b_) return Inclusion::overlapping;
    if (only_a_) return Inclusion::broader;
    return only_b_ ? Inclusion::narrower : Inclusion::equal;
  }

  void visit(std::uint32_t a, std::uint32_t b) {
    if (a == kDead || b == kDead) {
      // Every other state leads to an accepted path.
      only_a_ = only_a_ || a != kDead;
      only_b_ = only_b_ || b != kDead;
      return;
    }
    const bool in_a = a_.accepts(a);
    const bool in_b = b_.accepts(b);
    both_ = both_ || (in_a && in_b) || a == kUniversal || b == kUniversal;
    only_a_ = only_a_ || (in_a && !in_b);
    only_b_ = only_b_ || (in_b && !in_a);
    // Behind a universal state the other side has nothing of its own.
    if (a == kUniversal && (only_a_ || b == kUniversal)) return;
    if (b == kUniversal && only_b_) return;
    if (seen_.insert((std::uint64_t{a} << 32) | b).second) pending_.emplace_back(a, b);
  }

  const Dfa& a_;
  const Dfa& b_;
  const std::vector<SymbolPair>& symbols_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending_;
  std::unordered_set<std::uint64_t> seen_;  // asked for membership only, never walked
  std::uint64_t steps_ = 0;
  bool both_ = false;
  bool only_a_ = false;
  bool only_b_ = false;
};

}  // namespace

std::vector<SymbolPair> joint_alphabet(const Alphabet& a, const Alphabet& b) {
  std::vector<SymbolPair> symbols = {{Alphabet::kDot, Alphabet::kDot}, {a.other(), b.other()}};
  for (const char32_t c : a.literals()) symbols.emplace_back(a.class_of(c), b.class_of(c));
  for (const char32_t c : b.literals()) symbols.emplace_back(a.class_of(c), b.class_of(c));
  std::sort(symbols.begin(), symbols.end());
  symbols.erase(std::unique(symbols.begin(), symbols.end()), symbols.end());
  return symbols;
}

std::optional<Inclusion> compare_tables(const Dfa& a, const Dfa& b,
                                        const std::vector<SymbolPair>& symbols,
                                        std::uint64_t& steps) {
  TableWalk walk(a, b, symbols);
  const std::optional<Inclusion> result = walk.run(std::min(steps, kMaxCompareSteps));
  spend(steps, walk.steps());
  return result;
}

}  // namespace synps::pattern
