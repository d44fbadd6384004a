#pragma once

#include <cstdint>
#include <functional>
#include <span>

#include "synps/executor.h"
#include "synps/kernel.h"

namespace synps {

/// Writes rows [first, first + count) of a matrix as f32. Called from any number of threads; may
/// throw.
using DecodeRows =
    std::function<void(std::uint64_t first, std::uint64_t count, std::span<float> out)>;

/// What is multiplied where no kernel reads the stored bytes.
struct DecodedMatrix {
  std::uint64_t rows = 0;
  std::uint64_t columns = 0;  ///< not 0
  DecodeRows decode{};
};

/// y[v] = W x[v] for every vector v, as matmul() has it and with its bits: rows are decoded in
/// pieces of 256 KiB, or of one row, which are multiplied by `f32_matmul`, a kernel of f32:f32.
/// Sizes have been checked. Throws what `decode` throws, and std::bad_alloc.
void multiply_decoded(const Kernel& f32_matmul, const DecodedMatrix& weights, std::uint64_t vectors,
                      std::span<const float> x, std::span<float> y, Executor& executor);

}  // namespace synps
