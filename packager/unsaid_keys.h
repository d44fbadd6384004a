#pragma once

#include <vector>

#include "planner.h"
#include "synps/plan.h"

namespace synps {

/// What no policy says of an artifact's weight stays as the artifact has it: changes the
/// resolutions to that, and returns the decisions and forms that come of it. What options.target
/// names decides orders and residencies all the same.
std::vector<GivenWeight> keep_unsaid(const Checkpoint& artifact, const CodecRegistry& codecs,
                                     const PlanOptions& options,
                                     std::vector<WeightResolution>& resolutions);

}  // namespace synps
