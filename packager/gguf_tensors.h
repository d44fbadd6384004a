#pragma once

#include <cstdint>
#include <vector>

#include "gguf_input.h"
#include "synps/gguf.h"
#include "synps/gguf_types.h"

namespace synps {

inline constexpr std::uint64_t kMaxGgufNameBytes = 63;  ///< 64 with the NUL that ggml ends one with
inline constexpr std::uint32_t kMaxGgufDimensions = 4;

/// The tensor descriptions of a GGUF file, read one by one and then checked together.
class GgufTensorTable {
 public:
  GgufTensorTable(GgufInput& input, std::uint64_t alignment)
      : input_(input), alignment_(alignment) {}

  void read_next();
  /// Checks names and places. The input stands behind the last description.
  std::vector<GgufTensor> finish();

 private:
  void read_shape(GgufTensor& tensor);
  void read_type(GgufTensor& tensor);
  void check_names();
  void check_places();
  void fail_at(std::size_t tensor, GgufInput::Fault fault);

  GgufInput& input_;
  std::uint64_t alignment_;
  std::vector<GgufTensor> tensors_;       ///< offsets from the data section's start until finish()
  std::vector<std::uint64_t> described_;  ///< where each description starts in the file
};

}  // namespace synps
