#include "pattern_dfa.h"

#include <algorithm>

namespace synps::pattern {
namespace {

/// Tables are kept for patterns that need few states for their length, which is nearly all that
/// people write; others are followed state set by state set. Memory stays in proportion to the
/// text.
constexpr std::size_t kTableEntries = 65536;
constexpr std::uint64_t kTableWork = 262144;
constexpr std::size_t states_worth_a_table(std::size_t nfa_states) {
  return 32 + 4 * nfa_states;
}

constexpr std::uint32_t kUnknown = UINT32_MAX;

}  // namespace

void StateSet::clear() noexcept {
  ++round_;
  members_.clear();
  accepts_ = false;
  universal_ = false;
}

void StateSet::start() {
  clear();
  add(nfa_.start);
  const std::vector<std::uint32_t> before_the_dot = members_;
  clear();
  add_step(before_the_dot, Alphabet::kDot);
}

void StateSet::add(std::uint32_t state) {
  pending_.push_back(state);
  while (!pending_.empty()) {
    const std::uint32_t at = pending_.back();
    pending_.pop_back();
    if (seen_[at] == round_) continue;
    seen_[at] = round_;
    ++work_;
    const Nfa::State& entered = nfa_.states[at];
    if (entered.kind == Nfa::State::Kind::split) {
      pending_.push_back(entered.other);
      pending_.push_back(entered.next);
      continue;
    }
    members_.push_back(at);
    if (entered.kind == Nfa::State::Kind::accept) accepts_ = true;
    if (at == nfa_.below) universal_ = true;
  }
}

void StateSet::add_step(const std::vector<std::uint32_t>& from, std::uint32_t symbol) {
  work_ += from.size();
  for (const std::uint32_t at : from) {
    const Nfa::State& state = nfa_.states[at];
    if (state.kind == Nfa::State::Kind::consume && state.first_class <= symbol &&
        symbol <= state.last_class)
      add(state.next);
  }
}

std::size_t Determiniser::Hash::operator()(const std::vector<std::uint32_t>& set) const noexcept {
  std::uint64_t hash = 14695981039346656037u;  // FNV-1a, a state at a time
  for (const std::uint32_t state : set) hash = (hash ^ state) * 1099511628211u;
  return static_cast<std::size_t>(hash);
}

Determiniser::Determiniser(const Nfa& nfa) : nfa_(nfa), set_(nfa) {
  sets_ = {nullptr, nullptr};
  accepts_ = {false, true};
  steps_.resize(2);
  set_.start();
  start_ = intern();
}

std::uint32_t Determiniser::step(std::uint32_t state, std::uint32_t symbol) {
  if (state == kDead || state == kUniversal) return state;
  if (steps_[state].empty()) {
    steps_[state].assign(nfa_.alphabet.size(), kUnknown);
    work_ += nfa_.alphabet.size();
  }
  if (steps_[state][symbol] != kUnknown) return steps_[state][symbol];
  set_.clear();
  set_.add_step(*sets_[state], symbol);
  const std::uint32_t to = intern();
  steps_[state][symbol] = to;
  return to;
}

/// The number of what set_ holds.
std::uint32_t Determiniser::intern() {
  if (set_.members().empty()) return kDead;
  if (set_.universal()) return kUniversal;
  std::vector<std::uint32_t> key = set_.members();
  std::sort(key.begin(), key.end());
  work_ += key.size();
  const auto [at, inserted] =
      numbers_.try_emplace(std::move(key), static_cast<std::uint32_t>(sets_.size()));
  if (inserted) {
    sets_.push_back(&at->first);
    accepts_.push_back(set_.accepts());
    steps_.emplace_back();
  }
  return at->second;
}

std::optional<Dfa> Dfa::build(const Nfa& nfa) {
  Dfa dfa;
  dfa.symbols_ = nfa.alphabet.size();
  const std::size_t most_states =
      std::min(kTableEntries / dfa.symbols_, states_worth_a_table(nfa.states.size()));
  Determiniser determiniser(nfa);
  dfa.start_ = determiniser.start();
  for (std::uint32_t state = 0; state < determiniser.size(); ++state) {
    for (std::uint32_t symbol = 0; symbol < dfa.symbols_; ++symbol)
      dfa.steps_.push_back(static_cast<std::uint16_t>(determiniser.step(state, symbol)));
    dfa.accepts_.push_back(determiniser.accepts(state) ? 1 : 0);
    if (determiniser.size() > most_states || determiniser.work() > kTableWork) return std::nullopt;
  }
  return dfa;
}

}  // namespace synps::pattern
