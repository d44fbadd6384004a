#pragma once

#include "progress.h"
#include "synps/artifact_set.h"

namespace synps {

/// Compares all stored bytes of weights with their digests: damaged bytes are never read for their
/// values. `progress` hears of index().stored_bytes(). Throws Error(artifact), Error(io).
void check_artifact_values(const ArtifactSet& artifact, unsigned workers, Progress& progress);

/// Throws Error(artifact) when a file changed since it was opened.
void check_artifact_unchanged(const ArtifactSet& artifact);

}  // namespace synps
