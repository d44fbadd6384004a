#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "buffer.h"
#include "f64_reader.h"
#include "progress.h"
#include "source_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec.h"
#include "synps/plan.h"
#include "value_comparison.h"

namespace synps {

/// A tensor of one side, and what decodes it.
struct ComparedTensor {
  const Checkpoint* checkpoint = nullptr;
  const SourceTensor* tensor = nullptr;
  const Codec* codec = nullptr;        ///< null: only its bytes can be compared
  std::optional<FoldedScale> scale{};  ///< that its values are multiplied by
  const Codec* layout = nullptr;       ///< whose blocks an artifact has, decoded or not
};

/// Compares tensors of two sources of weights, through buffers that it keeps. For one thread.
class SourceComparer {
 public:
  explicit SourceComparer(Progress& progress) : progress_(progress) {}

  /// The first byte that differs, of tensors with components of the same sizes, in rows1 where
  /// there are blocks. Throws Error(io), Cancelled; Error(artifact) for a frame that is not sound.
  std::optional<FirstDifference> compare_bytes(const ComparedTensor& reference,
                                               const ComparedTensor& other);
  /// All values in flat order, of tensors of the same shape that both have a codec. Throws as
  /// compare_bytes(); Error(checkpoint) for a scale that no weight can be multiplied by.
  ValueComparison compare_values(const ComparedTensor& reference, const ComparedTensor& other);

 private:
  std::optional<FirstDifference> compare_component(const ComparedTensor& reference,
                                                   const ComparedTensor& other,
                                                   std::size_t component, std::uint64_t bytes);

  /// Reads one side.
  struct Side {
    SourceReader reader;
    F64Reader f64_reader;
    Buffer<float> values;

    std::span<float> read(const ComparedTensor& from, const Piece& piece);
    std::span<const std::byte> read_bytes(const ComparedTensor& from, std::size_t component,
                                          std::uint64_t offset, std::uint64_t size);
  };

  Progress& progress_;
  Side reference_;
  Side other_;
};

/// The sizes of a tensor's components, without padding and inflated; a checkpoint's have one.
std::vector<std::uint64_t> component_sizes(const SourceTensor& tensor);

/// Bytes of the buffers that comparing pairs of tensors takes: the most of all pairs that are
/// added.
class CompareNeed {
 public:
  void add(const ComparedTensor& reference, const ComparedTensor& other);
  std::uint64_t bytes() const noexcept;

 private:
  void add_side(const ComparedTensor& side, std::uint64_t piece);

  std::uint64_t floats_ = 0;  ///< bytes of a piece's values
  std::uint64_t wide_ = 0;    ///< of a piece's f64 numbers, in both forms
  std::uint64_t scales_ = 0;  ///< numbers
  std::uint64_t packages_ = 0;
  std::uint64_t stored_ = 0;  ///< of reading an artifact
};

}  // namespace synps
