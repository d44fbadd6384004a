// Sub-blocks side by side, one a lane, for the kernels that encode the K layouts: what the scalar
// code sums over the elements of a sub-block one after another, they sum in the same order in every
// lane. Included once for every target, as vectors-inl.h.

#if defined(SYNPS_CODECS_SIMD_LANES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_SIMD_LANES_INL_H
#undef SYNPS_CODECS_SIMD_LANES_INL_H
#else
#define SYNPS_CODECS_SIMD_LANES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if SYNPS_SIMD

/// What nearest_int() of k_blocks.h adds.
inline constexpr float kRounder = 0x1.8p23f;
/// Up to here it rounds.
inline constexpr float kMostRounded = 0x1p22f - 1;

/// nearest_int() of any value.
HWY_INLINE VI32 nearest(VF32 v) {
  const I32 d;
  const auto bits = hn::BitCast(d, hn::Add(v, hn::Set(F32(), kRounder)));
  return hn::Sub(hn::And(bits, hn::Set(d, 0x7F'FFFF)), hn::Set(d, 0x40'0000));
}

/// nearest_int(), as a float between `low` and `high`, of values of at most kMostRounded.
HWY_INLINE VF32 nearest_between(VF32 v, VF32 low, VF32 high) {
  const auto rounder = hn::Set(F32(), kRounder);
  return hn::Max(hn::Min(hn::Sub(hn::Add(v, rounder), rounder), high), low);
}

/// Lane j of vector i is element i of sub-block j, of kLanes adjacent ones of kCount elements.
template <std::size_t kCount>
struct Transposed {
  VF32 x[kCount];

  HWY_INLINE explicit Transposed(const float* in) {
    alignas(32) float lanes[kCount * kLanes];
    for (std::size_t j = 0; j < kLanes; ++j)
      for (std::size_t i = 0; i < kCount; ++i) lanes[i * kLanes + j] = in[j * kCount + i];
    for (std::size_t i = 0; i < kCount; ++i) x[i] = hn::Load(F32(), lanes + i * kLanes);
  }
};

/// Stores codes of `count` elements, one a byte; `code(v)` gives those of kLanes values. `count` is
/// a multiple of 4 × kLanes.
template <class Code>
HWY_INLINE void store_codes(const float* in, Code code, std::size_t count, std::byte* out) {
  const auto codes = [&](std::size_t i) HWY_ATTR { return code(hn::LoadU(F32(), in + i)); };
  for (std::size_t i = 0; i < count; i += 4 * kLanes)
    store_bytes(
        pack_bytes<true>(codes(i), codes(i + kLanes), codes(i + 2 * kLanes), codes(i + 3 * kLanes)),
        out + i);
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_SIMD_LANES_INL_H
