#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>

#include "synps/checkpoint.h"
#include "synps/codec.h"
#include "synps/component_rows.h"

namespace synps {

/// Reads bytes of source tensors: of a checkpoint as they lie there, of an artifact those of a
/// component, inflated where they are compressed. Digests are not compared. For one thread.
class TensorReader {
 public:
  /// Fills `out` from `offset` of a component, in the order in which it is stored. A checkpoint's
  /// tensor has one component. Throws Error(io); Error(artifact) for a frame that is not sound.
  void read(const Checkpoint& checkpoint, const SourceTensor& tensor, std::size_t component,
            std::uint64_t offset, std::span<std::byte> out);

  /// The same of what the component is in rows1; `codec` is that of the weight.
  void read_rows1(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
                  std::size_t component, std::uint64_t offset, std::span<std::byte> out);

 private:
  ComponentRows& reader_of(const Checkpoint& checkpoint, const SourceTensor& tensor);

  std::optional<ComponentRows> rows_;  ///< made for the first tensor of an artifact
};

/// Bytes that a TensorReader keeps for an artifact's weight: of what inflates it and undoes its
/// order.
std::uint64_t tensor_reader_bytes(const StoredWeight& weight) noexcept;

}  // namespace synps
