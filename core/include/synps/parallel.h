#pragma once

#include <cstdint>
#include <functional>

namespace synps {

/// Worker threads for `asked` (0: one a core): at least one, and no more than there are units.
unsigned worker_count(unsigned asked, std::uint64_t units) noexcept;

/// Runs `task(worker, unit)` for every unit in [0, units), on `workers` threads, the caller's among
/// them. Units are taken in ascending order. After an exception no further unit is taken, those
/// under way end, and the exception of the lowest unit is rethrown. Every unit below the lowest
/// failing one has then been run, so that which exception it is does not depend on threads.
///
/// Where the system refuses a thread the work is done by those there are.
void run_parallel(unsigned workers, std::uint64_t units,
                  const std::function<void(unsigned worker, std::uint64_t unit)>& task);

}  // namespace synps
