#pragma once

#include <optional>

#include "progress.h"
#include "synps/artifact_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/verify.h"

namespace synps {

/// What comparing a stored weight with its source gave.
struct WeightComparison {
  WeightError error;
  std::vector<Problem> problems;  ///< of code artifact: a lossless weight that differs, a weight
                                  ///< that cannot be compared
};

/// Compares every value of a stored weight with its source of the same shape, dtype and encoding,
/// in flat order and bounded memory. Throws Error(io), and Cancelled.
WeightComparison compare_weight(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                const ArtifactReader& artifact, const StoredWeight& stored,
                                const CodecRegistry& codecs, Progress& progress);

}  // namespace synps
