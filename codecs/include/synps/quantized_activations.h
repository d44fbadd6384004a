#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "synps/kernel_call.h"

namespace synps {

/// Activations rounded to 8 bits a block, for matvec_q8. A block of 32 or 256 elements, the last
/// one padded with zeros, has
///   d = max|x| / 127                in f32
///   q = round(x × (1 / d))          halves away from zero; 0 where d is 0 or 1/d not finite
/// and stands for q × d. A block with a NaN or an infinity has d = NaN and q = 0: every result is
/// then NaN.
class QuantizedActivations {
 public:
  /// Rounds `x`. `block` is 32 or 256: the kernel's activation_block. Throws Error(usage) for
  /// another. Allocates only where it was never given so many before.
  void assign(std::span<const float> x, std::uint32_t block);

  /// Valid until the next assign().
  ActivationView view() const noexcept;

 private:
  std::uint64_t columns_ = 0;
  std::uint32_t block_ = 32;
  std::vector<std::int8_t> codes_;
  std::vector<float> scales_;
  std::vector<std::int16_t> sums_;
};

/// What the codes and scales stand for, `columns` values.
void dequantize(const ActivationView& activations, std::span<float> out);

}  // namespace synps
