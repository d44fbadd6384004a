#pragma once

#include <cstdint>
#include <span>

#include "buffer.h"
#include "synps/plan.h"
#include "tensor_reader.h"

namespace synps {

/// Multiplies pieces of an 8-bit float weight by its companion scale, of which it reads what a
/// piece needs, through buffers that it keeps. For one thread.
class ScaleReader {
 public:
  /// `values` are the decoded codes of the piece of `weight`. Each becomes value × scale, one
  /// multiplication of f32 numbers, rounded to nearest even; the scale is widened to f32 first,
  /// which is exact. Products that became infinite or zero go into `report`. Throws Error(io);
  /// Error(checkpoint), naming the place, for a scale that is not finite or is zero.
  void fold(const Checkpoint& checkpoint, const Weight& weight, const FoldedScale& scale,
            const Piece& piece, std::span<float> values, ValueReport& report);

  /// Makes room for so many numbers of a scale, of dtypes that scales have.
  void reserve(std::uint64_t numbers);

 private:
  std::span<const float> read(const Checkpoint& checkpoint, const FoldedScale& scale,
                              std::uint64_t first, std::uint64_t count);

  TensorReader tensors_;
  Buffer<std::byte> bytes_;
  Buffer<float> numbers_;
};

/// Numbers of a scale that a piece of at most so many elements needs, or a few more. `elements` are
/// rows as next_piece() cuts them. Saturates.
std::uint64_t scale_numbers(const Shape& weight, ScaleForm form, std::uint64_t elements);

/// Bytes that reserve() takes for each.
inline constexpr std::uint64_t kScaleNumberBytes = 2 * sizeof(float);

}  // namespace synps
