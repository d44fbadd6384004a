#pragma once

namespace synps {

/// Compares f16 and bf16 with their scalar reference on all 2^32 f32 bit patterns, with every set
/// of SIMD instructions that runs here. Takes minutes. Prints what it did; false: they differ.
bool self_check();

}  // namespace synps
