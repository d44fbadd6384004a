#pragma once

#include <vector>

#include "planner.h"
#include "synps/plan.h"

namespace synps {

/// How the components of a stored weight are compressed.
Compression compression_of(const StoredWeight& stored) noexcept;
/// The request that asks for that, of the level that was asked for where one was.
CompressRequest compress_request_of(const StoredWeight& stored) noexcept;

/// What no policy says of an artifact's weight stays as the artifact has it: changes the
/// resolutions to that, and returns the decisions and forms that come of it. What options.target
/// names decides orders and residencies all the same.
std::vector<GivenWeight> keep_unsaid(const Checkpoint& artifact, const CodecRegistry& codecs,
                                     const PlanOptions& options,
                                     std::vector<WeightResolution>& resolutions);

}  // namespace synps
