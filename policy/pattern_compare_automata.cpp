#include <algorithm>
#include <unordered_set>

#include "pattern_compare.h"

namespace synps::pattern {
namespace {

bool reads(const Nfa::State& state, std::uint32_t symbol) noexcept {
  return state.kind == Nfa::State::Kind::consume && state.first_class <= symbol &&
         symbol <= state.last_class;
}

bool accepts(const Nfa& nfa, std::uint32_t state) noexcept {
  return nfa.states[state].kind == Nfa::State::Kind::accept;
}

/// Whether one path takes both automata to their ends: a search over pairs of states.
class MeetingSearch {
 public:
  MeetingSearch(const Nfa& a, const Nfa& b, const std::vector<SymbolPair>& symbols)
      : a_(a), b_(b), symbols_(symbols), set_a_(a), set_b_(b) {}

  std::optional<bool> run(std::uint64_t limit) {
    set_a_.start();
    set_b_.start();
    visit_all();
    while (!pending_.empty() && !found_) {
      if (steps() > limit) return std::nullopt;
      const auto [a, b] = pending_.back();
      pending_.pop_back();
      expand(a_.states[a], b_.states[b]);
    }
    return found_;
  }

  std::uint64_t steps() const noexcept { return steps_ + set_a_.work() + set_b_.work(); }

 private:
  void expand(const Nfa::State& a, const Nfa::State& b) {
    steps_ += symbols_.size();
    const bool together =
        std::any_of(symbols_.begin(), symbols_.end(), [&](const SymbolPair& symbol) {
          return reads(a, symbol.first) && reads(b, symbol.second);
        });
    if (!together) return;
    set_a_.clear();
    set_a_.add(a.next);
    set_b_.clear();
    set_b_.add(b.next);
    visit_all();
  }

  void visit_all() {
    steps_ += set_a_.members().size() * set_b_.members().size();
    for (const std::uint32_t a : set_a_.members())
      for (const std::uint32_t b : set_b_.members()) visit(a, b);
  }

  void visit(std::uint32_t a, std::uint32_t b) {
    if (accepts(a_, a) && accepts(b_, b)) found_ = true;
    if (seen_.insert((std::uint64_t{a} << 32) | b).second) pending_.emplace_back(a, b);
  }

  const Nfa& a_;
  const Nfa& b_;
  const std::vector<SymbolPair>& symbols_;
  StateSet set_a_;
  StateSet set_b_;
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending_;
  std::unordered_set<std::uint64_t> seen_;  // asked for membership only, never walked
  bool found_ = false;
  std::uint64_t steps_ = 0;
};

/// Whether every path of `a` is one of `b`: looks for a path that takes one state of `a` to its end
/// while no state of `b` gets there. A state of `a` is searched only with the smallest sets of
/// `b`'s states it meets, since what a set accepts, a larger one accepts too (De Wulf, Doyen,
/// Henzinger, Raskin, "Antichains: a new algorithm for checking universality of finite automata",
/// CAV 2006).
class InclusionSearch {
 public:
  /// `swapped`: the symbols pair b's reading with a's.
  InclusionSearch(const Nfa& a, const Nfa& b, const std::vector<SymbolPair>& symbols, bool swapped)
      : a_(a), symbols_(symbols), swapped_(swapped), set_a_(a), sets_b_(b) {
    smallest_.resize(a.states.size());
  }

  std::optional<bool> run(std::uint64_t limit) {
    set_a_.start();
    for (const std::uint32_t state : set_a_.members()) visit(state, sets_b_.start());
    while (!pending_.empty() && !counterexample_) {
      if (steps() > limit) return std::nullopt;
      const auto [a, b] = pending_.back();
      pending_.pop_back();
      expand(a_.states[a], b);
    }
    return !counterexample_;
  }

  std::uint64_t steps() const noexcept { return steps_ + set_a_.work() + sets_b_.work(); }

 private:
  void expand(const Nfa::State& a, std::uint32_t b) {
    if (a.kind != Nfa::State::Kind::consume) return;
    set_a_.clear();
    set_a_.add(a.next);
    steps_ += symbols_.size();
    for (const SymbolPair& pair : symbols_) {
      const auto [symbol_a, symbol_b] = swapped_ ? SymbolPair(pair.second, pair.first) : pair;
      if (!reads(a, symbol_a)) continue;
      const std::uint32_t to = sets_b_.step(b, symbol_b);
      for (const std::uint32_t state : set_a_.members()) visit(state, to);
    }
  }

  void visit(std::uint32_t a, std::uint32_t b) {
    ++steps_;
    if (b == kUniversal) return;
    // From every state of `a` some way leads to its end.
    if (b == kDead || (accepts(a_, a) && !sets_b_.accepts(b))) counterexample_ = true;
    if (counterexample_) return;
    std::vector<std::uint32_t>& known = smallest_[a];
    for (const std::uint32_t set : known)
      if (is_within(set, b)) return;
    known.erase(std::remove_if(known.begin(), known.end(),
                               [this, b](std::uint32_t set) { return is_within(b, set); }),
                known.end());
    known.push_back(b);
    pending_.emplace_back(a, b);
  }

  bool is_within(std::uint32_t small, std::uint32_t large) {
    if (small == large) return true;
    const std::vector<std::uint32_t>& inner = sets_b_.members(small);
    const std::vector<std::uint32_t>& outer = sets_b_.members(large);
    if (inner.size() > outer.size()) return false;
    steps_ += outer.size();
    return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
  }

  const Nfa& a_;
  const std::vector<SymbolPair>& symbols_;
  bool swapped_;
  StateSet set_a_;
  Determiniser sets_b_;
  std::vector<std::vector<std::uint32_t>> smallest_;  ///< by state of `a`: sets of `b`'s states
  std::vector<std::pair<std::uint32_t, std::uint32_t>> pending_;
  bool counterexample_ = false;
  std::uint64_t steps_ = 0;
};

template <typename Search>
std::optional<bool> run(Search search, std::uint64_t& steps) {
  const std::optional<bool> result = search.run(std::min(steps, kMaxCompareSteps));
  spend(steps, search.steps());
  return result;
}

}  // namespace

std::optional<Inclusion> compare_automata(const Nfa& a, const Nfa& b,
                                          const std::vector<SymbolPair>& symbols,
                                          std::uint64_t& steps) {
  spend(steps, a.states.size() + b.states.size());
  const std::optional<bool> meet = run(MeetingSearch(a, b, symbols), steps);
  if (!meet) return std::nullopt;
  if (!*meet) return Inclusion::disjoint;
  const std::optional<bool> a_in_b = run(InclusionSearch(a, b, symbols, false), steps);
  if (!a_in_b) return std::nullopt;
  const std::optional<bool> b_in_a = run(InclusionSearch(b, a, symbols, true), steps);
  if (!b_in_a) return std::nullopt;
  if (*a_in_b && *b_in_a) return Inclusion::equal;
  if (*a_in_b) return Inclusion::narrower;
  return *b_in_a ? Inclusion::broader : Inclusion::overlapping;
}

}  // namespace synps::pattern
