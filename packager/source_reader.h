#pragma once

#include "buffer.h"
#include "scale_reader.h"
#include "synps/checkpoint.h"
#include "synps/codec.h"

namespace synps {

/// Reads pieces of a checkpoint's tensor as f32 values, through buffers that it keeps. For one
/// thread.
class SourceReader {
 public:
  /// Fills `out` with the piece's values, wherever it is cut; `codec` decodes the tensor's
  /// encoding. Values that f32 cannot hold (f64 is wider) go into `report`. Throws Error(io).
  void read(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
            const Piece& piece, std::span<float> out, ValueReport& report);
  /// The same, multiplied by the scale, if there is one: see ScaleReader::fold().
  void read(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
            const std::optional<FoldedScale>& scale, const Piece& piece, std::span<float> out,
            ValueReport& report);

  /// The buffer, for other use between reads.
  Buffer<std::byte>& buffer() noexcept { return bytes_; }
  ScaleReader& scales() noexcept { return scales_; }

 private:
  void read_blocks(const Checkpoint& checkpoint, const SourceTensor& tensor, const Codec& codec,
                   const Piece& piece, std::span<float> out);

  Buffer<std::byte> bytes_;
  Buffer<float> blocks_;
  ScaleReader scales_;
};

/// Bytes of `elements` elements of a dense dtype; they are whole bytes.
std::uint64_t dense_bytes(DType dtype, std::uint64_t elements) noexcept;

}  // namespace synps
