#pragma once

#include <vector>

#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/policy.h"

namespace synps {

/// Whether a policy was clear that it keeps all tensors of a fault, which lifts it. `resolutions`
/// by tensor.
bool lifts(const CheckpointFault& fault, const std::vector<WeightResolution>& resolutions);

/// The problems of the faults that the policy does not lift; empty for none.
std::vector<Problem> faults_left(const Checkpoint& checkpoint,
                                 const std::vector<WeightResolution>& resolutions);

/// What is most likely wrong with 8-bit floats and their scales, and no error: weights that are
/// decoded without a scale where others have one, and scales that fit nothing and are lifted by
/// nothing but a root that keeps all. A policy that names such a scale and keeps it means it.
std::vector<Problem> scale_warnings(const Checkpoint& checkpoint,
                                    const std::vector<WeightResolution>& resolutions);

}  // namespace synps
