#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "synps/path_pattern.h"

namespace synps {

/// What a policy can say of a pattern that is meant to match nothing.
inline constexpr std::string_view kOptionalHint = "set `optional = true` where that is meant";

/// What to do about a pattern that covers none of `paths`: the nearest one that does, with the path
/// it would cover; else the path that follows it furthest, if that is further than a `**`; else
/// `otherwise`. Empty when there are no paths.
std::string hint_for_unmatched(const PathPattern& pattern,
                               const std::vector<std::string_view>& paths,
                               std::string_view otherwise);

}  // namespace synps
