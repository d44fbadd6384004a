#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "synps/checkpoint.h"

namespace synps {

/// Blocks of a block scale over so many rows or columns.
constexpr std::uint64_t scale_blocks(std::uint64_t extent) noexcept {
  return extent / kScaleBlock + (extent % kScaleBlock != 0 ? 1 : 0);
}

/// Whether scales may be of that dtype.
bool is_scale_dtype(DType dtype) noexcept;

/// How a scale of this shape lies over a weight of that one; nothing where it does not. Where a
/// shape fits two forms they mean the same, for then there is one number.
std::optional<ScaleForm> scale_form(const Shape& weight, const Shape& scale);

/// Binds companion scales to the 8-bit float weights that they are for, by their names, in a
/// safetensors checkpoint; those that fit nothing become faults. Tensors that are packed stay as
/// they are. `tensors` are sorted by path.
///
/// The scale of `X.weight` is called
/// - `X.weight_scale`: compressed-tensors, llm-compressor, FBGEMM, ModelOpt, ComfyUI;
/// - `X.weight_scale_inv`: DeepSeek-V3, whose README_WEIGHTS.md says that decoding *multiplies* by
///   it, as `weight_dequant` in its inference/kernel.py does. It is the inverse of what the
///   quantizer multiplied by;
/// - `X.scale_weight`: scaled checkpoints of ComfyUI, before it took `weight_scale`;
/// and of another 8-bit float tensor `T`, such as stacked experts, `T_scale` or `T_scale_inv`.
/// value = code × scale, for all of them.
void bind_scales(std::vector<SourceTensor>& tensors, std::vector<CheckpointFault>& faults);

}  // namespace synps
