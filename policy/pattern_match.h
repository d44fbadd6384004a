#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "pattern_dfa.h"
#include "pattern_nfa.h"
#include "pattern_syntax.h"

namespace synps::pattern {

/// What every path that the pattern covers begins with, as far as it is ASCII: no code point of a
/// path then reaches across its end.
std::string common_prefix(const std::vector<SegmentPattern>& segments);

/// Bytes that both begin with.
std::size_t length_in_common(std::string_view a, std::string_view b) noexcept;

/// Where a table stands after a text.
struct Followed {
  std::uint32_t state = 0;
  std::size_t read = 0;  ///< bytes of the text
  /// Whether these bytes alone decide, whatever follows.
  bool decided = false;
};

/// Where `table` stands after `text`, entered at `state`.
Followed follow(const Dfa& table, const Alphabet& alphabet, std::uint32_t state,
                std::string_view text);

/// Whether the pattern covers `path`, by following the set of states it can be in: at most as many
/// steps for each code point as there are states.
bool automaton_covers(const Nfa& nfa, std::string_view path, std::uint64_t& steps);

}  // namespace synps::pattern
