// Two-bit codes in groups, as ternary_codes.h lays them out, for kernels. Included once for every
// target, as vectors-inl.h.

#if defined(SYNPS_CODECS_SIMD_TRITS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_SIMD_TRITS_INL_H
#undef SYNPS_CODECS_SIMD_TRITS_INL_H
#else
#define SYNPS_CODECS_SIMD_TRITS_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "simd/vectors-inl.h"
#include "ternary_codes.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if SYNPS_SIMD

/// Packs a group of 128 elements; `trits(i)` are those of elements i to i + kLanes, one a lane.
template <class Trits>
HWY_INLINE void pack_group(std::byte* out, Trits trits) {
  VI32 bytes[kGroupBytes / kLanes];
  for (std::size_t m = 0; m < kGroupBytes; m += kLanes) {
    const auto low = hn::Or(trits(m), hn::ShiftLeft<2>(trits(m + 32)));
    const auto high = hn::Or(trits(m + 64), hn::ShiftLeft<2>(trits(m + 96)));
    bytes[m / kLanes] = hn::Or(low, hn::ShiftLeft<4>(high));
  }
  for (std::size_t i = 0; i < kGroupBytes / kLanes; i += 4)
    store_bytes(pack_bytes<true>(bytes[i], bytes[i + 1], bytes[i + 2], bytes[i + 3]),
                out + i * kLanes);
}

/// The 128 values of a group: code × scale.
HWY_INLINE void unpack_group(const std::byte* in, float scale, float* out) {
  const F32 d;
  const I32 di;
  const auto value = [&](VI32 bits) HWY_ATTR {
    const auto code = hn::Sub(hn::And(bits, hn::Set(di, 3)), hn::Set(di, 1));
    return hn::Mul(hn::ConvertTo(d, code), hn::Set(d, scale));
  };
  for (std::size_t m = 0; m < kGroupBytes; m += kLanes) {
    const auto bytes = load_bytes(in + m);
    hn::StoreU(value(bytes), d, out + m);
    hn::StoreU(value(hn::ShiftRight<2>(bytes)), d, out + m + 32);
    hn::StoreU(value(hn::ShiftRight<4>(bytes)), d, out + m + 64);
    hn::StoreU(value(hn::ShiftRight<6>(bytes)), d, out + m + 96);
  }
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_SIMD_TRITS_INL_H
