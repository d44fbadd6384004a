#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/policy.h"

namespace synps::cli {

/// Whether the group's members have to share a format.
bool shares_format(const PolicyGroup& group);

/// The numbers of the checkpoint's weights that must have one format with that of `path`, because
/// groups say so, directly or through others; itself included, by number. Throws Error(limit) when
/// finding them takes too long.
std::vector<std::size_t> format_closure(const Policy& policy, const Checkpoint& checkpoint,
                                        const std::string& path);

}  // namespace synps::cli
