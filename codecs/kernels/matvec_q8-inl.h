// matvec_q8 over rows. Included once for every target, as simd/vectors-inl.h.

#if defined(SYNPS_CODECS_KERNELS_MATVEC_Q8_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_KERNELS_MATVEC_Q8_INL_H
#undef SYNPS_CODECS_KERNELS_MATVEC_Q8_INL_H
#else
#define SYNPS_CODECS_KERNELS_MATVEC_Q8_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/portable_kernels.h"
#include "kernels/quantize_blocks.h"
#include "kernels/wide-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

#if !SYNPS_SIMD

template <class Format, bool kRows8>
void matvec_q8_rows(const KernelCall& call) {
  portable_matvec_q8<Format, kRows8>(call);
}

#else

using simd::HWY_NAMESPACE::F32;
using simd::HWY_NAMESPACE::kLanes;
using simd::HWY_NAMESPACE::VF32;
using simd::HWY_NAMESPACE::VI32;

/// Eight chains: 256 bits, which is enough here; or twice 128.
inline constexpr std::size_t kQ8Vectors = kQ8Chains / kLanes;

struct Q8Sums {
  HWY_INLINE Q8Sums() {}
  VI32 v[kQ8Vectors];
};
struct Q8Vector {
  HWY_INLINE Q8Vector() {}
  VF32 v[kQ8Vectors];
};

HWY_INLINE Q8Vector zero_q8() {
  Q8Vector zero;
  SYNPS_UNROLL
  for (std::size_t i = 0; i < kQ8Vectors; ++i) zero.v[i] = hn::Zero(F32());
  return zero;
}

HWY_INLINE void add_scaled(const Q8Sums& sums, VF32 scale, Q8Vector& chains) {
  SYNPS_UNROLL
  for (std::size_t i = 0; i < kQ8Vectors; ++i)
    chains.v[i] = hn::MulAdd(hn::ConvertTo(F32(), sums.v[i]), scale, chains.v[i]);
}

HWY_INLINE float reduce_q8(const Q8Vector& chains) {
  float s[kQ8Chains];
  SYNPS_UNROLL
  for (std::size_t i = 0; i < kQ8Vectors; ++i) hn::StoreU(chains.v[i], F32(), s + i * kLanes);
  return reduce_chains<kQ8Chains>(s);
}

/// A block of activations.
struct Q8Block {
  const std::int8_t* codes;
  const std::int16_t* sums;
};

#if SYNPS_X86

HWY_INLINE __m256i load256(const void* from) {
  return _mm256_loadu_si256(static_cast<const __m256i*>(from));
}
HWY_INLINE Q8Sums sum_pairs(__m256i pairs) {
  Q8Sums sums;
  sums.v[0] = VI32{_mm256_madd_epi16(pairs, _mm256_set1_epi16(1))};
  return sums;
}

// Products of unsigned and signed bytes, two and two: none of them reaches 2^15, where the
// instruction would saturate (128 × 127 × 2, 15 × 127 × 2; and 16 of 3 × 127 for ternary codes).

HWY_INLINE Q8Sums integer_products(const Q8Rows*, const std::byte* in, const Q8Block& x) {
  const __m256i w = load256(in + 2);
  const __m256i signed_x = _mm256_sign_epi8(load256(x.codes), w);
  return sum_pairs(_mm256_maddubs_epi16(_mm256_abs_epi8(w), signed_x));
}

HWY_INLINE Q8Sums integer_products(const Q4Rows*, const std::byte* in, const Q8Block& x) {
  const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(in + 2));
  const __m256i both = _mm256_broadcastsi128_si256(bytes);
  const __m256i shifted = _mm256_srlv_epi64(both, _mm256_set_epi64x(4, 4, 0, 0));
  const __m256i codes = _mm256_and_si256(shifted, _mm256_set1_epi8(15));
  const __m256i pairs = _mm256_maddubs_epi16(codes, load256(x.codes));
  return sum_pairs(_mm256_sub_epi16(pairs, load256(x.sums)));
}

template <int kShift>
HWY_INLINE __m256i trit_products(__m256i bytes, const std::int8_t* x) {
  const __m256i trits = _mm256_and_si256(_mm256_srli_epi16(bytes, kShift), _mm256_set1_epi8(3));
  return _mm256_maddubs_epi16(trits, load256(x + 16 * kShift));
}

HWY_INLINE __m256i add_group(const std::byte* in, const std::int8_t* x, __m256i pairs) {
  const __m256i bytes = load256(in);
  const __m256i low = _mm256_add_epi16(trit_products<0>(bytes, x), trit_products<2>(bytes, x));
  const __m256i high = _mm256_add_epi16(trit_products<4>(bytes, x), trit_products<6>(bytes, x));
  return _mm256_add_epi16(pairs, _mm256_add_epi16(low, high));
}

/// `second`: the group of elements 128 to 255, or null at the end of a row, where x is zero.
HWY_INLINE Q8Sums ternary_products(const std::byte* first, const std::byte* second,
                                   const Q8Block& x) {
  __m256i pairs = _mm256_sub_epi16(_mm256_setzero_si256(), load256(x.sums));
  pairs = add_group(first, x.codes, pairs);
  if (second != nullptr) pairs = add_group(second, x.codes + kGroupElements, pairs);
  return sum_pairs(pairs);
}

#else

using VI8 = hn::Vec<hn::CappedTag<std::int8_t, 16> >;
using VU8 = hn::Vec<hn::CappedTag<std::uint8_t, 16> >;

HWY_INLINE VI8 load_x(const std::int8_t* x) {
  return hn::LoadU(hn::CappedTag<std::int8_t, 16>(), x);
}

/// Sums of four neighbours' products.
HWY_INLINE VI32 quads(VI8 w, VI8 x) {
  const int16x8_t low = vmull_s8(vget_low_s8(w.raw), vget_low_s8(x.raw));
  const int16x8_t high = vmull_s8(vget_high_s8(w.raw), vget_high_s8(x.raw));
  return VI32{vpaddq_s32(vpaddlq_s16(low), vpaddlq_s16(high))};
}

/// Unsigned codes less an offset.
HWY_INLINE VI8 less(VU8 codes, std::uint8_t offset) {
  const hn::CappedTag<std::uint8_t, 16> d;
  return hn::BitCast(hn::RebindToSigned<decltype(d)>(), hn::Sub(codes, hn::Set(d, offset)));
}

HWY_INLINE Q8Sums integer_products(const Q8Rows*, const std::byte* in, const Q8Block& x) {
  const auto* w = as<std::int8_t>(in + 2);
  Q8Sums sums;
  sums.v[0] = quads(load_x(w), load_x(x.codes));
  sums.v[1] = quads(load_x(w + 16), load_x(x.codes + 16));
  return sums;
}

HWY_INLINE Q8Sums integer_products(const Q4Rows*, const std::byte* in, const Q8Block& x) {
  const hn::CappedTag<std::uint8_t, 16> d;
  const auto bytes = hn::LoadU(d, as<std::uint8_t>(in + 2));
  const auto low = less(hn::And(bytes, hn::Set(d, std::uint8_t{15})), 8);
  const auto high = less(hn::ShiftRight<4>(bytes), 8);
  Q8Sums sums;
  sums.v[0] = quads(low, load_x(x.codes));
  sums.v[1] = quads(high, load_x(x.codes + 16));
  return sums;
}

template <int kShift>
HWY_INLINE VI32 trit_products(VU8 bytes, const std::int8_t* x) {
  const hn::CappedTag<std::uint8_t, 16> d;
  const auto trits = hn::And(hn::ShiftRight<kShift>(bytes), hn::Set(d, std::uint8_t{3}));
  return quads(less(trits, 1), load_x(x + 16 * kShift));
}

HWY_INLINE void add_group(const std::byte* in, const std::int8_t* x, Q8Sums& sums) {
  const hn::CappedTag<std::uint8_t, 16> d;
  for (std::size_t i = 0; i < 2; ++i, x += 16) {
    const auto bytes = hn::LoadU(d, as<std::uint8_t>(in + 16 * i));
    const auto low = hn::Add(quads(less(hn::And(bytes, hn::Set(d, std::uint8_t{3})), 1), load_x(x)),
                             trit_products<2>(bytes, x));
    const auto high = hn::Add(trit_products<4>(bytes, x), trit_products<6>(bytes, x));
    sums.v[i] = hn::Add(sums.v[i], hn::Add(low, high));
  }
}

HWY_INLINE Q8Sums ternary_products(const std::byte* first, const std::byte* second,
                                   const Q8Block& x) {
  Q8Sums sums;
  sums.v[0] = sums.v[1] = hn::Zero(hn::DFromV<VI32>());
  add_group(first, x.codes, sums);
  if (second != nullptr) add_group(second, x.codes + kGroupElements, sums);
  return sums;
}

#endif

HWY_INLINE Q8Sums integer_products(const Tq2Rows*, const std::byte* in, const Q8Block& x) {
  return ternary_products(in, in + kGroupBytes, x);
}

/// What a block of activations meets in a row, and the scale of that.
template <class Format>
struct Q8Step {
  static constexpr std::size_t kBlocks = 1;  ///< of the format
  HWY_INLINE static Q8Sums products(const std::byte* in, std::size_t, bool, const Q8Block& x) {
    return integer_products(static_cast<const Format*>(nullptr), in, x);
  }
  HWY_INLINE static VF32 scale(const std::byte* in, float) {
    constexpr std::size_t kAt = Format::kElements == 256 ? Format::kBytes - 2 : 0;
    return broadcast_f16(F32(), in + kAt);
  }
};

/// Two groups; at the end of a row it may be one.
template <>
struct Q8Step<TernaryRows> {
  static constexpr std::size_t kBlocks = 2;
  HWY_INLINE static Q8Sums products(const std::byte* in, std::size_t stride, bool whole,
                                    const Q8Block& x) {
    return ternary_products(in, whole ? in + stride : nullptr, x);
  }
  HWY_INLINE static VF32 scale(const std::byte*, float row_scale) {
    return hn::Set(F32(), row_scale);
  }
};

/// kCount rows whose blocks lie `apart` bytes from each other, and `stride` bytes from the next
/// ones of the same row.
template <class Format, std::size_t kCount>
HWY_INLINE void q8_rows(const std::byte* in, std::size_t apart, std::size_t stride,
                        const float* row_scales, const ActivationView& x, float* y) {
  using Step = Q8Step<Format>;
  constexpr std::size_t kStepBytes = Step::kBlocks * Format::kBytes;
  const std::size_t blocks = StoredRows<Format>::row_bytes(x.columns) / Format::kBytes;
  Q8Vector chains[kCount];
  SYNPS_UNROLL
  for (std::size_t r = 0; r < kCount; ++r) chains[r] = zero_q8();
  const auto step = [&](std::size_t b, bool whole) HWY_ATTR {
    const std::size_t k = b / Step::kBlocks;
    const Q8Block block{x.codes + k * Format::kActivationBlock, x.sums + k * kPairSums};
    const auto x_scale = hn::Set(F32(), x.scales[k]);
    SYNPS_UNROLL
    for (std::size_t r = 0; r < kCount; ++r) {
      const std::byte* from = in + r * apart;
      // What the rows need together lies together: each asks for a part of it.
      prefetch_ahead<kCount == 1 ? kStepBytes : 1>(in + r * kStepBytes);
      const Q8Sums sums = Step::products(from, stride, whole, block);
      add_scaled(sums, hn::Mul(Step::scale(from, row_scales[r]), x_scale), chains[r]);
    }
    in += Step::kBlocks * stride;
  };
  std::size_t b = 0;
  for (; b + Step::kBlocks <= blocks; b += Step::kBlocks) step(b, true);
  if (Step::kBlocks > 1 && b < blocks) step(b, false);
  SYNPS_UNROLL
  for (std::size_t r = 0; r < kCount; ++r) y[r] = reduce_q8(chains[r]);
}

template <class Format, bool kRows8>
void matvec_q8_rows(const KernelCall& call) {
  const StoredRows<Format> rows(*call.weights, kRows8);
  const ActivationView& x = *call.activations;
  float row_scales[8] = {};
  std::uint64_t r = call.first_row;
  if constexpr (kRows8)
    for (; r < std::min(call.end_row, rows.grouped()); r += 8) {
      for (std::size_t i = 0; i < 8; ++i) row_scales[i] = rows.row_scale(r + i);
      q8_rows<Format, 8>(rows.row(r), Format::kBytes, 8 * Format::kBytes, row_scales, x,
                         call.y + r);
    }
  for (; r < call.end_row; ++r) {
    row_scales[0] = rows.row_scale(r);
    q8_rows<Format, 1>(rows.row(r), 0, Format::kBytes, row_scales, x, call.y + r);
  }
}

#endif  // SYNPS_SIMD

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_KERNELS_MATVEC_Q8_INL_H
