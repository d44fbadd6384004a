#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "pattern_oracle.h"

namespace synps::testing {

/// Every path of one to four segments, each a word of at most two letters out of {a, b, c}.
class AllPaths {
 public:
  AllPaths() : words_{""} {
    const std::string letters = "abc";
    for (const char first : letters) words_.emplace_back(1, first);
    for (const char first : letters)
      for (const char second : letters) words_.push_back({first, second});
    std::vector<std::size_t> path;
    extend(path, "");
  }

  const std::vector<std::string>& words() const { return words_; }
  std::size_t size() const { return paths_.size(); }
  /// The path's segments, as places in words().
  const std::vector<std::size_t>& segments(std::size_t path) const { return paths_[path]; }
  const std::string& text(std::size_t path) const { return texts_[path]; }

 private:
  void extend(std::vector<std::size_t>& path, const std::string& prefix) {
    for (std::size_t word = 0; word < words_.size(); ++word) {
      path.push_back(word);
      const std::string text = prefix + words_[word];
      paths_.push_back(path);
      texts_.push_back(text);
      if (path.size() < 4) extend(path, text + ".");
      path.pop_back();
    }
  }

  std::vector<std::string> words_;
  std::vector<std::vector<std::size_t>> paths_;
  std::vector<std::string> texts_;
};

/// The paths out of AllPaths that a pattern covers, by backtracking over segments.
class PathSet {
 public:
  PathSet(const AllPaths& all, const NaivePattern& pattern) : bits_((all.size() + 63) / 64) {
    std::vector<std::vector<bool>> matches(pattern.size());
    for (std::size_t j = 0; j < pattern.size(); ++j)
      for (const std::string& word : all.words())
        matches[j].push_back(pattern.segment_matches(j, word));
    for (std::size_t path = 0; path < all.size(); ++path)
      if (covers(pattern, matches, all.segments(path), 0, 0))
        bits_[path / 64] |= std::uint64_t{1} << (path % 64);
  }

  bool has(std::size_t path) const { return ((bits_[path / 64] >> (path % 64)) & 1u) != 0; }
  bool is_within(const PathSet& other) const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if ((bits_[i] & ~other.bits_[i]) != 0) return false;
    return true;
  }
  bool meets(const PathSet& other) const {
    for (std::size_t i = 0; i < bits_.size(); ++i)
      if ((bits_[i] & other.bits_[i]) != 0) return true;
    return false;
  }
  Inclusion relation(const PathSet& other) const {
    return relation_of(meets(other), !is_within(other), !other.is_within(*this));
  }

 private:
  static bool covers(const NaivePattern& pattern, const std::vector<std::vector<bool>>& matches,
                     const std::vector<std::size_t>& path, std::size_t i, std::size_t j) {
    if (j == pattern.size()) return true;
    if (pattern.deep(j))
      return covers(pattern, matches, path, i, j + 1) ||
             (i < path.size() && covers(pattern, matches, path, i + 1, j));
    return i < path.size() && matches[j][path[i]] && covers(pattern, matches, path, i + 1, j + 1);
  }

  std::vector<std::uint64_t> bits_;
};

}  // namespace synps::testing
