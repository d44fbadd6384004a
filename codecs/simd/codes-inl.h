// Small codes in bytes, and the values they stand for, for kernels. Included once for every target,
// as vectors-inl.h.

#if defined(SYNPS_CODECS_SIMD_CODES_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_SIMD_CODES_INL_H
#undef SYNPS_CODECS_SIMD_CODES_INL_H
#else
#define SYNPS_CODECS_SIMD_CODES_INL_H
#endif

#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

#include "float_bits.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if SYNPS_SIMD

using U8x16 = hn::CappedTag<std::uint8_t, 16>;
using V8x16 = hn::Vec<U8x16>;
using V8 = hn::Vec<U8>;

/// The value of the f16 that is stored at `in`.
HWY_INLINE float load_scale(const std::byte* in) {
  std::uint16_t half = 0;
  std::memcpy(&half, in, sizeof half);
  return f32_from_f16(half);
}

HWY_INLINE V8x16 load16(const std::byte* in) {
  return hn::LoadU(U8x16(), as<std::uint8_t>(in));
}
HWY_INLINE V8 load_many(const std::byte* in) {
  return hn::LoadU(U8(), as<std::uint8_t>(in));
}

template <class D>
HWY_INLINE hn::Vec<D> low_nibbles(D d, hn::Vec<D> bytes) {
  return hn::And(bytes, hn::Set(d, std::uint8_t{15}));
}

/// `count` values code × scale; `count` is a multiple of kLanes.
template <typename Code>
HWY_INLINE void scale_codes(const Code* codes, std::size_t count, float scale, float* out) {
  const F32 d;
  const hn::Rebind<Code, F32> d8;
  const auto by = hn::Set(d, scale);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const auto code = hn::ConvertTo(d, hn::PromoteTo(I32(), hn::LoadU(d8, codes + i)));
    hn::StoreU(hn::Mul(code, by), d, out + i);
  }
}

/// `count` values code × scale + offset, rounded after the product and after the sum.
HWY_INLINE void scale_codes(const std::uint8_t* codes, std::size_t count, float scale, float offset,
                            float* out) {
  const F32 d;
  const hn::Rebind<std::uint8_t, F32> d8;
  const auto by = hn::Set(d, scale);
  const auto plus = hn::Set(d, offset);
  for (std::size_t i = 0; i < count; i += kLanes) {
    const auto code = hn::ConvertTo(d, hn::PromoteTo(I32(), hn::LoadU(d8, codes + i)));
    hn::StoreU(hn::Add(hn::Mul(code, by), plus), d, out + i);
  }
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_SIMD_CODES_INL_H
