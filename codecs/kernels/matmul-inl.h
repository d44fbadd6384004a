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

/// Where memory is asked for ahead of its use. No pointer, for it may lie beyond the matrix.
using Ahead = std::uintptr_t;

HWY_INLINE Ahead ahead_of(const std::byte* in, std::size_t distance) {
  return reinterpret_cast<Ahead>(in) + distance;
}

/// Adds `count` blocks that lie `stride` bytes apart. Meanwhile asks for as many bytes from `ahead`
/// on.
template <class Format>
HWY_INLINE void add_blocks(const std::byte* in, std::size_t stride, std::size_t count, Ahead ahead,
                           const Block<Format>& block, const float* x, Chains& chains) {
  Chains sums = chains;
  for (std::size_t b = 0; b < count; ++b, in += stride, x += Format::kElements) {
    prefetch_ahead<Format::kBytes>(reinterpret_cast<const void*>(ahead), 0);
    ahead += Format::kBytes;
    block.each(in, AddProducts{x, sums});
  }
  chains = sums;
}

/// The same for two rows of a group, the blocks of the second beside those of the first: one has
/// work where the other waits for its chains.
template <class Format>
HWY_INLINE void add_two_rows(const std::byte* in, std::size_t count, Ahead ahead,
                             const Block<Format> (&rows)[2], const float* x,
                             float (*chains)[kChains]) {
  Chains first = load_chains(chains[0]);
  Chains second = load_chains(chains[1]);
  for (std::size_t b = 0; b < count; ++b, in += 8 * Format::kBytes, x += Format::kElements) {
    prefetch_ahead<2 * Format::kBytes>(reinterpret_cast<const void*>(ahead), 0);
    ahead += 2 * Format::kBytes;
    rows[0].each(in, AddProducts{x, first});
    rows[1].each(in + Format::kBytes, AddProducts{x, second});
  }
  store_chains(first, chains[0]);
  store_chains(second, chains[1]);
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
  add_blocks<Format>(in, stride, blocks, ahead_of(in, kAhead), Block<Format>(row_scale), x, chains);
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
  constexpr std::size_t kStride = 8 * Format::kBytes;
  constexpr std::size_t kTile = 1024 / Format::kElements;
  const std::byte* in = rows.row(first);
  const std::size_t blocks = columns / Format::kElements;
  float chains[8][kChains] = {};
  for (std::size_t b = 0; b < blocks; b += kTile) {
    const std::size_t count = std::min(kTile, blocks - b);
    for (std::size_t r = 0; r < 8; r += 2) {
      // In sequence, and a little more than a tile ahead: the first rows need lines of the whole
      // next tile soon.
      const std::size_t part = b * kStride + r * count * Format::kBytes;
      const Block<Format> two[2] = {Block<Format>(rows.row_scale(first + r)),
                                    Block<Format>(rows.row_scale(first + r + 1))};
      add_two_rows<Format>(in + b * kStride + r * Format::kBytes, count,
                           ahead_of(in, part + kTile * kStride + 1024), two,
                           x + b * Format::kElements, chains + r);
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
  for (std::size_t i = 0; i < count; i += kChains) {
    SYNPS_UNROLL
    for (std::size_t j = 0; j < kVectors; ++j) {
      const auto weights = hn::LoadU(Wide(), w + i + j * kWide);
      SYNPS_UNROLL
      for (std::size_t v = 0; v < kCount; ++v) {
        const auto with = hn::LoadU(Wide(), x + v * columns + i + j * kWide);
        sums[v].v[j] = hn::MulAdd(weights, with, sums[v].v[j]);
      }
    }
  }
  SYNPS_UNROLL
  for (std::size_t v = 0; v < kCount; ++v) store_chains(sums[v], chains[v]);
}

/// Rows that are done together, times up to kShared vectors: the chains of each of them.
template <class Format, std::size_t kRows>
class MatmulRows {
 public:
  MatmulRows(const StoredRows<Format>& rows, const KernelCall& call, std::uint64_t first_vector)
      : rows_(rows),
        columns_(call.weights->columns),
        vectors_(std::min<std::uint64_t>(kShared, call.vectors - first_vector)),
        x_(call.x + first_vector * columns_),
        y_(call.y + first_vector * call.weights->rows),
        y_stride_(call.weights->rows) {}

  /// Rows [first, first + kRows), tile by tile, so that memory is read in sequence.
  HWY_INLINE void run(std::uint64_t first) {
    constexpr std::size_t kTile = kDecoded / Format::kElements;
    const std::size_t blocks = columns_ / Format::kElements;
    std::memset(chains_, 0, sizeof chains_);
    for (std::size_t b = 0; b < blocks; b += kTile)
      for (std::size_t r = 0; r < kRows; ++r) add(first + r, r, b, std::min(kTile, blocks - b));
    for (std::size_t r = 0; r < kRows; ++r) finish(first + r, r, blocks);
  }

 private:
  /// Adds blocks [b, b + count) of a row.
  HWY_INLINE void add(std::uint64_t row, std::size_t r, std::size_t b, std::size_t count) {
    const std::size_t stride = rows_.stride(row);
    const Block<Format> block(rows_.row_scale(row));
    const std::byte* in = rows_.row(row) + b * stride;
    Ahead ahead = ahead_of(in, kRows == 1 ? kAhead : kDecoded / Format::kElements * stride);
    float values[kDecoded];
    for (std::size_t i = 0; i < count; ++i, in += stride) {
      prefetch_ahead<Format::kBytes>(reinterpret_cast<const void*>(ahead), 0);
      ahead += stride;
      block.each(in, StoreWeights{values + i * Format::kElements});
    }
    const std::size_t elements = count * Format::kElements;
    const float* x = x_ + b * Format::kElements;
    std::size_t v = 0;
    for (; v + kTogether <= vectors_; v += kTogether)
      add_tile<kTogether>(values, elements, x + v * columns_, columns_, chains_[r] + v);
    for (; v < vectors_; ++v)
      add_tile<1>(values, elements, x + v * columns_, columns_, chains_[r] + v);
  }

  HWY_INLINE void finish(std::uint64_t row, std::size_t r, std::size_t blocks) {
    const std::size_t done = blocks * Format::kElements;
    const std::size_t rest = columns_ - done;
    float values[Format::kElements];
    if (rest > 0)
      Format::decode(rows_.row(row) + blocks * rows_.stride(row), rest, rows_.row_scale(row),
                     values);
    for (std::size_t v = 0; v < vectors_; ++v) {
      Chains chains = load_chains(chains_[r][v]);
      if (rest > 0) add_values(values, x_ + v * columns_ + done, rest, chains);
      y_[v * y_stride_ + row] = reduce(chains);
    }
  }

  const StoredRows<Format>& rows_;
  std::size_t columns_;
  std::size_t vectors_;
  const float* x_;
  float* y_;
  std::size_t y_stride_;
  float chains_[kRows][kShared][kChains];
};

template <class Format, bool kRows8>
void matmul_rows(const KernelCall& call) {
  if (call.vectors == 1) return matvec_rows<Format, kRows8>(call);
  const StoredRows<Format> rows(*call.weights, kRows8);
  for (std::uint64_t v = 0; v < call.vectors; v += kShared) {
    std::uint64_t r = call.first_row;
    if constexpr (kRows8) {
      MatmulRows<Format, 8> group(rows, call, v);
      for (; r < std::min(call.end_row, rows.grouped()); r += 8) group.run(r);
    }
    MatmulRows<Format, 1> row(rows, call, v);
    for (; r < call.end_row; ++r) row.run(r);
  }
}

#endif  // SYNPS_SIMD

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_KERNELS_MATMUL_INL_H
