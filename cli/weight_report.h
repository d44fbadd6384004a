#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "load_report.h"
#include "synps/artifact_set.h"
#include "synps/memory.h"
#include "synps/pack.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "text.h"

namespace synps::cli {

/// What plan, pack and inspect show of a weight of an artifact, or of a GGUF file to be written.
struct ReportedWeight {
  const StoredWeight* stored = nullptr;
  const StoredWeight* source = nullptr;  ///< of an artifact that is repacked: how it has it
  bool lossless = true;  ///< what is done to it; of an artifact that exists, all that was done
  std::uint64_t source_bytes = 0;
  std::uint64_t bytes = 0;       ///< in the artifact, padding included
  bool bytes_are_bound = false;  ///< to be compressed: bytes are the most it can take
  bool compress_given = false;   ///< the command line, no policy, asked to compress or not to
  bool format_given = false;     ///< likewise for the codec
  const GgufType* gguf_type = nullptr;  ///< of the tensor in a GGUF file; null for an artifact
  const Shape* gguf_shape = nullptr;    ///< with gguf_type
  std::string policy;             ///< pattern that decided the format; "" when none was needed
  std::string policy_file;        ///< that the deciding scheme is in; "" when unknown
  std::uint32_t policy_line = 0;  ///< 0: unknown
  bool fallback = false;          ///< its scheme's codec could not be used
  std::string fallback_reason;    ///< "" when unknown: an artifact does not hold it
};

/// The weight's shape in the output; of what nothing decodes, rows of bytes in an artifact.
inline const Shape& shape_of(const ReportedWeight& weight) noexcept {
  return weight.gguf_shape != nullptr ? *weight.gguf_shape : weight.stored->weight.shape;
}

/// A file of an artifact in several files.
struct ReportedShard {
  std::string file{};  ///< name, without a folder
  std::uint64_t bytes = 0;
  std::uint64_t weights = 0;
  bool over_limit = false;  ///< larger than was asked for: one weight, which is not cut
};

/// A whole artifact, written or to be written, or a GGUF file to be written. Refers to the plan or
/// reader it was made of.
struct WeightReport {
  std::string policy_file;              ///< "" for an artifact that exists
  std::vector<ReportedWeight> weights;  ///< by the bytes of the path
  std::uint64_t source_bytes = 0;
  std::uint64_t artifact_bytes = 0;
  std::optional<LoadReport> load{};  ///< by plan; none for a GGUF file
  bool sizes_are_bounds = false;  ///< some weight's bytes are bounds, and so artifact_bytes is one
  const Checkpoint* checkpoint = nullptr;            ///< null for an artifact that exists
  const GgufPlan* gguf = nullptr;                    ///< of a GGUF file; null for an artifact
  std::optional<MemoryNeed> pack_memory{};           ///< what packing takes; none for an artifact
  const std::vector<ValueScheme>* values = nullptr;  ///< schemes for values that are not weights
  std::vector<ReportedShard> shards{};               ///< none: one file
  ReportedShard shard_index{};                       ///< where there are shards
};

/// The compressed components of a report together.
struct CompressionTotal {
  std::uint64_t weights = 0;   ///< that have any
  std::uint64_t inflated = 0;  ///< their true bytes
  std::uint64_t stored = 0;    ///< bytes of their frames, or the most they can have
};
CompressionTotal compression_total(const WeightReport& report) noexcept;

/// How the weight's components are stored: "none", "zstd:3".
CompressRequest shown_compression(const StoredWeight& weight) noexcept;

/// `policy` is the one that decided, or null.
WeightReport report_plan(const Plan& plan, const Policy* policy, const Checkpoint& checkpoint);
/// Replaces what a plan's report says of sizes by what they turned out to be. `written` outlives
/// it.
void set_true_sizes(WeightReport& report, const ArtifactLayout& written);
/// The same for the files of an artifact in several.
void set_true_sizes(WeightReport& report, const std::vector<PackedFile>& written);
/// What loading the artifact does.
WeightReport report_artifact(const ArtifactSet& artifact, const CodecRegistry& codecs);

/// Elements of a weight; of one that is kept as rows of bytes, what the source's blocks hold.
std::uint64_t elements_of(const StoredWeight& stored) noexcept;

/// One line for people about what becomes of a weight: encodings, loss, form, and the policy.
std::string describe(const ReportedWeight& weight);

}  // namespace synps::cli
