#include "pattern_capture.h"

#include <utility>
#include <vector>

#include "pattern_compare.h"
#include "pattern_text.h"

namespace synps::pattern {
namespace {

// Beyond every code point, stray bytes included; the number of the state that reads is added. Which
// state reads a dot tells the segments of `**` from the pattern's own and from those below it.
constexpr char32_t kDotMark = 0x200000;
constexpr char32_t kWildcardMark = 0x300000;

bool is_wildcard(const Nfa& nfa, const Nfa::State& state) noexcept {
  return state.first_class == Alphabet::kDot + 1 && state.last_class == nfa.alphabet.other();
}

// Follows all ways to read a path at once, the preferred ones first; of two that come to the same
// state, the later one can only read the rest alike and is dropped.
class Reader {
 public:
  explicit Reader(const Nfa& nfa) : nfa_(nfa), seen_(nfa.states.size(), 0) {}

  std::u32string read(std::string_view path, std::uint64_t& steps) {
    ++round_;
    enter(nfa_.start, {});
    step(Alphabet::kDot, U'.');
    for (std::size_t at = 0; at < path.size() && !ways_.empty() && steps_taken() < steps;) {
      std::size_t again = at;
      const char32_t code_point = next_code_point(path, at);
      step(nfa_.alphabet.next_class(path, again), code_point);
    }
    const bool finished = steps_taken() < steps;
    spend(steps, steps_taken());
    if (!finished) return {};
    for (const Way& way : ways_)
      if (nfa_.states[way.state].kind == Nfa::State::Kind::accept) return key_of(way);
    return {};
  }

 private:
  // What was read so far: the last code point, and what was read before it. Ways share it.
  struct Link {
    std::uint32_t before = 0;  // 0: nothing
    char32_t code_point = 0;
  };
  struct Way {
    std::uint32_t state = 0;
    std::uint32_t wildcard = 0;  // the state that read last, if it is a wildcard's, plus one
    std::uint32_t key = 0;       // a link
  };

  std::uint64_t steps_taken() const noexcept { return 1 + work_ / 4; }

  void append(Way& way, char32_t code_point) {
    links_.push_back({way.key, code_point});
    way.key = static_cast<std::uint32_t>(links_.size() - 1);
  }

  std::u32string key_of(const Way& way) const {
    std::u32string key;
    for (std::uint32_t at = way.key; at != 0; at = links_[at].before) key += links_[at].code_point;
    return key;
  }

  void step(std::uint32_t symbol, char32_t code_point) {
    before_.swap(ways_);
    ways_.clear();
    ++round_;
    for (Way& way : before_) {
      const Nfa::State& state = nfa_.states[way.state];
      ++work_;
      if (state.kind != Nfa::State::Kind::consume || symbol < state.first_class ||
          symbol > state.last_class)
        continue;
      if (symbol == Alphabet::kDot) {
        append(way, kDotMark + way.state);
        way.wildcard = 0;
      } else if (!is_wildcard(nfa_, state)) {
        way.wildcard = 0;
      } else {
        if (way.wildcard != way.state + 1) {
          append(way, kWildcardMark + way.state);
          way.wildcard = way.state + 1;
        }
        append(way, code_point);
      }
      enter(state.next, way);
    }
  }

  // Adds what `state` leads to without reading anything, the first way of every split first.
  void enter(std::uint32_t state, Way way) {
    pending_.push_back(state);
    while (!pending_.empty()) {
      const std::uint32_t at = pending_.back();
      pending_.pop_back();
      ++work_;
      if (seen_[at] == round_) continue;
      seen_[at] = round_;
      const Nfa::State& next = nfa_.states[at];
      if (next.kind == Nfa::State::Kind::split) {
        pending_.push_back(next.other);
        pending_.push_back(next.next);
      } else {
        way.state = at;
        ways_.push_back(way);
      }
    }
  }

  const Nfa& nfa_;
  std::vector<std::uint32_t> seen_;  // the round a state was last entered in
  std::uint32_t round_ = 0;
  std::vector<Link> links_{Link{}};
  std::vector<Way> ways_;
  std::vector<Way> before_;
  std::vector<std::uint32_t> pending_;
  std::uint64_t work_ = 0;
};

}  // namespace

std::u32string wildcard_key(const Nfa& nfa, std::string_view path, std::uint64_t& steps) {
  return Reader(nfa).read(path, steps);
}

}  // namespace synps::pattern
