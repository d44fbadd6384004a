#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "pattern_syntax.h"

namespace synps::pattern {

/// States of one compiled pattern; beyond it parsing ends in Error(limit).
inline constexpr std::size_t kMaxStates = 16384;

/// The code points a pattern tells apart: class 0 is the dot, then one class for each of its
/// literal code points in rising order, and the last for all other code points.
class Alphabet {
 public:
  Alphabet() = default;
  explicit Alphabet(const std::vector<SegmentPattern>& segments);

  static constexpr std::uint32_t kDot = 0;
  std::uint32_t other() const noexcept { return static_cast<std::uint32_t>(literals_.size()) + 1; }
  std::uint32_t size() const noexcept { return other() + 1; }

  /// Rising, without the dot.
  const std::vector<char32_t>& literals() const noexcept { return literals_; }
  std::uint32_t class_of(char32_t code_point) const noexcept {
    return code_point < ascii_.size() ? ascii_[code_point] : find(code_point);
  }
  /// The class of the code point at `at`, which moves past it.
  std::uint32_t next_class(std::string_view text, std::size_t& at) const noexcept;

 private:
  std::uint32_t find(char32_t code_point) const noexcept;

  std::vector<char32_t> literals_;
  std::array<std::uint16_t, 128> ascii_{};
};

/// A pattern as a nondeterministic automaton. A path a.b is read as ".a.b", each segment behind a
/// dot of its own, which makes "any number of segments" the plain expression (\.[^.]*)*. The
/// automaton accepts the paths the pattern matches and all below them.
struct Nfa {
  struct State {
    enum class Kind : std::uint8_t { consume, split, accept };
    Kind kind = Kind::accept;
    std::uint32_t first_class = 0;  ///< consume: the classes first_class…last_class
    std::uint32_t last_class = 0;
    std::uint32_t next = 0;   ///< consume, split
    std::uint32_t other = 0;  ///< split: the second way on
  };

  Alphabet alphabet;
  std::vector<State> states;
  std::uint32_t start = 0;
  /// Consumes inside segments below a match. Once this state is entered, every continuation is
  /// accepted.
  std::uint32_t below = 0;
};

/// Throws Error(limit) when the pattern needs more than kMaxStates states.
Nfa compile(const std::vector<SegmentPattern>& segments);

}  // namespace synps::pattern
