#pragma once

#include <span>

#include "buffer.h"
#include "synps/checkpoint.h"
#include "synps/codec.h"
#include "tensor_reader.h"

namespace synps {

/// Whether a tensor stores f64 numbers, which decoding rounds to f32.
bool stores_f64(const SourceTensor& tensor) noexcept;

/// Reads pieces of such tensors without rounding, through buffers that it keeps. For one thread.
class F64Reader {
 public:
  /// Valid until the next call. Throws Error(io).
  std::span<const double> read(const Checkpoint& checkpoint, const SourceTensor& tensor,
                               const Piece& piece);

 private:
  TensorReader tensors_;
  Buffer<std::byte> bytes_;
  Buffer<double> values_;
};

/// Bytes that an F64Reader keeps for each element of its largest piece.
inline constexpr std::uint64_t kF64ReaderBytes = 2 * sizeof(double);

}  // namespace synps
