#pragma once

#include <string_view>

#include "pattern_dfa.h"
#include "pattern_nfa.h"

namespace synps::pattern {

/// Whether the pattern covers `path`: by its table, a step for each code point, or by following the
/// set of states it can be in, at most as many steps as there are states for each code point.
bool table_covers(const Dfa& table, const Alphabet& alphabet, std::string_view path);
bool automaton_covers(const Nfa& nfa, std::string_view path);

}  // namespace synps::pattern
