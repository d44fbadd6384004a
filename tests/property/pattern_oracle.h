#pragma once

#include <cstddef>
#include <optional>
#include <set>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "synps/path_pattern.h"

/// A second, naive reading of the pattern language (docs/policy.md), for patterns of letters, `*`,
/// `?`, `**`, dots and braces of alternatives. It shares no code with policy/.
namespace synps::testing {

inline std::vector<std::string> split_at_dots(std::string_view text) {
  std::vector<std::string> out(1);
  for (const char c : text) {
    if (c == '.')
      out.emplace_back();
    else
      out.back() += c;
  }
  return out;
}

/// Writes out the braces of one segment: "x{a,b{c,}}" becomes "xa", "xbc", "xb".
inline std::vector<std::string> write_out(const std::string& segment) {
  const std::size_t open = segment.find('{');
  if (open == std::string::npos) return {segment};
  std::vector<std::string> alternatives(1);
  std::size_t depth = 1;
  std::size_t at = open + 1;
  for (; depth > 0; ++at) {
    const char c = segment[at];
    depth += c == '{' ? 1 : 0;
    depth -= c == '}' ? 1 : 0;
    if (c == ',' && depth == 1)
      alternatives.emplace_back();
    else if (depth > 0)
      alternatives.back() += c;
  }
  std::vector<std::string> out;
  for (const std::string& alternative : alternatives)
    for (const std::string& plain :
         write_out(segment.substr(0, open) + alternative + segment.substr(at)))
      out.push_back(plain);
  return out;
}

/// `*` and `?` against a word, by trying.
inline bool glob_matches(std::string_view glob, std::string_view word) {
  if (glob.empty()) return word.empty();
  if (glob.front() == '*')
    return glob_matches(glob.substr(1), word) ||
           (!word.empty() && glob_matches(glob, word.substr(1)));
  return !word.empty() && (glob.front() == '?' || glob.front() == word.front()) &&
         glob_matches(glob.substr(1), word.substr(1));
}

class NaivePattern {
 public:
  explicit NaivePattern(std::string_view text) {
    for (const std::string& segment : split_at_dots(text)) {
      deep_.push_back(segment == "**");
      globs_.push_back(deep_.back() ? std::vector<std::string>() : write_out(segment));
    }
  }

  std::size_t size() const { return deep_.size(); }
  bool deep(std::size_t segment) const { return deep_[segment]; }
  const std::vector<std::string>& globs(std::size_t segment) const { return globs_[segment]; }

  bool segment_matches(std::size_t segment, std::string_view word) const {
    for (const std::string& glob : globs_[segment])
      if (glob_matches(glob, word)) return true;
    return false;
  }

  bool covers(std::string_view path) const { return covers_from(split_at_dots(path), 0, 0); }

 private:
  bool covers_from(const std::vector<std::string>& path, std::size_t i, std::size_t j) const {
    if (j == size()) return true;  // and everything below
    if (deep_[j])
      return covers_from(path, i, j + 1) || (i < path.size() && covers_from(path, i + 1, j));
    return i < path.size() && segment_matches(j, path[i]) && covers_from(path, i + 1, j + 1);
  }

  std::vector<bool> deep_;
  std::vector<std::vector<std::string>> globs_;
};

/// All ways a pattern can go on after the part of a path that was read. Two such states decide
/// exactly, over all paths, how two patterns relate: see relation_by_derivatives().
class Derivative {
 public:
  explicit Derivative(const NaivePattern& pattern) : pattern_(&pattern) {
    add_boundary(0);
    *this = after('.');
  }

  Derivative after(char c) const {
    Derivative out(*this);
    out.ways_.clear();
    for (const Way& way : ways_) out.add_after(way, c);
    return out;
  }
  bool accepts() const {
    return ways_.count(Way(Place::below, 0, "")) +
               ways_.count(Way(Place::boundary, pattern_->size(), "")) >
           0;
  }
  bool operator<(const Derivative& other) const { return ways_ < other.ways_; }

 private:
  /// Where reading stands: before a segment, in one (with the glob that is left of it), in a
  /// segment that `**` takes, or below a match.
  enum class Place { boundary, inside, deep, below };
  using Way = std::tuple<Place, std::size_t, std::string>;

  void add_boundary(std::size_t segment) {
    ways_.emplace(Place::boundary, segment, "");
    if (segment < pattern_->size() && pattern_->deep(segment)) add_boundary(segment + 1);
  }
  void add_inside(std::size_t segment, const std::string& rest) {
    ways_.emplace(Place::inside, segment, rest);
    if (rest.find_first_not_of('*') == std::string::npos) add_boundary(segment + 1);
  }
  void add_deep(std::size_t segment) {
    ways_.emplace(Place::deep, segment, "");
    add_boundary(segment);
  }

  void add_after(const Way& way, char c) {
    const auto& [place, segment, rest] = way;
    if (place == Place::below) ways_.insert(way);
    if (place == Place::deep && c != '.') add_deep(segment);
    if (place == Place::inside && c != '.') add_after_letter(segment, rest, c);
    if (place == Place::boundary && c == '.') add_after_dot(segment);
  }
  void add_after_dot(std::size_t segment) {
    if (segment == pattern_->size()) {
      ways_.emplace(Place::below, 0, "");
    } else if (pattern_->deep(segment)) {
      add_deep(segment);
    } else {
      for (const std::string& glob : pattern_->globs(segment)) add_inside(segment, glob);
    }
  }
  void add_after_letter(std::size_t segment, const std::string& rest, char c) {
    if (rest.empty()) return;
    if (rest.front() == '*') {
      add_inside(segment, rest);
      add_after_letter(segment, rest.substr(1), c);
    } else if (rest.front() == '?' || rest.front() == c) {
      add_inside(segment, rest.substr(1));
    }
  }

  const NaivePattern* pattern_;
  std::set<Way> ways_;
};

inline Inclusion relation_of(bool both, bool only_a, bool only_b) {
  if (!both) return Inclusion::disjoint;
  if (only_a) return only_b ? Inclusion::overlapping : Inclusion::broader;
  return only_b ? Inclusion::narrower : Inclusion::equal;
}

/// How two patterns over the letters of `letters` relate, exactly, over all paths: one letter more
/// than the patterns use stands for all the others.
inline Inclusion relation_by_derivatives(const NaivePattern& a, const NaivePattern& b,
                                         std::string_view letters) {
  using Pair = std::pair<Derivative, Derivative>;
  std::set<Pair> seen = {Pair(Derivative(a), Derivative(b))};
  std::vector<Pair> pending(seen.begin(), seen.end());
  bool both = false;
  bool only_a = false;
  bool only_b = false;
  while (!pending.empty()) {
    const Pair at = pending.back();
    pending.pop_back();
    const bool in_a = at.first.accepts();
    const bool in_b = at.second.accepts();
    both = both || (in_a && in_b);
    only_a = only_a || (in_a && !in_b);
    only_b = only_b || (in_b && !in_a);
    for (const char c : std::string(letters) + ".") {
      Pair next(at.first.after(c), at.second.after(c));
      if (seen.insert(next).second) pending.push_back(std::move(next));
    }
  }
  return relation_of(both, only_a, only_b);
}

}  // namespace synps::testing
