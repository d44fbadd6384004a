#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "pattern_nfa.h"

namespace synps::pattern {

/// Deterministic states that every automaton has.
inline constexpr std::uint32_t kDead = 0;       ///< nothing is accepted any more
inline constexpr std::uint32_t kUniversal = 1;  ///< everything is accepted from here on

/// A set of automaton states with its members in order of entry.
class StateSet {
 public:
  explicit StateSet(const Nfa& nfa) : nfa_(nfa), seen_(nfa.states.size(), 0) {}

  void clear() noexcept;
  /// Becomes where the automaton can be after the dot that every path begins with.
  void start();
  /// Adds `state` and what it leads to without reading anything. Splits are not kept as members.
  void add(std::uint32_t state);
  /// Adds where the states of `from` go on reading `symbol`.
  void add_step(const std::vector<std::uint32_t>& from, std::uint32_t symbol);

  const std::vector<std::uint32_t>& members() const noexcept { return members_; }
  bool accepts() const noexcept { return accepts_; }
  bool universal() const noexcept { return universal_; }
  /// Automaton states looked at since construction.
  std::uint64_t work() const noexcept { return work_; }

 private:
  const Nfa& nfa_;
  std::vector<std::uint32_t> seen_;  ///< the round a state was last added in
  std::uint32_t round_ = 1;
  std::vector<std::uint32_t> members_;
  std::vector<std::uint32_t> pending_;
  bool accepts_ = false;
  bool universal_ = false;
  std::uint64_t work_ = 0;
};

/// The subset construction, state by state as steps are asked for.
class Determiniser {
 public:
  explicit Determiniser(const Nfa& nfa);
  Determiniser(const Determiniser&) = delete;
  Determiniser& operator=(const Determiniser&) = delete;

  std::uint32_t step(std::uint32_t state, std::uint32_t symbol);
  /// The state after the dot that every path begins with.
  std::uint32_t start() const noexcept { return start_; }
  bool accepts(std::uint32_t state) const { return accepts_[state]; }
  /// The automaton states in it, rising; not for the dead and the universal state.
  const std::vector<std::uint32_t>& members(std::uint32_t state) const { return *sets_[state]; }
  std::size_t size() const noexcept { return sets_.size(); }
  /// A measure of the time and memory spent.
  std::uint64_t work() const noexcept { return work_ + set_.work(); }

 private:
  struct Hash {
    std::size_t operator()(const std::vector<std::uint32_t>& set) const noexcept;
  };

  std::uint32_t intern();

  const Nfa& nfa_;
  StateSet set_;
  std::unordered_map<std::vector<std::uint32_t>, std::uint32_t, Hash> numbers_;
  std::vector<const std::vector<std::uint32_t>*>
      sets_;  ///< keys of numbers_; null: dead, universal
  std::vector<bool> accepts_;
  std::vector<std::vector<std::uint32_t>> steps_;  ///< by state, then symbol; filled when asked
  std::uint32_t start_ = kDead;
  std::uint64_t work_ = 0;
};

/// A pattern as a table: where a state goes on reading a symbol.
class Dfa {
 public:
  /// Nothing when the table would be large against the pattern.
  static std::optional<Dfa> build(const Nfa& nfa);

  std::uint32_t start() const noexcept { return start_; }
  std::uint32_t step(std::uint32_t state, std::uint32_t symbol) const noexcept {
    return steps_[state * symbols_ + symbol];
  }
  bool accepts(std::uint32_t state) const noexcept { return accepts_[state] != 0; }

 private:
  std::uint32_t symbols_ = 0;
  std::uint32_t start_ = kDead;
  std::vector<std::uint16_t> steps_;
  std::vector<std::uint8_t> accepts_;
};

}  // namespace synps::pattern
