#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/checkpoint.h"
#include "synps/error.h"
#include "synps/gguf_plan.h"
#include "synps/gguf_types.h"
#include "synps/output_kind.h"
#include "synps/packed_form.h"
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
  std::size_t tensor = 0;                ///< index into Checkpoint::tensors()
  std::size_t stored = 0;                ///< index into layout.index.weights
  const Codec* source_codec = nullptr;   ///< decodes the source; null when the bytes are copied
  const Codec* codec = nullptr;          ///< encodes; null when the bytes are copied
  const GgufType* gguf_type = nullptr;   ///< of the tensor in a GGUF output, else null
  bool copied = false;                   ///< stored bytes are the source's, in whichever order
  const Codec* blocks = nullptr;         ///< whose blocks copying puts in another order, else null
  const StoredWeight* source = nullptr;  ///< of an artifact's weight: how it is stored there
  std::optional<FoldedScale> scale{};  ///< that its values are multiplied by, when they are encoded
  bool lossless = true;  ///< by types: every value that the source's encoding holds survives
  bool used_fallback = false;
  std::string fallback_reason;
  std::uint64_t source_bytes = 0;  ///< with the folded scale's
  std::uint64_t bytes = 0;   ///< in the artifact, padding included; of compressed components the
                             ///< most they can take
  std::string warning;       ///< what the policy asks for this weight and may not mean
  std::string policy;        ///< pattern that decided the format; "" when none was needed
  SourcePlace policy_place;  ///< of the scheme that decided; line 0 when none was needed
};

struct PlannedShard;

/// What pack will do. The output's size is exact, unless layout.has_bounds: then it is the most
/// that it can be, and the sizes of compressed components are.
struct Plan {
  std::vector<PlannedWeight> weights;  ///< by the bytes of the path; no scale that is folded
  /// Of a GGUF output it has the weights, their places, and the sizes of header and file; of its
  /// bytes nothing else.
  ArtifactLayout layout;
  std::optional<GgufPlan> gguf{};    ///< of a GGUF output
  std::uint64_t source_bytes = 0;    ///< of all tensors
  std::uint64_t artifact_bytes = 0;  ///< of the whole file, or of all files
  // What loading takes, by synps: 0 for a GGUF output.
  std::uint64_t resident_bytes = 0;    ///< on the heap once loaded, as planned and inflated
  std::uint64_t mapped_bytes = 0;      ///< mapped from the file
  std::uint64_t conversion_bytes = 0;  ///< made by conversions at load: by inflating
  std::vector<Problem> warnings{};     ///< what is most likely wrong with the checkpoint

  /// The files, where there are several; `layout` is then that of one file, which is not written.
  std::vector<PlannedShard> shards;
  std::string shard_index{};            ///< name of the shard index; of a GGUF output ""
  std::uint64_t shard_index_bytes = 0;  ///< of the shard index; the most, where there are bounds

  const StoredWeight& stored(const PlannedWeight& weight) const {
    return layout.index.weights[weight.stored];
  }
};

/// One of several files: an artifact of its own weights, or a part of a GGUF file.
struct PlannedShard {
  std::string file{};       ///< name, without a folder
  Plan plan{};              ///< of its weights alone
  bool over_limit = false;  ///< larger than a shard may be: one weight, which is not cut
};

struct PlanOptions {
  bool allow_unmatched = false;
  std::optional<CompressRequest> compress{};  ///< for weights for which no policy sets it
  OutputKind output = OutputKind::artifact;
  std::uint64_t max_shard_bytes = 0;  ///< of a file, above which there are several; 0: any
  std::string name = "model.synps";   ///< of the artifact's file: shards are called after it
  PackTargets target{};               ///< whose kernels and profile decide what policies leave open
  /// Of an artifact's weights for which nobody says an order: what kernels of the target want,
  /// rather than the order that they have, where they can keep it.
  bool order_for_target = false;
};

/// Throws Error(usage) when a checkpoint cannot become an output of this kind, whatever the policy
/// says.
void check_output_kind(const Checkpoint& checkpoint, OutputKind output);

/// What tensors of a GGUF output are aligned to, in bytes: as in the checkpoint.
std::uint64_t gguf_alignment(const Checkpoint& checkpoint);

/// Resolves every weight and lays the output out. Throws Error with all problems: those of code
/// checkpoint, for tensors that must not be decoded (faults_left()), and then those of the policy.
Plan make_plan(const Checkpoint& checkpoint, const Policy& policy, const PlanOptions& options = {});

/// How a weight of a checkpoint looks to a policy, apart from what others say of it: whether it is
/// a scale, or stands in a fault.
WeightFacts weight_facts(const SourceTensor& tensor);
/// The same for one of a checkpoint, with that.
WeightFacts weight_facts(const Checkpoint& checkpoint, const SourceTensor& tensor);
/// The same for all of them, in their order.
std::vector<WeightFacts> weight_facts(const Checkpoint& checkpoint);

}  // namespace synps
