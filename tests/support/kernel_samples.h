#pragma once

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <random>
#include <span>
#include <vector>

#include "synps/kernel.h"
#include "synps/quantized_activations.h"
#include "synps/row_order.h"

namespace synps::testing {

/// What stored bytes are like.
enum class Filling {
  ordinary,  ///< as f16, bf16 and f32 below 2: all products are finite
  any,       ///< any bits: NaN, infinities, subnormals, codes that no encoder writes
};

/// A matrix of made-up bytes for a kernel, at odd addresses and of exactly its size, so that a
/// sanitizer sees what reads beyond it.
class SampleMatrix {
 public:
  SampleMatrix(const Kernel& kernel, std::uint64_t rows, std::uint64_t columns, Filling filling,
               std::uint32_t seed) {
    std::mt19937 random(seed);
    for (std::size_t c = 0; c < kernel.components; ++c) {
      const std::uint64_t size = rows * kernel.row_bytes(c, columns).value();
      buffers_.emplace_back(1 + size);
      for (std::size_t i = 1; i <= size; ++i) {
        const auto byte = static_cast<std::uint8_t>(random() >> 24);
        const bool high = i % 2 == 0;  // scales and values begin at even offsets, all of them
        buffers_.back()[i] = std::byte{
            static_cast<std::uint8_t>(filling == Filling::any || !high ? byte : byte & 0xBFu)};
      }
    }
    bind(rows, columns);
  }

  /// The bytes of components that are given.
  SampleMatrix(std::uint64_t rows, std::uint64_t columns,
               const std::vector<std::vector<std::byte>>& components) {
    for (const auto& component : components) {
      buffers_.emplace_back(1 + component.size());
      if (!component.empty())
        std::memcpy(buffers_.back().data() + 1, component.data(), component.size());
    }
    bind(rows, columns);
  }

  SampleMatrix(const SampleMatrix&) = delete;
  SampleMatrix& operator=(const SampleMatrix&) = delete;

  const StoredMatrix& view() const { return view_; }

  /// The same matrix, its first component in rows8 with blocks of `block_bytes`.
  std::vector<std::vector<std::byte>> as_rows8(std::uint64_t block_bytes) const {
    std::vector<std::vector<std::byte>> components;
    for (const auto& span : view_.components) components.emplace_back(span.begin(), span.end());
    if (view_.rows == 0) return components;
    const RowBlocks shape{view_.rows, components[0].size() / view_.rows, block_bytes};
    rows8_from_rows1(shape, view_.components[0], components[0]);
    return components;
  }

 private:
  void bind(std::uint64_t rows, std::uint64_t columns) {
    for (const auto& buffer : buffers_) spans_.push_back(std::span(buffer).subspan(1));
    view_ = {rows, columns, spans_};
  }

  std::vector<std::vector<std::byte>> buffers_;
  std::vector<std::span<const std::byte>> spans_;
  StoredMatrix view_;
};

/// The result of a kernel of any operation: vectors × rows.
inline std::vector<float> product(const Kernel& kernel, const StoredMatrix& weights,
                                  std::span<const float> x, std::uint64_t vectors,
                                  Executor& executor) {
  std::vector<float> y(vectors * weights.rows, -1.0f);
  if (kernel.key.op == KernelOp::matmul) {
    matmul(kernel, weights, vectors, x, y, executor);
    return y;
  }
  for (std::uint64_t v = 0; v < vectors; ++v) {
    const auto from = x.subspan(v * weights.columns, weights.columns);
    const auto to = std::span(y).subspan(v * weights.rows, weights.rows);
    if (kernel.key.op == KernelOp::matvec) {
      matvec(kernel, weights, from, to, executor);
    } else {
      QuantizedActivations rounded;
      rounded.assign(from, kernel.activation_block);
      matvec_q8(kernel, weights, rounded.view(), to, executor);
    }
  }
  return y;
}

inline std::vector<float> product(const Kernel& kernel, const StoredMatrix& weights,
                                  std::span<const float> x, std::uint64_t vectors = 1) {
  SerialExecutor serial;
  return product(kernel, weights, x, vectors, serial);
}

/// Equal bits; of NaN, that it is one.
inline bool same_results(const std::vector<float>& a, const std::vector<float>& b) {
  if (a.size() != b.size()) return false;
  for (std::size_t i = 0; i < a.size(); ++i) {
    const bool same = std::bit_cast<std::uint32_t>(a[i]) == std::bit_cast<std::uint32_t>(b[i]);
    if (!same && !(std::isnan(a[i]) && std::isnan(b[i]))) return false;
  }
  return true;
}

}  // namespace synps::testing
