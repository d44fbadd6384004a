#pragma once

#include "buffer.h"
#include "scale_reader.h"
#include "stored_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec.h"
#include "tensor_reader.h"

namespace synps {

/// Reads pieces of a checkpoint's or an artifact's tensor as f32 values, through buffers that it
/// keeps. For one thread.
class SourceReader {
 public:
  /// Fills `out` with the piece's values, wherever it is cut; `codec` decodes the tensor's
  /// encoding. Values that f32 cannot hold (f64 is wider) go into `report`. Throws Error(io);
  /// Error(artifact) for a frame that is not sound.
  void read(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
            const Piece& piece, std::span<float> out, ValueReport& report);
  /// The same, multiplied by the scale, if there is one: see ScaleReader::fold().
  void read(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
            const std::optional<FoldedScale>& scale, const Piece& piece, std::span<float> out,
            ValueReport& report);

  /// The buffer, for other use between reads.
  Buffer<std::byte>& buffer() noexcept { return bytes_; }
  ScaleReader& scales() noexcept { return scales_; }
  /// What reads bytes, likewise.
  TensorReader& tensors() noexcept { return tensors_; }

 private:
  void read_blocks(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
                   const Piece& piece, std::span<float> out);

  void read_stored(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
                   const Piece& piece, std::span<float> out);

  Buffer<std::byte> bytes_;
  Buffer<float> blocks_;
  ScaleReader scales_;
  TensorReader tensors_;
  StoredReader stored_;
  const StoredWeight* started_ = nullptr;  ///< that stored_ is at
  const Codec* started_with_ = nullptr;
  Piece held_{};  ///< of the weight that stored_ is at, whose values blocks_ has
};

/// Bytes that a SourceReader keeps for pieces of at most `elements` elements of an artifact's
/// weight, which `codec` decodes, wherever they are cut: all but its buffer(). What a package's
/// codec gets copies of is in it.
std::uint64_t stored_source_bytes(const StoredWeight& weight, const Codec& codec,
                                  std::uint64_t elements);

/// Bytes of `elements` elements of a dense dtype; they are whole bytes.
std::uint64_t dense_bytes(DType dtype, std::uint64_t elements) noexcept;

}  // namespace synps
