#include "policy_coverage.h"

#include <algorithm>
#include <functional>
#include <map>

#include "path_segments.h"
#include "pattern_compare.h"
#include "pattern_match.h"

namespace synps {
namespace {

// Segments of a pattern that stand for themselves.
std::vector<std::string_view> literal_segments(std::string_view pattern) {
  std::vector<std::string_view> literal;
  for (const std::string_view segment : split_pattern(pattern))
    if (segment.find_first_of("*?{}\\") == std::string_view::npos) literal.push_back(segment);
  return literal;
}

// Lists rise, and often one alone has members.
void sort_if_needed(PolicySet& set) {
  if (!std::is_sorted(set.begin(), set.end())) std::sort(set.begin(), set.end());
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

void PolicyCoverage::find_candidates(std::string_view path,
                                     std::vector<const PolicySet*>& lists) const {
  lists.assign(1, &without_segment_);
  for (std::size_t begin = 0; begin <= path.size();) {
    const std::size_t end = std::min(path.find('.', begin), path.size());
    const auto it = by_segment_.find(path.substr(begin, end - begin));
    if (it != by_segment_.end()) lists.push_back(&it->second);
    begin = end + 1;
  }
  std::sort(lists.begin(), lists.end(), std::less<>());
  lists.erase(std::unique(lists.begin(), lists.end()), lists.end());
}

CoverageWalk::CoverageWalk(const PolicyCoverage& coverage)
    : coverage_(coverage), answers_(coverage.entries_.size()) {}

PolicySet CoverageWalk::covering(std::string_view path, StepBudget& budget) {
  begin(path);
  coverage_.find_candidates(path, candidates_);
  PolicySet covering;
  for (const PolicySet* list : candidates_)
    for (const std::uint32_t i : *list) {
      Answer& answer = answers_[i];
      if (still_holds(answer)) {
        pattern::spend(budget.left(), 1);
      } else {
        answer.path = number_;
        answer.covers = coverage_.entries_[i].pattern.covers(path, budget.left(), answer.read);
      }
      if (answer.covers) covering.push_back(i);
    }
  budget.check();
  sort_if_needed(covering);
  return covering;
}

// Notes from where on `path` differs from the one before, its end counted as a byte.
void CoverageWalk::begin(std::string_view path) {
  const std::size_t common = pattern::length_in_common(path, path_);
  const bool same = number_ > 0 && path == path_;
  ++number_;
  if (same) return;
  while (!changes_.empty() && changes_.back().byte >= common) changes_.pop_back();
  changes_.push_back({common, number_});
  path_ = path;
}

// Whether the bytes that decided are still those of the path.
bool CoverageWalk::still_holds(const Answer& answer) const noexcept {
  if (answer.path == 0) return false;
  for (auto change = changes_.rbegin(); change != changes_.rend(); ++change)
    if (change->byte < answer.read) return change->path <= answer.path;
  return true;
}

}  // namespace synps
