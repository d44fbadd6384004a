#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/chains.h"
#include "kernels/row_formats.h"
#include "synps/kernel_call.h"

namespace synps::kernels {

// The kernels in scalar code, which defines the bits of all others.

/// matvec and matmul.
template <typename Format, bool kRows8>
void portable_matmul(const KernelCall& call) {
  const StoredMatrix& weights = *call.weights;
  const StoredRows<Format> rows(weights, kRows8);
  const std::size_t columns = weights.columns;
  for (std::uint64_t v = 0; v < call.vectors; ++v) {
    const float* x = call.x + v * columns;
    for (std::uint64_t r = call.first_row; r < call.end_row; ++r) {
      const std::byte* block = rows.row(r);
      float chains[kChains] = {};
      for (std::size_t first = 0; first < columns; first += Format::kElements) {
        float values[Format::kElements];
        const std::size_t count = std::min(Format::kElements, columns - first);
        Format::decode(block, count, rows.row_scale(r), values);
        add_products(values, x + first, count, chains);
        block += rows.stride(r);
      }
      call.y[v * weights.rows + r] = reduce_chains<kChains>(chains);
    }
  }
}

/// Adds the products of a block's integers to the sums of the chains they belong to.
template <typename Format>
void add_integer_products(const std::byte* block, const std::int8_t* x, std::int32_t* sums) {
  std::int8_t codes[Format::kElements];
  Format::codes(block, codes);
  for (std::size_t i = 0; i < Format::kElements; ++i)
    sums[i % 32 / 4] += std::int32_t{codes[i]} * std::int32_t{x[i]};
}

template <typename Format, bool kRows8>
void portable_matvec_q8(const KernelCall& call) {
  constexpr std::size_t kBlock = Format::kActivationBlock;
  static_assert(kBlock % Format::kElements == 0);
  const StoredRows<Format> rows(*call.weights, kRows8);
  const std::size_t columns = call.weights->columns;
  const ActivationView& x = *call.activations;
  for (std::uint64_t r = call.first_row; r < call.end_row; ++r) {
    const std::byte* block = rows.row(r);
    float chains[kQ8Chains] = {};
    for (std::size_t first = 0; first < columns; first += kBlock) {
      const float scale = Format::scale(block, rows.row_scale(r)) * x.scales[first / kBlock];
      std::int32_t sums[kQ8Chains] = {};
      const std::size_t end = std::min(columns, first + kBlock);
      for (std::size_t i = first; i < end; i += Format::kElements) {
        add_integer_products<Format>(block, x.codes + i, sums);
        block += rows.stride(r);
      }
      for (std::size_t k = 0; k < kQ8Chains; ++k)
        chains[k] = std::fma(static_cast<float>(sums[k]), scale, chains[k]);
    }
    call.y[r] = reduce_chains<kQ8Chains>(chains);
  }
}

}  // namespace synps::kernels
