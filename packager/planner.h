#pragma once

#include <cstddef>
#include <optional>
#include <vector>

#include "not_carried.h"
#include "synps/artifact_layout.h"
#include "synps/plan.h"

namespace synps {

/// What an artifact says of a weight that stays, or becomes so, whatever a policy would say.
struct GivenWeight {
  SharedList<Decision> decisions{};
  /// Where the weight is not encoded anew, or its order is asked for by name.
  std::optional<WeightForm> form{};
};

/// What an artifact says of who decided: policies, by their patterns, and whoever called.
std::vector<Decision> decisions_of(const WeightResolution& resolution);

/// Plans weights one by one, and lays them out.
class Planner {
 public:
  /// `values` are the schemes of what is no constant. All outlive the planner.
  Planner(const Checkpoint& checkpoint, const CodecRegistry& codecs,
          std::vector<ValueScheme> values, const PlanOptions& options);

  /// Whether the source's bytes are stored as they are.
  bool keeps(std::size_t index, const WeightResolution& resolution) const;
  /// The next tensor, by the bytes of the path. `given` null: what the resolution says.
  void add(std::size_t index, const WeightResolution& resolution,
           const GivenWeight* given = nullptr);
  Plan finish();

 private:
  void describe(StoredWeight& stored, const SourceTensor& tensor,
                const WeightResolution& resolution) const;
  void keep(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor) const;
  void encode(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor,
              const Codec& codec) const;
  void fold_scale(PlannedWeight& planned, const SourceTensor& tensor) const;
  void set_form(PlannedWeight& planned, StoredWeight& stored, const SourceTensor& tensor,
                const WeightResolution& resolution, const GivenWeight* given) const;
  void add_for_gguf(PlannedWeight& planned, const SourceTensor& tensor,
                    const WeightResolution& resolution);
  Plan finish_artifact();
  Plan finish_gguf();

  const Checkpoint& checkpoint_;
  const CodecRegistry& codecs_;
  const PackTargets no_target_{};
  const PackTargets* target_ = &no_target_;
  ArtifactContents contents_;
  Plan plan_;
  NotCarriedList not_carried_;  ///< by a GGUF output
};

/// Cuts what is larger than options.max_shard_bytes into files.
void cut_plan(Plan& plan, const Checkpoint& checkpoint, const CodecRegistry& codecs,
              const PlanOptions& options);

}  // namespace synps
