// The scales of blocks of 32 elements with codes on both sides of zero, for the kernels of q4_0 and
// q5_0. Included once for every target, as vectors-inl.h.

#if defined(SYNPS_CODECS_SIMD_SIGNED_MAX_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_SIMD_SIGNED_MAX_INL_H
#undef SYNPS_CODECS_SIMD_SIGNED_MAX_INL_H
#else
#define SYNPS_CODECS_SIMD_SIGNED_MAX_INL_H
#endif

#include <hwy/highway.h>

#include <cmath>
#include <cstddef>
#include <cstdint>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if SYNPS_SIMD

inline constexpr std::size_t kSignedElements = 32;

/// For each of kLanes blocks the bits of the largest magnitude among the values that are not
/// negative, and among those that are (-0 with them); 0 where there are none.
struct Largest {
  VU32 positive;
  VU32 negative;
};

/// As signed integers, bits of floats order positive values, and all negative ones lie below; as
/// unsigned, they order magnitudes of negative values, and all positive ones lie below.
HWY_INLINE Largest largest_of_blocks(const float* in) {
  const I32 di;
  const U32 du;
  const auto max_signed = [](VI32 a, VI32 b) HWY_ATTR { return hn::Max(a, b); };
  const auto max_unsigned = [](VU32 a, VU32 b) HWY_ATTR { return hn::Max(a, b); };
  VI32 high[kLanes];
  VU32 low[kLanes];
  for (std::size_t b = 0; b < kLanes; ++b, in += kSignedElements) {
    prefetch_ahead<kSignedElements * sizeof(float)>(in);
    const auto bits = hn::LoadU(F32(), in);
    high[b] = hn::BitCast(di, bits);
    low[b] = hn::BitCast(du, bits);
    for (std::size_t i = kLanes; i < kSignedElements; i += kLanes) {
      const auto more = hn::LoadU(F32(), in + i);
      high[b] = max_signed(high[b], hn::BitCast(di, more));
      low[b] = max_unsigned(low[b], hn::BitCast(du, more));
    }
  }
  const auto highest = hn::Max(reduce_each(di, high, max_signed), hn::Zero(di));
  const auto lowest = reduce_each(du, low, max_unsigned);
  const auto is_negative = hn::BitCast(du, hn::ShiftRight<31>(hn::BitCast(di, lowest)));
  return {hn::BitCast(du, highest),
          hn::And(hn::And(lowest, is_negative), hn::Set(du, 0x7FFF'FFFFu))};
}

/// Whether every block is zero or has a scale that f16 holds, well inside its range.
template <int kSteps>
HWY_INLINE bool ordinary_scale(VF32 largest) {
  const F32 d;
  const auto zero = hn::Eq(largest, hn::Zero(d));
  const auto low = hn::Ge(largest, hn::Set(d, kSteps * 0x1p-24f));
  const auto high = hn::Le(largest, hn::Set(d, kSteps * 65000.0f));  // false for NaN
  return hn::AllTrue(d, hn::Or(zero, hn::And(low, high)));
}

/// The first value of a block whose magnitude is `largest`.
HWY_INLINE float first_of_magnitude(const float* block, float largest) {
  const F32 d;
  for (std::size_t i = 0; i < kSignedElements; i += kLanes) {
    const auto found = hn::Eq(hn::Abs(hn::LoadU(d, block + i)), hn::Set(d, largest));
    const std::intptr_t lane = hn::FindFirstTrue(d, found);
    if (lane >= 0) return block[i + static_cast<std::size_t>(lane)];
  }
  return largest;
}

/// The value m of each block: the first of the largest magnitude, with its sign.
HWY_INLINE void find_extremes(const float* in, const Largest& bits, VF32 largest, float* extremes) {
  const F32 d;
  const I32 di;
  const auto positive = hn::BitCast(di, bits.positive);
  const auto negative = hn::BitCast(di, bits.negative);
  const auto is_negative =
      hn::MaskFromVec(hn::BitCast(d, hn::VecFromMask(di, hn::Gt(negative, positive))));
  hn::StoreU(hn::IfThenElse(is_negative, hn::Neg(largest), largest), d, extremes);
  const auto tie = hn::AndNot(hn::Eq(positive, hn::Zero(di)), hn::Eq(positive, negative));
  if (hn::AllFalse(di, tie)) return;
  for (std::size_t b = 0; b < kLanes; ++b)
    if (extremes[b] != 0)  // a block of zeros has +0, whatever their signs
      extremes[b] = first_of_magnitude(in + b * kSignedElements, std::fabs(extremes[b]));
}

/// What kLanes blocks are multiplied with, and their scales.
struct SignedScales {
  float inverse[kLanes];
  std::uint16_t stored[kLanes];
};

/// d = m / -kSteps, a power of two. False: a block is not ordinary.
template <int kSteps>
HWY_INLINE bool find_signed_scales(const float* in, SignedScales& scales) {
  const F32 d;
  const Largest bits = largest_of_blocks(in);
  const auto largest = hn::BitCast(d, hn::Max(bits.positive, bits.negative));
  if (!ordinary_scale<kSteps>(largest)) return false;
  float extremes[kLanes];
  find_extremes(in, bits, largest, extremes);
  const auto scale = hn::Mul(hn::LoadU(d, extremes), hn::Set(d, -1.0f / kSteps));
  const auto zero = hn::Eq(scale, hn::Zero(d));
  hn::StoreU(hn::IfThenZeroElse(zero, hn::Div(hn::Set(d, 1.0f), scale)), d, scales.inverse);
  store_f16(scale, scales.stored);
  return true;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_SIMD_SIGNED_MAX_INL_H
