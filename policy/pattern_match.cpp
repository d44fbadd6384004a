#include "pattern_match.h"

#include <cstddef>
#include <cstdint>
#include <vector>

namespace synps::pattern {

bool table_covers(const Dfa& table, const Alphabet& alphabet, std::string_view path) {
  std::uint32_t state = table.start();
  for (std::size_t at = 0; at < path.size();) {
    if (state == kDead || state == kUniversal) break;
    state = table.step(state, alphabet.next_class(path, at));
  }
  return table.accepts(state);
}

bool automaton_covers(const Nfa& nfa, std::string_view path) {
  StateSet set(nfa);
  set.start();
  std::vector<std::uint32_t> from;
  for (std::size_t at = 0; at < path.size();) {
    if (set.universal() || set.members().empty()) break;
    from = set.members();
    set.clear();
    set.add_step(from, nfa.alphabet.next_class(path, at));
  }
  return set.accepts();
}

}  // namespace synps::pattern
