#pragma once

#include <cstdint>
#include <optional>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/scale_product.h"

namespace synps {

/// Whether scales may be of that dtype.
bool is_scale_dtype(DType dtype) noexcept;

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
