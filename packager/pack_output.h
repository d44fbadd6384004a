#pragma once

#include <cstdint>
#include <memory>
#include <optional>

#include "pack_trace.h"
#include "progress.h"
#include "synps/artifact_layout.h"
#include "synps/checkpoint.h"
#include "synps/plan.h"
#include "synps/weight_writer.h"

namespace synps {

/// The file that pack writes, of whatever kind the plan is for. Workers put the bytes of weights at
/// planned places through its writer; what else the kind needs, it knows.
class PackOutput {
 public:
  virtual ~PackOutput() = default;
  virtual WeightWriter& writer() noexcept = 0;
  /// Writes the rest, all bytes of weights being there. Does not commit the file. Returns the
  /// layout with true sizes, where the planned one had bounds. `trace` may be null.
  virtual std::optional<ArtifactLayout> finish(unsigned most_workers, Progress& progress,
                                               PackTrace* trace) = 0;
  /// Of an artifact, the digest of its padded index, once it is finished; else null.
  virtual const Digest* index_digest() const noexcept { return nullptr; }
};

/// Allocates the whole file. All outlive the output.
std::unique_ptr<PackOutput> make_pack_output(const Checkpoint& checkpoint, const Plan& plan,
                                             AtomicFile& file);

}  // namespace synps
