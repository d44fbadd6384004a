#pragma once

#include <vector>

#include "synps/plan.h"

namespace synps {

/// What the policy says of every tensor. The checkpoint's faults go before the policy's, which may
/// come of them. Throws Error with all of them.
std::vector<WeightResolution> resolve_all(const Checkpoint& checkpoint, const Policy& policy,
                                          const PlanOptions& options);

/// The plan that comes of it.
Plan plan_resolved(const Checkpoint& checkpoint, const Policy& policy,
                   std::vector<WeightResolution> resolutions, const PlanOptions& options);

}  // namespace synps
