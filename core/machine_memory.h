#pragma once

#include <functional>
#include <optional>
#include <string>

#include "synps/profile.h"

namespace synps {

/// The text of a file of /proc or /sys, or nothing when there is none to read.
using ReadText = std::function<std::optional<std::string>(const std::string& path)>;

/// machine_memory() of what `read` finds: MemTotal and MemAvailable of /proc/meminfo (proc(5)), and
/// the memory limits of the process's control groups (/proc/self/cgroup, cgroups(7)), version 2 and
/// 1, of every group up to the root. What a group could give back without swapping (inactive file
/// pages) counts as available.
MachineMemory machine_memory(const ReadText& read);

}  // namespace synps
