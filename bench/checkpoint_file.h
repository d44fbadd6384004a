#pragma once

#include <string>
#include <vector>

#include "synps/weight.h"

namespace synps::bench {

/// Writes a safetensors file of these weights: all f32, all f16 or all bf16, no two of one path,
/// and stored by path. Their values are made up, the same in every run: a normal distribution, of
/// rank-1 weights (norms) around 1 and of the others around 0, with a width that differs from
/// weight to weight, as in trained models. On all cores. Throws Error(output) when the file exists,
/// Error(io).
void write_checkpoint(const std::string& path, const std::vector<Weight>& weights);

}  // namespace synps::bench
