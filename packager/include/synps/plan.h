#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/checkpoint.h"
#include "synps/policy.h"

namespace synps {

/// What the decoded values of a weight are multiplied by.
struct FoldedScale {
  const SourceTensor* tensor = nullptr;  ///< of the checkpoint
  ScaleForm form = ScaleForm::tensor;
  const Codec* codec = nullptr;  ///< decodes it
};

/// The scale that belongs to the values of a tensor; nothing where it has none, or no codec here
/// decodes its scale.
std::optional<FoldedScale> folded_scale(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                        const CodecRegistry& codecs);

/// One weight's resolved form and its bytes, before a value is read.
struct PlannedWeight {
  std::size_t tensor = 0;               ///< index into Checkpoint::tensors()
  std::size_t stored = 0;               ///< index into layout.index.weights
  const Codec* source_codec = nullptr;  ///< decodes the source; null when the bytes are copied
  const Codec* codec = nullptr;         ///< encodes; null when the bytes are copied
  bool copied = false;                  ///< stored bytes are the source's bytes
  std::optional<FoldedScale> scale{};  ///< that its values are multiplied by, when they are encoded
  bool lossless = true;
  bool used_fallback = false;
  std::string fallback_reason;
  std::uint64_t source_bytes = 0;  ///< with the folded scale's
  std::uint64_t bytes = 0;   ///< in the artifact, padding included; of compressed components the
                             ///< most they can take
  std::string warning;       ///< what the policy asks for this weight and may not mean
  std::string policy;        ///< pattern that decided the format; "" when none was needed
  SourcePlace policy_place;  ///< of the scheme that decided; line 0 when none was needed
};

/// What pack will do. The artifact's size is exact, unless layout.has_bounds: then it is the most
/// that it can be, and the sizes of compressed components are.
struct Plan {
  std::vector<PlannedWeight> weights;  ///< by the bytes of the path; no scale that is folded
  ArtifactLayout layout;
  std::uint64_t source_bytes = 0;      ///< of all tensors
  std::uint64_t artifact_bytes = 0;    ///< of the whole file
  std::uint64_t resident_bytes = 0;    ///< on the heap once loaded, as planned and inflated
  std::uint64_t mapped_bytes = 0;      ///< mapped from the file
  std::uint64_t conversion_bytes = 0;  ///< made by conversions at load: by inflating
  bool fits = true;                    ///< within the budget, where one is given

  const StoredWeight& stored(const PlannedWeight& weight) const {
    return layout.index.weights[weight.stored];
  }
};

struct PlanOptions {
  bool allow_unmatched = false;
  std::optional<CompressRequest> compress{};  ///< for weights for which no policy sets it
};

/// Resolves every weight and lays the artifact out. Throws Error with all problems; of code
/// checkpoint for tensors that must not be decoded (Checkpoint::faults()), unless the policy keeps
/// them all.
Plan make_plan(const Checkpoint& checkpoint, const Policy& policy, const PlanOptions& options = {});

/// Bytes that loading a stored weight takes on the heap, in the file's mapping, and of them by
/// inflating what is compressed.
struct LoadedBytes {
  std::uint64_t resident = 0;
  std::uint64_t mapped = 0;
  std::uint64_t inflated = 0;
};
LoadedBytes loaded_bytes(const StoredWeight& weight) noexcept;

/// How a weight of a checkpoint looks to a policy, apart from what others say of it: whether it is
/// a scale, or stands in a fault.
WeightFacts weight_facts(const SourceTensor& tensor);
/// The same for one of a checkpoint, with that.
WeightFacts weight_facts(const Checkpoint& checkpoint, const SourceTensor& tensor);
/// The same for all of them, in their order.
std::vector<WeightFacts> weight_facts(const Checkpoint& checkpoint);

}  // namespace synps
