#include "group_closure.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>

#include "explanation.h"

namespace synps::cli {
namespace {

/// The sets of one group: members that agree on what its wildcards read.
class GroupSets {
 public:
  GroupSets(const Policy& policy, const PolicyGroup& group, const Checkpoint& checkpoint) {
    std::uint64_t steps = kGroupSteps;
    const std::vector<SourceTensor>& tensors = checkpoint.tensors();
    std::map<std::u32string, std::size_t> numbers;
    for (std::size_t i = 0; i < tensors.size(); ++i) {
      std::u32string key = group.paths.wildcard_key(tensors[i].weight.path, steps);
      check_group_steps(steps, policy, group);
      if (key.empty()) continue;  // no member
      const std::size_t set = numbers.emplace(std::move(key), sets_.size()).first->second;
      if (set == sets_.size()) sets_.emplace_back();
      sets_[set].push_back(i);
      set_of_.emplace(i, set);
    }
  }

  /// Adds the members of the weight's set to `found`, and the new ones to `next`; once a set.
  void reach(std::size_t weight, std::set<std::size_t>& found, std::vector<std::size_t>& next) {
    const auto set = set_of_.find(weight);
    if (set == set_of_.end()) return;
    for (const std::size_t member : sets_[set->second])
      if (found.insert(member).second) next.push_back(member);
    sets_[set->second].clear();
  }

 private:
  std::vector<std::vector<std::size_t>> sets_;
  std::map<std::size_t, std::size_t> set_of_;
};

}  // namespace

bool shares_format(const PolicyGroup& group) {
  return std::find(group.same.begin(), group.same.end(), "format") != group.same.end();
}

std::vector<std::size_t> format_closure(const Policy& policy, const Checkpoint& checkpoint,
                                        const std::string& path) {
  const std::vector<SourceTensor>& tensors = checkpoint.tensors();
  const auto start = std::find_if(tensors.begin(), tensors.end(), [&](const SourceTensor& tensor) {
    return tensor.weight.path == path;
  });
  std::set<std::size_t> found{static_cast<std::size_t>(start - tensors.begin())};
  std::vector<std::size_t> next(found.begin(), found.end());
  const std::vector<PolicyGroup>& groups = policy.groups();
  std::vector<std::optional<GroupSets>> sets(groups.size());
  while (!next.empty()) {
    const std::size_t weight = next.back();
    next.pop_back();
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!shares_format(groups[g]) || !groups[g].paths.covers(tensors[weight].weight.path))
        continue;
      if (!sets[g]) sets[g].emplace(policy, groups[g], checkpoint);
      sets[g]->reach(weight, found, next);
    }
  }
  return {found.begin(), found.end()};
}

}  // namespace synps::cli
