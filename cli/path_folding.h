#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace synps::cli {

/// A weight to be listed. Two weights share a row only when their `key`s are equal: the key holds
/// everything else that the row shows.
struct FoldItem {
  std::string path;
  std::string key;
};

/// A row of a listing: a pattern that policies accept too, which stands for exactly its members.
struct FoldedRow {
  std::string pattern;
  std::vector<std::size_t> members;  ///< indices into the items, by natural order of the path
};

struct FoldOptions {
  bool numbers = true;          ///< layers.0, layers.1, … become layers.{0..5}
  bool names = true;            ///< siblings become {gate,up}_proj
  std::size_t max_width = 60;   ///< bytes of a pattern that names are folded into
  std::size_t max_choices = 8;  ///< of one pair of braces that lists its choices
};

/// Folds weights into rows. Rows come in natural order of their first members. A row is always a
/// full product: a pattern never names a weight that is not a member.
std::vector<FoldedRow> fold_paths(const std::vector<FoldItem>& items,
                                  const FoldOptions& options = {});

/// Whether `a` comes before `b` in the order people expect: runs of digits compare as numbers.
/// A total order: equal only for equal strings.
bool natural_less(std::string_view a, std::string_view b) noexcept;

}  // namespace synps::cli
