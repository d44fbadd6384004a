#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pattern_nfa.h"

namespace synps::pattern {

/// What a search for a path came to.
struct PathSearch {
  bool decided = false;             ///< false: the steps ran out
  std::optional<std::string> path;  ///< nothing: there is none
};

/// A shortest path that all of `inside` (at least one) accept and none of `outside` does, over all
/// paths there could be. Subtracts the steps taken from `steps`, to zero when they run out; one
/// search takes kMaxCompareSteps at most.
PathSearch find_path(const std::vector<const Nfa*>& inside, const std::vector<const Nfa*>& outside,
                     std::uint64_t& steps);

}  // namespace synps::pattern
