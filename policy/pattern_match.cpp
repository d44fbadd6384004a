#include "pattern_match.h"

#include "pattern_compare.h"

#include <algorithm>
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

std::size_t length_in_common(std::string_view a, std::string_view b) noexcept {
  const std::size_t most = std::min(a.size(), b.size());
  std::size_t length = 0;
  while (length < most && a[length] == b[length]) ++length;
  return length;
}

Followed follow(const Dfa& table, const Alphabet& alphabet, std::uint32_t state,
                std::string_view text) {
  std::size_t at = 0;
  while (at < text.size() && state != kDead && state != kUniversal)
    state = table.step(state, alphabet.next_class(text, at));
  // Of what is not ASCII, and perhaps not UTF-8, the bytes behind were looked at too.
  const bool whole = at == 0 || static_cast<unsigned char>(text[at - 1]) < 0x80;
  return {state, at, whole && (state == kDead || state == kUniversal)};
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
