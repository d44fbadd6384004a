#pragma once

#include <cstdint>
#include <string>

#include "synps/checkpoint.h"

namespace synps::cli {

/// A source of weights, as reports name it.
struct SideSummary {
  std::string path;                ///< as it was given
  std::string kind;                ///< "artifact", "GGUF", "safetensors"
  std::uint64_t weights = 0;       ///< key-values left out
  std::uint64_t elements = 0;      ///< of all weights
  std::uint64_t weight_bytes = 0;  ///< of all weights, without padding
  std::uint64_t file_bytes = 0;    ///< of all files
};

SideSummary summarize(const Checkpoint& source);

/// What a tensor is stored in, as short as a policy may write it: "bf16", "q8_0".
std::string encoding_text(const SourceTensor& tensor);

}  // namespace synps::cli
