#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/ternary_groups_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "float_bits.h"
#include "simd/trits-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t decode_groups(const std::byte*, std::size_t, float, float*) {
  return 0;
}
std::size_t encode_groups_absmean(const float*, std::size_t, float, std::byte*) {
  return 0;
}
std::size_t encode_groups_from(const float*, std::size_t, std::uint32_t, std::byte*) {
  return 0;
}

#else

std::size_t decode_groups(const std::byte* in, std::size_t groups, float scale, float* out) {
  for (std::size_t g = 0; g < groups; ++g) {
    prefetch_ahead<kGroupBytes>(in + g * kGroupBytes);
    unpack_group(in + g * kGroupBytes, scale, out + g * kGroupElements);
  }
  return groups;
}

/// Trits from what is true (-1) where the code is 1, and where it is -1.
HWY_INLINE VI32 trits_where(VF32 above, VF32 below) {
  const I32 d;
  return hn::Sub(hn::Add(hn::Set(d, 1), hn::BitCast(d, below)), hn::BitCast(d, above));
}

std::size_t encode_groups_absmean(const float* in, std::size_t groups, float scale,
                                  std::byte* out) {
  const F32 d;
  for (std::size_t g = 0; g < groups; ++g, in += kGroupElements, out += kGroupBytes) {
    if (largest_magnitude(in, kGroupElements) >= kF32Infinity) return g;
    pack_group(out, [&](std::size_t i) HWY_ATTR {
      const auto ratio = hn::Div(hn::LoadU(d, in + i), hn::Set(d, scale));
      return trits_where(hn::VecFromMask(d, hn::Gt(ratio, hn::Set(d, 0.5f))),
                         hn::VecFromMask(d, hn::Lt(ratio, hn::Set(d, -0.5f))));
    });
  }
  return groups;
}

std::size_t encode_groups_from(const float* in, std::size_t groups, std::uint32_t threshold_bits,
                               std::byte* out) {
  const F32 d;
  const float threshold = std::bit_cast<float>(threshold_bits);
  for (std::size_t g = 0; g < groups; ++g, in += kGroupElements, out += kGroupBytes)
    pack_group(out, [&](std::size_t i) HWY_ATTR {
      const auto v = hn::LoadU(d, in + i);
      return trits_where(hn::VecFromMask(d, hn::Ge(v, hn::Set(d, threshold))),
                         hn::VecFromMask(d, hn::Le(v, hn::Set(d, -threshold))));
    });
  return groups;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(decode_groups);
HWY_EXPORT(encode_groups_absmean);
HWY_EXPORT(encode_groups_from);

std::size_t decode_groups(const std::byte* in, std::size_t groups, float scale, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_groups)(in, groups, scale, out);
}
std::size_t encode_groups_absmean(const float* in, std::size_t groups, float scale,
                                  std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_groups_absmean)(in, groups, scale, out);
}
std::size_t encode_groups_from(const float* in, std::size_t groups, std::uint32_t threshold_bits,
                               std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_groups_from)(in, groups, threshold_bits, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
