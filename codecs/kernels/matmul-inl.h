// matvec and matmul over rows. Included once for every target, as simd/vectors-inl.h.

#if defined(SYNPS_CODECS_KERNELS_MATMUL_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_KERNELS_MATMUL_INL_H
#undef SYNPS_CODECS_KERNELS_MATMUL_INL_H
#else
#define SYNPS_CODECS_KERNELS_MATMUL_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "kernels/portable_kernels.h"
#include "kernels/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

#if !SYNPS_SIMD

template <class Format, bool kRows8>
void matvec_rows(const KernelCall& call) {
  portable_matmul<Format, kRows8>(call);
}
template <class Format, bool kRows8>
void matmul_rows(const KernelCall& call) {
  portable_matmul<Format, kRows8>(call);
}

#else

/// Adds `count` blocks that lie `stride` bytes apart. Asks for what lies `ahead` bytes after them.
template <class Format>
HWY_INLINE void add_blocks(const std::byte* in, std::size_t stride, std::size_t count,
                           std::size_t ahead, const Block<Format>& block, const float* x,
                           Chains& chains) {
  Chains sums = chains;
  for (std::size_t b = 0; b < count; ++b, in += stride, x += Format::kElements) {
    prefetch_ahead<Format::kBytes>(in, ahead);
    block.each(in, AddProducts{x, sums});
  }
  chains = sums;
}

/// Adds the first `count` elements of a block.
template <class Format>
HWY_INLINE void add_part(const std::byte* in, std::size_t count, float row_scale, const float* x,
                         Chains& chains) {
  float values[Format::kElements];
  Format::decode(in, count, row_scale, values);
  add_values(values, x, count, chains);
}

/// So far ahead of what is read lies what is asked for: hardware does not look past a page.
inline constexpr std::size_t kAhead = 4096;

template <class Format, bool kRows8>
HWY_INLINE void matvec_row(const StoredRows<Format>& rows, std::uint64_t r, std::size_t columns,
                           const float* x, float* y) {
  const std::byte* in = rows.row(r);
  const std::size_t stride = kRows8 ? rows.stride(r) : Format::kBytes;
  const std::size_t blocks = columns / Format::kElements;
  const float row_scale = rows.row_scale(r);
  Chains chains = zero_chains();
  add_blocks<Format>(in, stride, blocks, kAhead, Block<Format>(row_scale), x, chains);
  if constexpr (Format::kPadded) {
    const std::size_t done = blocks * Format::kElements;
    if (done < columns)
      add_part<Format>(in + blocks * stride, columns - done, row_scale, x + done, chains);
  }
  *y = reduce(chains);
}

/// Eight rows that are stored together, a few block columns at a time, so that memory is read in
/// sequence while the chains of all rows stay in the first cache.
template <class Format>
HWY_INLINE void matvec_group(const StoredRows<Format>& rows, std::uint64_t first,
                             std::size_t columns, const float* x, float* y) {
  constexpr std::size_t kTile = 1024 / Format::kElements;
  constexpr std::size_t kStride = 8 * Format::kBytes;
  const std::byte* in = rows.row(first);
  const std::size_t blocks = columns / Format::kElements;
  float chains[8][kChains] = {};
  for (std::size_t b = 0; b < blocks; b += kTile) {
    const std::size_t count = std::min(kTile, blocks - b);
    for (std::size_t r = 0; r < 8; ++r) {
      Chains of_row = load_chains(chains[r]);
      add_blocks<Format>(in + b * kStride + r * Format::kBytes, kStride, count, kTile * kStride,
                         Block<Format>(rows.row_scale(first + r)), x + b * Format::kElements,
                         of_row);
      store_chains(of_row, chains[r]);
    }
  }
  const std::size_t done = blocks * Format::kElements;
  for (std::size_t r = 0; r < 8; ++r) {
    Chains of_row = load_chains(chains[r]);
    if (Format::kPadded && done < columns)
      add_part<Format>(in + blocks * kStride + r * Format::kBytes, columns - done,
                       rows.row_scale(first + r), x + done, of_row);
    y[r] = reduce(of_row);
  }
}

template <class Format, bool kRows8>
void matvec_rows(const KernelCall& call) {
  const StoredRows<Format> rows(*call.weights, kRows8);
  const std::size_t columns = call.weights->columns;
  std::uint64_t r = call.first_row;
  if constexpr (kRows8)
    for (; r < std::min(call.end_row, rows.grouped()); r += 8)
      matvec_group<Format>(rows, r, columns, call.x, call.y + r);
  for (; r < call.end_row; ++r) matvec_row<Format, false>(rows, r, columns, call.x, call.y + r);
}

/// Vectors that share the decoding of a row.
inline constexpr std::size_t kShared = 8;
/// Those of them whose chains are in registers at the same time: half of the registers there are.
inline constexpr std::size_t kTogether = kWide == 16 ? 4 : 2;
/// Elements of a row that are decoded before their products are added.
inline constexpr std::size_t kDecoded = 1024;

/// Adds the products of `count` values, a multiple of kChains, with kCount vectors.
template <std::size_t kCount>
HWY_INLINE void add_tile(const float* w, std::size_t count, const float* x, std::size_t columns,
                         float (*chains)[kChains]) {
  Chains sums[kCount];
  SYNPS_UNROLL
  for (std::size_t v = 0; v < kCount; ++v) sums[v] = load_chains(chains[v]);
  for (std::size_t i = 0; i < count; i += kChains) SYNPS_UNROLL
  for (std::size_t j = 0; j < kVectors; ++j) {
    const auto weights = hn::LoadU(Wide(), w + i + j * kWide);
    SYNPS_UNROLL
    for (std::size_t v = 0; v < kCount; ++v) {
      const auto with = hn::LoadU(Wide(), x + v * columns + i + j * kWide);
      sums[v].v[j] = hn::MulAdd(weights, with, sums[v].v[j]);
    }
  }
  SYNPS_UNROLL
  for (std::size_t v = 0; v < kCount; ++v) store_chains(sums[v], chains[v]);
}

/// One row times up to kShared vectors, y[v × rows].
template <class Format>
HWY_INLINE void matmul_row(const StoredRows<Format>& rows, std::uint64_t r, const KernelCall& call,
                           std::size_t vectors, const float* x, float* y) {
  constexpr std::size_t kTile = kDecoded / Format::kElements;
  const std::size_t columns = call.weights->columns;
  const std::size_t stride = rows.stride(r);
  const std::size_t blocks = columns / Format::kElements;
  const Block<Format> block(rows.row_scale(r));
  const std::byte* in = rows.row(r);
  float chains[kShared][kChains] = {};
  float values[kDecoded];
  for (std::size_t b = 0; b < blocks; b += kTile) {
    const std::size_t count = std::min(kTile, blocks - b);
    for (std::size_t i = 0; i < count; ++i, in += stride) {
      prefetch_ahead<Format::kBytes>(in);
      block.each(in, StoreWeights{values + i * Format::kElements});
    }
    const float* from = x + b * Format::kElements;
    std::size_t v = 0;
    for (; v + kTogether <= vectors; v += kTogether)
      add_tile<kTogether>(values, count * Format::kElements, from + v * columns, columns,
                          chains + v);
    for (; v < vectors; ++v)
      add_tile<1>(values, count * Format::kElements, from + v * columns, columns, chains + v);
  }
  const std::size_t done = blocks * Format::kElements;
  const std::size_t rest = columns - done;
  if (rest > 0) Format::decode(in, rest, rows.row_scale(r), values);
  for (std::size_t v = 0; v < vectors; ++v) {
    Chains of_vector = load_chains(chains[v]);
    if (rest > 0) add_values(values, x + v * columns + done, rest, of_vector);
    y[v * call.weights->rows] = reduce(of_vector);
  }
}

template <class Format, bool kRows8>
void matmul_rows(const KernelCall& call) {
  if (call.vectors == 1) return matvec_rows<Format, kRows8>(call);
  const StoredRows<Format> rows(*call.weights, kRows8);
  for (std::uint64_t v = 0; v < call.vectors; v += kShared) {
    const auto vectors =
        static_cast<std::size_t>(std::min<std::uint64_t>(kShared, call.vectors - v));
    for (std::uint64_t r = call.first_row; r < call.end_row; ++r)
      matmul_row<Format>(rows, r, call, vectors, call.x + v * call.weights->columns,
                         call.y + v * call.weights->rows + r);
  }
}

#endif  // SYNPS_SIMD

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_KERNELS_MATMUL_INL_H
