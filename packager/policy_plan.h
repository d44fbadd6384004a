#pragma once

#include <vector>

#include "planner.h"
#include "synps/plan.h"

namespace synps {

/// What the policy says of every tensor. The checkpoint's faults go before the policy's, which may
/// come of them. Throws Error with all of them.
std::vector<WeightResolution> resolve_all(const Checkpoint& checkpoint, const Policy& policy,
                                          const PlanOptions& options);

/// The plan that comes of it. `given`: by tensor, what holds whatever the resolution says; empty
/// for nothing.
Plan plan_resolved(const Checkpoint& checkpoint, const Policy& policy,
                   std::vector<WeightResolution> resolutions, std::vector<GivenWeight> given,
                   const PlanOptions& options);

}  // namespace synps
