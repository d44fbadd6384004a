#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "path_groups.h"
#include "synps/policy.h"

namespace synps::cli {

/// `text` as lines of comment, each after `prefix`.
std::string comment(std::string_view text, std::string_view prefix = "# ");

/// "a", "a and b", "a, b and c".
std::string joined(const std::vector<std::string>& parts);

/// What comments say of weights, given by index.
class StarterSummary {
 public:
  using Members = std::vector<std::size_t>;

  explicit StarterSummary(const std::vector<WeightFacts>& weights) : weights_(weights) {}

  /// "12 weights of [64, 64]", "9 weights (6 of [64, 64] and 3 of [64])".
  std::string shapes(const Members& members) const;
  /// "bf16", "bf16 and f32"; the one with the most bytes first.
  std::string encodings(const Members& members) const;
  /// "12 weights, 1.5 MiB of bf16".
  std::string amount(const Members& members) const;
  /// "12 weights of [64, 64], 1.5 MiB of bf16".
  std::string shapes_and_amount(const Members& members) const;
  /// "48", "3, 7 and 11", the last one cut short.
  std::string row_lengths(const Members& members) const;
  std::uint64_t bytes(const Members& members) const;
  /// For each of several sets of weights, all floats or all not, lines of comment that list them by
  /// pattern.
  std::vector<std::string> lists(const std::vector<Members>& sets) const;
  /// The checkpoint's tensors by encoding, as lines of comment.
  std::string table_of_encodings() const;

 private:
  std::string list(const std::vector<PathGroup>& rows) const;
  std::string brief_shapes(const Members& members) const;

  const std::vector<WeightFacts>& weights_;
};

}  // namespace synps::cli
