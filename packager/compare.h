#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "buffer.h"
#include "f64_reader.h"
#include "progress.h"
#include "source_reader.h"
#include "stored_reader.h"
#include "synps/artifact_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/component_rows.h"
#include "synps/verify.h"
#include "value_comparison.h"

namespace synps {

/// What comparing a stored weight with its source gave.
struct WeightComparison {
  WeightError error;
  std::vector<Problem> problems;  ///< of code artifact: a lossless weight that differs, a weight
                                  ///< that cannot be compared
};

/// What is known of a stored weight before it is compared.
WeightError describe_error(const StoredWeight& stored);

/// Bytes of the buffers that comparing these weights takes.
std::uint64_t compare_buffers(const std::vector<StoredWeight>& weights,
                              const CodecRegistry& codecs);

/// Compares weights through buffers that it keeps. For one thread.
class WeightComparer {
 public:
  WeightComparer(const Checkpoint& checkpoint, const CodecRegistry& codecs, Progress& progress)
      : checkpoint_(checkpoint), codecs_(codecs), progress_(progress) {}

  /// Compares every value of a weight that is stored in `file` with its source of the same shape,
  /// dtype and encoding, in flat order. Throws Error(io), and Cancelled.
  WeightComparison compare(const SourceTensor& tensor, const ArtifactReader& file,
                           const StoredWeight& stored);

 private:
  std::optional<FirstDifference> compare_what_can_be(const SourceTensor& tensor,
                                                     const StoredWeight& stored,
                                                     WeightError& error);
  std::optional<FirstDifference> compare_bytes(const SourceTensor& tensor,
                                               const StoredWeight& stored, const RowBlocks& shape);
  std::optional<FirstDifference> compare_values(const SourceTensor& tensor,
                                                const StoredWeight& stored,
                                                const Codec& source_codec, const Codec& codec,
                                                const std::optional<FoldedScale>& scale,
                                                WeightError& error);
  Problem difference_problem(const StoredWeight& stored, const FirstDifference& difference) const;

  const Checkpoint& checkpoint_;
  const ArtifactReader* file_ = nullptr;  ///< of the weight being compared
  const CodecRegistry& codecs_;
  Progress& progress_;
  StoredReader stored_reader_;
  std::optional<ComponentRows> bytes_reader_;
  SourceReader source_reader_;
  F64Reader f64_reader_;
  Buffer<std::byte> stored_bytes_;
  Buffer<float> source_values_;
  Buffer<float> stored_values_;
};

}  // namespace synps
