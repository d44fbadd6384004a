#include "pattern_nfa.h"

#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <tuple>
#include <utility>

#include "pattern_digits.h"
#include "pattern_text.h"
#include "synps/error.h"

namespace synps::pattern {
namespace {

void collect(const Glob& glob, std::vector<char32_t>& out) {
  for (const GlobNode& node : glob) {
    if (node.kind == GlobNode::Kind::literal) out.push_back(node.code_point);
    if (node.kind == GlobNode::Kind::range)
      for (char32_t digit = U'0'; digit <= U'9'; ++digit) out.push_back(digit);
    for (const Glob& alternative : node.alternatives) collect(alternative, out);
  }
}

/// Builds the automaton from its end: every part is compiled in front of what follows it.
class Compiler final : private DigitStates {
 public:
  explicit Compiler(const std::vector<SegmentPattern>& segments)
      : nfa_{Alphabet(segments), {}, 0, 0} {}

  Nfa compile(const std::vector<SegmentPattern>& segments) {
    tail_ = any_depth(add({Nfa::State::Kind::accept, 0, 0, 0, 0}));
    nfa_.below = tail_.inside;
    nfa_.start = tail_.entry;
    // What the tail repeats anyway: `a.**` covers what `a` covers.
    std::size_t count = segments.size();
    while (count > 0 && segments[count - 1].any_depth) --count;
    while (count-- > 0) nfa_.start = segment(segments[count], nfa_.start);
    return std::move(nfa_);
  }

 private:
  /// (\.[^.]*)*
  struct AnyDepth {
    std::uint32_t entry = 0;
    std::uint32_t segment = 0;  ///< behind a dot
    std::uint32_t inside = 0;   ///< consumes, in a segment
  };

  std::uint32_t add(Nfa::State state) {
    if (nfa_.states.size() == kMaxStates) {
      Problem problem;
      problem.code = ErrorCode::limit;
      problem.what = "a pattern that expands too far";
      problem.want = fmt::format("at most {} states when compiled", kMaxStates);
      problem.hint = "use * instead of ranges and alternatives, or write several policies";
      problem.column = 1;
      throw Error(std::move(problem));
    }
    nfa_.states.push_back(state);
    return static_cast<std::uint32_t>(nfa_.states.size() - 1);
  }

  std::uint32_t consume(std::uint32_t first, std::uint32_t last, std::uint32_t next) {
    return add({Nfa::State::Kind::consume, first, last, next, 0});
  }
  std::uint32_t consume_any(std::uint32_t next) {
    return consume(Alphabet::kDot + 1, nfa_.alphabet.other(), next);
  }
  std::uint32_t split(std::uint32_t one, std::uint32_t other) override {
    return add({Nfa::State::Kind::split, 0, 0, one, other});
  }
  std::uint32_t digits(char first, char last, std::uint32_t next) override {
    const auto digit_class = [this](char digit) {
      return nfa_.alphabet.class_of(static_cast<unsigned char>(digit));
    };
    return consume(digit_class(first), digit_class(last), next);
  }

  /// Any number of code points other than dots, then `next`: the entry, and what consumes them.
  std::pair<std::uint32_t, std::uint32_t> loop(std::uint32_t next) {
    const std::uint32_t entry = split(0, next);
    const std::uint32_t inside = consume_any(entry);
    nfa_.states[entry].next = inside;
    return {entry, inside};
  }

  AnyDepth any_depth(std::uint32_t next) {
    AnyDepth out;
    out.entry = split(0, next);
    std::tie(out.segment, out.inside) = loop(out.entry);
    nfa_.states[out.entry].next = consume(Alphabet::kDot, Alphabet::kDot, out.segment);
    return out;
  }

  /// A `*` that ends the pattern goes on like the segments below it, so it shares their states: a
  /// path is then known to be covered one segment sooner.
  std::uint32_t any_run(std::uint32_t next) {
    return next == tail_.entry ? tail_.segment : loop(next).first;
  }

  std::uint32_t segment(const SegmentPattern& pattern, std::uint32_t next) {
    if (pattern.any_depth) return any_depth(next).entry;
    return consume(Alphabet::kDot, Alphabet::kDot, glob(pattern.glob, next));
  }

  std::uint32_t glob(const Glob& nodes, std::uint32_t next) {
    for (std::size_t i = nodes.size(); i-- > 0;) next = glob_node(nodes[i], next);
    return next;
  }

  std::uint32_t glob_node(const GlobNode& node, std::uint32_t next) {
    switch (node.kind) {
      case GlobNode::Kind::any_one:
        return consume_any(next);
      case GlobNode::Kind::any_run:
        return any_run(next);
      case GlobNode::Kind::choice:
        return choice(node.alternatives, next);
      case GlobNode::Kind::range:
        return add_number_range(*this, node.range, next);
      case GlobNode::Kind::literal:
        break;
    }
    const std::uint32_t literal = nfa_.alphabet.class_of(node.code_point);
    return consume(literal, literal, next);
  }

  std::uint32_t choice(const std::vector<Glob>& alternatives, std::uint32_t next) {
    std::uint32_t entry = glob(alternatives.back(), next);
    for (std::size_t i = alternatives.size() - 1; i-- > 0;)
      entry = split(glob(alternatives[i], next), entry);
    return entry;
  }

  Nfa nfa_;
  AnyDepth tail_;
};

}  // namespace

Alphabet::Alphabet(const std::vector<SegmentPattern>& segments) {
  for (const SegmentPattern& segment : segments) collect(segment.glob, literals_);
  std::sort(literals_.begin(), literals_.end());
  literals_.erase(std::unique(literals_.begin(), literals_.end()), literals_.end());
  for (std::size_t c = 0; c < ascii_.size(); ++c)
    ascii_[c] = static_cast<std::uint16_t>(c == U'.' ? kDot : find(static_cast<char32_t>(c)));
}

std::uint32_t Alphabet::find(char32_t code_point) const noexcept {
  const auto at = std::lower_bound(literals_.begin(), literals_.end(), code_point);
  if (at == literals_.end() || *at != code_point) return other();
  return static_cast<std::uint32_t>(at - literals_.begin()) + 1;
}

std::uint32_t Alphabet::next_class(std::string_view text, std::size_t& at) const noexcept {
  const auto byte = static_cast<unsigned char>(text[at]);
  if (byte >= ascii_.size()) return find(next_code_point(text, at));
  ++at;
  return ascii_[byte];
}

Nfa compile(const std::vector<SegmentPattern>& segments) {
  return Compiler(segments).compile(segments);
}

}  // namespace synps::pattern
