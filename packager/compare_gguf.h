#pragma once

#include <optional>
#include <string>
#include <vector>

#include "compare_sources.h"
#include "progress.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/verify.h"

namespace synps {

/// What comparing a tensor with its source gave.
struct TensorComparison {
  WeightError error;
  std::optional<Problem> problem;  ///< of code artifact: a lossless tensor that differs, one that
                                   ///< is not its source's, or cannot be compared
};

/// Compares tensors of a GGUF file with those of the checkpoint that it was made of, through
/// buffers that it keeps. For one thread.
class TensorComparer {
 public:
  TensorComparer(const Checkpoint& checkpoint, const Checkpoint& written,
                 const CodecRegistry& codecs, Progress& progress)
      : checkpoint_(checkpoint), written_(written), codecs_(codecs), comparer_(progress) {}

  /// Tensors of the same path. Throws Error(io), Cancelled.
  TensorComparison compare(const SourceTensor& source, const SourceTensor& stored);

 private:
  Problem problem(const SourceTensor& stored, std::string what, std::string found,
                  std::string want) const;

  const Checkpoint& checkpoint_;
  const Checkpoint& written_;
  const CodecRegistry& codecs_;
  SourceComparer comparer_;
};

/// What key-values of a GGUF file are not the checkpoint's, and should be: all but those of parts,
/// general.file_type and general.quantization_version. Problems of code artifact.
std::vector<Problem> compare_key_values(const Checkpoint& checkpoint, const Checkpoint& written);

}  // namespace synps
