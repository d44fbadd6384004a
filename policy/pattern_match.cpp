#include "pattern_match.h"

#include "pattern_compare.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synps::pattern {

std::string common_prefix(const std::vector<SegmentPattern>& segments) {
  std::string prefix;
  for (const SegmentPattern& segment : segments) {
    if (segment.any_depth) break;  // which may take no segment, and then no dot
    if (&segment != &segments.front()) prefix += '.';
    for (const GlobNode& node : segment.glob) {
      if (node.kind != GlobNode::Kind::literal || node.code_point >= 0x80) return prefix;
      prefix += static_cast<char>(node.code_point);
    }
  }
  return prefix;
}

std::uint32_t follow(const Dfa& table, const Alphabet& alphabet, std::uint32_t state,
                     std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (state == kDead || state == kUniversal) break;
    state = table.step(state, alphabet.next_class(text, at));
  }
  return state;
}

bool automaton_covers(const Nfa& nfa, std::string_view path, std::uint64_t& steps) {
  StateSet set(nfa);
  set.start();
  std::vector<std::uint32_t> from;
  for (std::size_t at = 0; at < path.size();) {
    if (set.universal() || set.members().empty() || steps <= set.work()) break;
    from = set.members();
    set.clear();
    set.add_step(from, nfa.alphabet.next_class(path, at));
  }
  spend(steps, nfa.states.size() / 8 + set.work());
  return set.accepts();
}

}  // namespace synps::pattern
