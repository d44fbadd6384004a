#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace synps::pattern {

/// What a pattern may ask for; beyond it parsing ends in Error(limit). docs/policy.md states them.
inline constexpr std::size_t kMaxPatternLength = 8192;        ///< code points
inline constexpr std::size_t kMaxBraceDepth = 8;              ///< braces within braces
inline constexpr std::uint64_t kMaxRangeNumbers = 1'000'000;  ///< numbers in one {A..B}

struct GlobNode;
/// What one segment, or one alternative of a brace, has to look like, left to right.
using Glob = std::vector<GlobNode>;

/// `{first..last}`: decimal integers, written with zeros up to `width` digits (0: as they are).
struct NumberRange {
  std::uint64_t first = 0;
  std::uint64_t last = 0;
  std::size_t width = 0;
};

struct GlobNode {
  enum class Kind { literal, any_one, any_run, choice, range };
  Kind kind = Kind::literal;
  char32_t code_point = 0;         ///< of a literal
  std::vector<Glob> alternatives;  ///< of a choice, at least one
  NumberRange range;
};

struct SegmentPattern {
  bool any_depth = false;  ///< `**`; otherwise one segment that looks like `glob`
  Glob glob;
  std::string text;  ///< as written
};

/// Throws Error(policy) or Error(limit) with the column in `text`.
std::vector<SegmentPattern> parse_pattern(std::string_view text);

/// Whether `glob` has literals only, and then what they spell.
bool is_literal(const Glob& glob);
std::string literal_text(const Glob& glob);

}  // namespace synps::pattern
