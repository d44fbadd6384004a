#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "compare_sources.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/policy.h"

namespace synps {

/// A side of a comparison: its weights, and what decodes them.
class DiffSide {
 public:
  /// Both outlive it.
  DiffSide(const Checkpoint& checkpoint, const CodecRegistry& codecs);

  const Checkpoint& checkpoint() const noexcept { return checkpoint_; }
  /// Indices of weights into checkpoint().tensors(), key-values left out.
  const std::vector<std::size_t>& weights() const noexcept { return weights_; }
  /// The tensor of that path, or null.
  const SourceTensor* find(std::string_view path) const noexcept;
  /// The tensor with what decodes it. Where nothing does, `reason` says why.
  ComparedTensor compared(std::size_t tensor, std::string* reason = nullptr) const;

 private:
  const Checkpoint& checkpoint_;
  const CodecRegistry& codecs_;
  std::vector<WeightFacts> facts_;  ///< by tensor
  std::vector<std::size_t> weights_;
};

/// A path, and the tensors that have it.
struct DiffPair {
  std::optional<std::size_t> a;  ///< index into the tensors of A
  std::optional<std::size_t> b;  ///< into those of B
};

/// Every path of either side, by its bytes.
std::vector<DiffPair> pair_paths(const DiffSide& a, const DiffSide& b);

/// Whether `tensor` of a side, which the other side lacks, is the scale of a weight that the other
/// side has without a scale: decoded, and multiplied by it.
bool is_folded(const DiffSide& side, std::size_t tensor, const DiffSide& other);

}  // namespace synps
