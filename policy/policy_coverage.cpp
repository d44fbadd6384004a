#include "policy_coverage.h"

#include <algorithm>
#include <map>

#include "path_segments.h"

namespace synps {
namespace {

// Segments of a pattern that stand for themselves.
std::vector<std::string_view> literal_segments(std::string_view pattern) {
  std::vector<std::string_view> literal;
  for (const std::string_view segment : split_pattern(pattern))
    if (segment.find_first_of("*?{}\\") == std::string_view::npos) literal.push_back(segment);
  return literal;
}

}  // namespace

PolicyCoverage::PolicyCoverage(const std::vector<PolicyEntry>& entries) : entries_(entries) {
  std::map<std::string_view, std::size_t> uses;
  for (const PolicyEntry& entry : entries)
    for (const std::string_view segment : literal_segments(entry.pattern.text())) ++uses[segment];
  for (std::uint32_t i = 0; i < entries.size(); ++i) {
    const std::vector<std::string_view> literal = literal_segments(entries[i].pattern.text());
    const auto rarest =
        std::min_element(literal.begin(), literal.end(),
                         [&](std::string_view a, std::string_view b) { return uses[a] < uses[b]; });
    if (rarest == literal.end())
      without_segment_.push_back(i);
    else
      by_segment_[std::string(*rarest)].push_back(i);
  }
}

PolicySet PolicyCoverage::covering(std::string_view path, StepBudget& budget) const {
  PolicySet candidates = without_segment_;
  std::vector<std::string_view> segments = split_path(path);
  std::sort(segments.begin(), segments.end());
  segments.erase(std::unique(segments.begin(), segments.end()), segments.end());
  for (const std::string_view segment : segments) {
    const auto it = by_segment_.find(std::string(segment));
    if (it != by_segment_.end())
      candidates.insert(candidates.end(), it->second.begin(), it->second.end());
  }
  PolicySet covering;
  for (const std::uint32_t i : candidates)
    if (entries_[i].pattern.covers(path, budget.left())) covering.push_back(i);
  budget.check();
  std::sort(covering.begin(), covering.end());
  return covering;
}

}  // namespace synps
