#include "synps/quantized_activations.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <string>

#include "block_codec.h"
#include "float_bits.h"
#include "kernels/quantize_blocks.h"
#include "rounding.h"
#include "synps/error.h"

namespace synps {
namespace kernels {

void quantize_block(const float* x, std::size_t count, std::int8_t* codes, float* scale,
                    std::int16_t* sums) {
  std::uint32_t largest = 0;
  for (std::size_t i = 0; i < count; ++i) largest = std::max(largest, f32_magnitude_bits(x[i]));
  const bool finite = largest < kF32Infinity;
  const float d =
      finite ? std::bit_cast<float>(largest) / 127.0f : std::numeric_limits<float>::quiet_NaN();
  const float inverse = finite ? inverse_scale(d) : 0.0f;
  for (std::size_t i = 0; i < count; ++i)
    codes[i] = static_cast<std::int8_t>(finite ? round_half_away(x[i] * inverse) : 0);
  *scale = d;
  for (std::size_t p = 0; p < kPairSums; ++p) {
    int sum = 0;
    for (std::size_t i = 2 * p; i < count; i += 2 * kPairSums) sum += codes[i] + codes[i + 1];
    sums[p] = static_cast<std::int16_t>(sum * code_offset(count));
  }
}

}  // namespace kernels

void QuantizedActivations::assign(std::span<const float> x, std::uint32_t block) {
  if (block != 32 && block != 256) {
    Problem problem;
    problem.what = "no kernel rounds activations in such blocks";
    problem.found = std::to_string(block);
    problem.want = "32 or 256 elements";
    throw Error(std::move(problem));
  }
  columns_ = x.size();
  block_ = block;
  const std::size_t whole = x.size() / block;
  const std::size_t rest = x.size() % block;
  const std::size_t blocks = whole + (rest != 0 ? 1 : 0);
  codes_.resize(blocks * block);
  scales_.resize(blocks);
  sums_.resize(blocks * kernels::kPairSums);
  kernels::quantize_blocks(x.data(), whole, block, codes_.data(), scales_.data(), sums_.data());
  if (rest == 0) return;
  std::array<float, 256> padded{};
  std::copy_n(x.data() + whole * block, rest, padded.data());
  kernels::quantize_block(padded.data(), block, codes_.data() + whole * block,
                          scales_.data() + whole, sums_.data() + whole * kernels::kPairSums);
}

ActivationView QuantizedActivations::view() const noexcept {
  return {columns_, block_, codes_.data(), scales_.data(), sums_.data()};
}

void dequantize(const ActivationView& activations, std::span<float> out) {
  for (std::size_t i = 0; i < out.size(); ++i)
    out[i] = static_cast<float>(activations.codes[i]) * activations.scales[i / activations.block];
}

}  // namespace synps
