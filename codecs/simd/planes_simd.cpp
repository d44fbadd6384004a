#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/planes_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "simd/trits-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_planes(const float*, std::size_t, float, std::size_t, std::byte*) { return 0; }
std::size_t decode_planes(const std::byte*, std::size_t, float, std::size_t, float*) { return 0; }

#else

constexpr std::size_t kPlanes = 8;
constexpr float kUnit = 2187.0f;  // 3^7

/// The bytes of all planes for elements m to m + kLanes of each quarter of a group, one a lane;
/// those of plane p at out + p × kGroupBytes.
HWY_INLINE void encode_quarters(const float* in, float scale, std::uint32_t* out) {
  const F32 d;
  const I32 di;
  VF32 remainder[4];
  for (std::size_t n = 0; n < 4; ++n)
    remainder[n] = hn::Div(hn::LoadU(d, in + 32 * n), hn::Set(d, scale));
  for (std::size_t plane = 0; plane < kPlanes; ++plane) {
    auto digits = hn::Zero(di);
    for (std::size_t n = 4; n-- > 0;) {
      const auto above = hn::VecFromMask(d, hn::Gt(remainder[n], hn::Set(d, 0.5f)));
      const auto below = hn::VecFromMask(d, hn::Lt(remainder[n], hn::Set(d, -0.5f)));
      const auto digit = hn::Sub(hn::BitCast(di, below), hn::BitCast(di, above));  // true is -1
      digits = hn::Add(hn::ShiftLeft<2>(digits), digit);
      const auto rest = hn::Sub(remainder[n], hn::ConvertTo(d, digit));
      remainder[n] = hn::Mul(hn::Set(d, 3.0f), rest);
    }
    const auto trits = hn::Add(digits, hn::Set(di, 0x55));  // 1 added to each
    hn::StoreU(hn::BitCast(U32(), trits), U32(), out + plane * kGroupBytes);
  }
}

std::size_t encode_planes(const float* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, std::byte* out) {
  for (std::size_t g = 0; g < groups; ++g, in += kGroupElements, out += kGroupBytes) {
    std::uint32_t lanes[kPlanes * kGroupBytes];
    for (std::size_t m = 0; m < kGroupBytes; m += kLanes) encode_quarters(in + m, scale, lanes + m);
    const auto load = [&](std::size_t i)
                          HWY_ATTR { return hn::BitCast(I32(), hn::LoadU(U32(), lanes + i)); };
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      for (std::size_t m = 0; m < kGroupBytes; m += 4 * kLanes) {
        const std::size_t i = plane * kGroupBytes + m;
        store_bytes(
            pack_bytes(load(i), load(i + kLanes), load(i + 2 * kLanes), load(i + 3 * kLanes)),
            out + plane * plane_bytes + m);
      }
  }
  return groups;
}

/// For elements of one quarter (n) of a group, whose bytes of plane p are at in + p × plane_bytes:
/// the trits of four planes as a number in base 3. A trit is at most 3, the number 120.
template <int kShift>
HWY_INLINE hn::Vec<U8> four_planes(const std::byte* in, std::size_t plane_bytes) {
  const U8 d;
  const hn::Repartition<std::uint16_t, U8> d16;  // there is no shift of bytes
  auto number = hn::Zero(d);
  for (std::size_t plane = 0; plane < 4; ++plane) {
    const auto* bytes = as<std::uint8_t>(in + plane * plane_bytes);
    const auto shifted = hn::ShiftRight<kShift>(hn::BitCast(d16, hn::LoadU(d, bytes)));
    const auto trit = hn::And(hn::BitCast(d, shifted), hn::Set(d, 3));
    number = hn::Add(hn::Add(number, trit), hn::Add(number, number));
  }
  return number;
}

template <int kQuarter>
HWY_INLINE void decode_quarter(const std::byte* in, std::size_t plane_bytes, float scale,
                               float* out) {
  const F32 d;
  const I32 di;
  std::byte high[kGroupBytes];
  std::byte low[kGroupBytes];
  for (std::size_t m = 0; m < kGroupBytes; m += 4 * kLanes) {
    store_bytes(four_planes<2 * kQuarter>(in + m, plane_bytes), high + m);
    store_bytes(four_planes<2 * kQuarter>(in + m + 4 * plane_bytes, plane_bytes), low + m);
  }
  for (std::size_t m = 0; m < kGroupBytes; m += kLanes) {
    // Digits are trits less 1: in all (3^8 - 1) / 2 less.
    const auto trits = hn::Add(hn::Mul(load_bytes(high + m), hn::Set(di, 81)), load_bytes(low + m));
    const auto digits = hn::ConvertTo(d, hn::Sub(trits, hn::Set(di, 3280)));
    const auto value = hn::Mul(hn::Set(d, scale), hn::Div(digits, hn::Set(d, kUnit)));
    hn::StoreU(value, d, out + 32 * kQuarter + m);
  }
}

std::size_t decode_planes(const std::byte* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, float* out) {
  for (std::size_t g = 0; g < groups; ++g, in += kGroupBytes, out += kGroupElements) {
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      prefetch_ahead<kGroupBytes>(in + plane * plane_bytes);
    decode_quarter<0>(in, plane_bytes, scale, out);
    decode_quarter<1>(in, plane_bytes, scale, out);
    decode_quarter<2>(in, plane_bytes, scale, out);
    decode_quarter<3>(in, plane_bytes, scale, out);
  }
  return groups;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_planes);
HWY_EXPORT(decode_planes);

std::size_t encode_planes(const float* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_planes)(in, groups, scale, plane_bytes, out);
}
std::size_t decode_planes(const std::byte* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_planes)(in, groups, scale, plane_bytes, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
