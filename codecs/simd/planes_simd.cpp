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

std::size_t encode_planes(const float*, std::size_t, float, std::size_t, std::byte*) {
  return 0;
}
std::size_t decode_planes(const std::byte*, std::size_t, float, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kPlanes = 8;

// V / 2187, rounded once, is V × high + V × low, the second product and the sum rounded, for every
// V from -3280 to 6560 (a test tries them all): the first product is exact anyway, and the second
// one small. It takes a third of a division's time.
constexpr float kUnitHigh = 0x1.df8p-12f;
constexpr float kUnitLow = -0x1.52fe02p-25f;

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

std::size_t encode_planes(const float* in, std::size_t groups, float scale, std::size_t plane_bytes,
                          std::byte* out) {
  for (std::size_t g = 0; g < groups; ++g, in += kGroupElements, out += kGroupBytes) {
    std::uint32_t lanes[kPlanes * kGroupBytes];
    for (std::size_t m = 0; m < kGroupBytes; m += kLanes) encode_quarters(in + m, scale, lanes + m);
    const auto load = [&](std::size_t i)
                          HWY_ATTR { return hn::BitCast(I32(), hn::LoadU(U32(), lanes + i)); };
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      for (std::size_t m = 0; m < kGroupBytes; m += 4 * kLanes) {
        const std::size_t i = plane * kGroupBytes + m;
        store_bytes(
            pack_bytes<true>(load(i), load(i + kLanes), load(i + 2 * kLanes), load(i + 3 * kLanes)),
            out + plane * plane_bytes + m);
      }
  }
  return groups;
}

using VU8 = hn::Vec<U8>;
using U16 = hn::Repartition<std::uint16_t, U8>;

/// Byte by byte; the bits that would move to a neighbour are zero, or masked away later.
template <int kBits>
HWY_INLINE VU8 shift_right(VU8 v) {
  return hn::BitCast(U8(), hn::ShiftRight<kBits>(hn::BitCast(U16(), v)));
}
template <int kBits>
HWY_INLINE VU8 shift_left(VU8 v) {
  return hn::BitCast(U8(), hn::ShiftLeft<kBits>(hn::BitCast(U16(), v)));
}

/// Four trits of every element of a group, as numbers in base 3. A trit is at most 3, a number 120.
struct Numbers {
  VU8 quarter[4];
};

/// From the bytes of four planes, for 4 × kLanes elements of each quarter.
HWY_INLINE Numbers four_planes(const std::byte* in, std::size_t plane_bytes) {
  const U8 d;
  // Two planes make numbers of up to 3 × 3 + 3 = 12, which fit the four bits of two trits: first
  // those of quarters 0 and 2 (even), and of 1 and 3 (odd).
  VU8 even[2];
  VU8 odd[2];
  const auto mask = hn::Set(d, 0x33);
  for (std::size_t pair = 0; pair < 2; ++pair) {
    const auto a = hn::LoadU(d, as<std::uint8_t>(in + 2 * pair * plane_bytes));
    const auto b = hn::LoadU(d, as<std::uint8_t>(in + (2 * pair + 1) * plane_bytes));
    const auto even_a = hn::And(a, mask);
    const auto odd_a = hn::And(shift_right<2>(a), mask);
    even[pair] = hn::Add(hn::Add(even_a, even_a), hn::Add(even_a, hn::And(b, mask)));
    odd[pair] = hn::Add(hn::Add(odd_a, odd_a), hn::Add(odd_a, hn::And(shift_right<2>(b), mask)));
  }
  const auto low = hn::Set(d, 0x0F);
  const auto join = [&](VU8 a, VU8 b) HWY_ATTR {  // 9a + b
    return hn::Add(hn::Add(shift_left<3>(a), a), b);
  };
  const auto high_bits = [&](VU8 v) HWY_ATTR { return hn::And(shift_right<4>(v), low); };
  return {{join(hn::And(even[0], low), hn::And(even[1], low)),
           join(hn::And(odd[0], low), hn::And(odd[1], low)),
           join(high_bits(even[0]), high_bits(even[1])),
           join(high_bits(odd[0]), high_bits(odd[1]))}};
}

/// The digits' value V of 4 × kLanes elements: 81 high + low; and, as digits are trits less 1, in
/// all (3^8 - 1) / 2 less.
HWY_INLINE void store_digits(VU8 high, VU8 low, std::int16_t* out) {
  const hn::Repartition<std::int16_t, U8> d;
#if SYNPS_X86
  const hn::Half<decltype(d)> half;
  const auto digits = [&](VU8 pairs) HWY_ATTR {
    const __m256i sums = _mm256_maddubs_epi16(pairs.raw, _mm256_set1_epi16(0x0151));
    return hn::Sub(hn::Vec<decltype(d)>{sums}, hn::Set(d, 3280));
  };
  const auto first = digits(hn::InterleaveLower(U8(), high, low));  // elements 0 to 7, 16 to 23
  const auto second = digits(hn::InterleaveUpper(U8(), high, low));
  hn::StoreU(hn::LowerHalf(half, first), half, out);
  hn::StoreU(hn::LowerHalf(half, second), half, out + 8);
  hn::StoreU(hn::UpperHalf(half, first), half, out + 16);
  hn::StoreU(hn::UpperHalf(half, second), half, out + 24);
#else
  const U16 d16;
  const hn::Half<U8> half;
  const auto digits = [&](hn::Vec<hn::Half<U8> > a, hn::Vec<hn::Half<U8> > b) HWY_ATTR {
    const auto sums =
        hn::Add(hn::Mul(hn::PromoteTo(d16, a), hn::Set(d16, 81)), hn::PromoteTo(d16, b));
    return hn::BitCast(d, hn::Sub(sums, hn::Set(d16, 3280)));
  };
  hn::StoreU(digits(hn::LowerHalf(half, high), hn::LowerHalf(half, low)), d, out);
  hn::StoreU(digits(hn::UpperHalf(half, high), hn::UpperHalf(half, low)), d, out + 2 * kLanes);
#endif
}

HWY_INLINE void decode_group(const std::byte* in, std::size_t plane_bytes, float scale,
                             float* out) {
  const F32 d;
  std::int16_t digits[kGroupElements];
  for (std::size_t m = 0; m < kGroupBytes; m += 4 * kLanes) {
    const Numbers high = four_planes(in + m, plane_bytes);
    const Numbers low = four_planes(in + m + 4 * plane_bytes, plane_bytes);
    for (std::size_t n = 0; n < 4; ++n)
      store_digits(high.quarter[n], low.quarter[n], digits + 32 * n + m);
  }
  const hn::Rebind<std::int16_t, F32> d16;
  for (std::size_t i = 0; i < kGroupElements; i += kLanes) {
    const auto v = hn::ConvertTo(d, hn::PromoteTo(I32(), hn::LoadU(d16, digits + i)));
    const auto part = hn::MulAdd(v, hn::Set(d, kUnitHigh), hn::Mul(v, hn::Set(d, kUnitLow)));
    hn::StoreU(hn::Mul(hn::Set(d, scale), part), d, out + i);
  }
}

std::size_t decode_planes(const std::byte* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, float* out) {
  // Planes of a row are short and close: what comes next is the next row, unless rows are long.
  const std::size_t row = kPlanes * plane_bytes;
  const std::size_t ahead = row <= 0x10000 ? row : 4096;
  for (std::size_t g = 0; g < groups; ++g, in += kGroupBytes, out += kGroupElements) {
    for (std::size_t plane = 0; plane < kPlanes; ++plane)
      prefetch_ahead<kGroupBytes>(in + plane * plane_bytes, ahead);
    decode_group(in, plane_bytes, scale, out);
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

std::size_t encode_planes(const float* in, std::size_t groups, float scale, std::size_t plane_bytes,
                          std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_planes)(in, groups, scale, plane_bytes, out);
}
std::size_t decode_planes(const std::byte* in, std::size_t groups, float scale,
                          std::size_t plane_bytes, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_planes)(in, groups, scale, plane_bytes, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
