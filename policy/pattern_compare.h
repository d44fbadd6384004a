#pragma once

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

#include "pattern_dfa.h"
#include "pattern_nfa.h"
#include "synps/path_pattern.h"

namespace synps::pattern {

/// What one search may take, in units of some nanoseconds and some bytes. Patterns that people
/// write need thousands.
inline constexpr std::uint64_t kMaxCompareSteps = 2'000'000;

/// A symbol as each of two automata reads it.
using SymbolPair = std::pair<std::uint32_t, std::uint32_t>;

/// All symbols of two automata; code points that neither tells from one another are one.
std::vector<SymbolPair> joint_alphabet(const Alphabet& a, const Alphabet& b);

/// How the paths of `a` relate to those of `b`, over their joint alphabet. Both answer nothing when
/// one search takes more than kMaxCompareSteps steps, or all together more than `steps`; both
/// subtract what they took.
std::optional<Inclusion> compare_tables(const Dfa& a, const Dfa& b,
                                        const std::vector<SymbolPair>& symbols,
                                        std::uint64_t& steps);
/// Slower, but needs no table, and manages many pairs of which one side, or both, would make a huge
/// one.
std::optional<Inclusion> compare_automata(const Nfa& a, const Nfa& b,
                                          const std::vector<SymbolPair>& symbols,
                                          std::uint64_t& steps);

/// Subtracts `taken` from `steps`, to zero when there are fewer.
inline void spend(std::uint64_t& steps, std::uint64_t taken) noexcept {
  steps -= std::min(steps, taken);
}

}  // namespace synps::pattern
