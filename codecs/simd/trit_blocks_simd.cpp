#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/trit_blocks_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "float_bits.h"
#include "simd/trits-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_tq1_0(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t decode_tq1_0(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t encode_tq2_0(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t decode_tq2_0(const std::byte*, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kElements = 256;
constexpr std::size_t kTq1Bytes = 54;
constexpr std::size_t kTq1Codes = 52;
constexpr std::size_t kTq2Bytes = 66;
constexpr std::size_t kTq2Codes = 64;

/// What a block is divided by, and what with.
struct Scale {
  float d = 0;
  float inverse = 0;
  bool ordinary = false;  ///< the block is zero, or f16 holds d, well inside its range
};

HWY_INLINE Scale scale_of(const float* block) {
  Scale scale;
  const std::uint32_t bits = largest_magnitude(block, kElements);
  if (bits == 0) return {0.0f, 0.0f, true};
  scale.d = std::bit_cast<float>(bits);
  scale.inverse = 1.0f / scale.d;
  scale.ordinary = scale.d >= 0x1p-24f && scale.d <= 65000.0f;  // false for NaN
  return scale;
}

/// round(v) + 1 for |v| < 1.5, halves away from zero.
template <class D>
HWY_INLINE hn::Vec<hn::RebindToSigned<D> > trit(D d, hn::Vec<D> v) {
  const hn::RebindToSigned<D> di;
  const auto above = hn::BitCast(di, hn::VecFromMask(d, hn::Ge(v, hn::Set(d, 0.5f))));
  const auto below = hn::BitCast(di, hn::VecFromMask(d, hn::Le(v, hn::Set(d, -0.5f))));
  return hn::Sub(hn::Add(hn::Set(di, 1), below), above);  // true is -1
}

/// One lane a byte: the trits of `count` elements, `stride` apart, and then of zeros up to five, as
/// digits in base 3, scaled as tq1_0 stores them.
template <class D>
HWY_INLINE void pack_five(D d, const float* in, float inverse, std::size_t stride,
                          std::size_t count, std::uint32_t* out) {
  const hn::RebindToSigned<D> di;
  const hn::RebindToUnsigned<D> du;
  auto digits = hn::Zero(di);
  for (std::size_t n = 0; n < 5; ++n) {
    digits = hn::Add(digits, hn::Add(digits, digits));
    if (n >= count) continue;
    const auto v = hn::Mul(hn::LoadU(d, in + n * stride), hn::Set(d, inverse));
    digits = hn::Add(digits, trit(d, v));
  }
  // ⌈256 digits / 243⌉; 69043 = ⌈2^24 / 243⌉ divides exactly up to 256 × 242 + 242.
  const auto scaled = hn::Add(hn::ShiftLeft<8>(hn::BitCast(du, digits)), hn::Set(du, 242));
  hn::StoreU(hn::ShiftRight<24>(hn::Mul(scaled, hn::Set(du, 69043))), du, out);
}

HWY_INLINE void encode_tq1_block(const float* in, float inverse, std::byte* out) {
  const hn::CappedTag<float, 4> quarter;
  std::uint32_t lanes[64] = {};
  for (std::size_t m = 0; m < 32; m += kLanes) pack_five(F32(), in + m, inverse, 32, 5, lanes + m);
  for (std::size_t m = 0; m < 16; m += kLanes)
    pack_five(F32(), in + 160 + m, inverse, 16, 5, lanes + 32 + m);
  pack_five(quarter, in + 240, inverse, 4, 4, lanes + 48);
  std::byte bytes[64];
  const auto load = [&](std::size_t i)
                        HWY_ATTR { return hn::BitCast(I32(), hn::LoadU(U32(), lanes + i)); };
  for (std::size_t i = 0; i < 64; i += 4 * kLanes)
    store_bytes(
        pack_bytes<true>(load(i), load(i + kLanes), load(i + 2 * kLanes), load(i + 3 * kLanes)),
        bytes + i);
  std::memcpy(out, bytes, kTq1Codes);
}

/// Bytes of a tq1_0 block, which multiplying by 3 turns to their next trit.
template <class D8>
HWY_INLINE void unpack_trits(D8 d, hn::Vec<D8> bytes, std::size_t count, std::size_t stride,
                             std::int8_t* codes) {
  const hn::RebindToSigned<D8> di;
  for (std::size_t n = 0; n < count; ++n) {
    // (3 × byte) >> 8 is the number of these bounds that the byte reaches; compared as signed.
    const auto biased = hn::BitCast(di, hn::Xor(bytes, hn::Set(d, 0x80)));
    const auto one = hn::VecFromMask(di, hn::Gt(biased, hn::Set(di, 86 - 128 - 1)));
    const auto two = hn::VecFromMask(di, hn::Gt(biased, hn::Set(di, 171 - 128 - 1)));
    hn::StoreU(hn::Sub(hn::Sub(hn::Set(di, -1), one), two), di, codes + n * stride);
    bytes = hn::Add(bytes, hn::Add(bytes, bytes));
  }
}

HWY_INLINE void decode_tq1_block(const std::byte* in, float scale, float* out) {
  const hn::CappedTag<std::uint8_t, 16> d16;
  const U8 d8;
  const auto* bytes = as<std::uint8_t>(in);
  std::int8_t codes[kElements + 16];  // the last store writes 16 where 4 are left
  for (std::size_t m = 0; m < 32; m += 4 * kLanes)
    unpack_trits(d8, hn::LoadU(d8, bytes + m), 5, 32, codes + m);
  unpack_trits(d16, hn::LoadU(d16, bytes + 32), 5, 16, codes + 160);
  std::uint8_t last[16] = {};
  std::memcpy(last, bytes + 48, 4);
  unpack_trits(d16, hn::LoadU(d16, last), 4, 4, codes + 240);
  const hn::Rebind<std::int8_t, F32> di8;
  for (std::size_t i = 0; i < kElements; i += kLanes) {
    const auto code = hn::PromoteTo(I32(), hn::LoadU(di8, codes + i));
    hn::StoreU(hn::Mul(hn::ConvertTo(F32(), code), hn::Set(F32(), scale)), F32(), out + i);
  }
}

HWY_INLINE void encode_tq2_group(const float* in, float inverse, std::byte* out) {
  pack_group(out, [&](std::size_t i) HWY_ATTR {
    return trit(F32(), hn::Mul(hn::LoadU(F32(), in + i), hn::Set(F32(), inverse)));
  });
}

std::size_t encode_tq1_0(const float* in, std::size_t blocks, std::byte* out) {
  for (std::size_t b = 0; b < blocks; ++b, in += kElements, out += kTq1Bytes) {
    const Scale scale = scale_of(in);
    if (!scale.ordinary) return b;
    encode_tq1_block(in, scale.inverse, out);
    const std::uint16_t half = f16_from_f32(scale.d);
    std::memcpy(out + kTq1Codes, &half, sizeof half);
  }
  return blocks;
}

std::size_t decode_tq1_0(const std::byte* in, std::size_t blocks, float* out) {
  for (std::size_t b = 0; b < blocks; ++b, in += kTq1Bytes, out += kElements) {
    prefetch_ahead<kTq1Bytes>(in);
    std::uint16_t half = 0;
    std::memcpy(&half, in + kTq1Codes, sizeof half);
    decode_tq1_block(in, f32_from_f16(half), out);
  }
  return blocks;
}

std::size_t encode_tq2_0(const float* in, std::size_t blocks, std::byte* out) {
  for (std::size_t b = 0; b < blocks; ++b, in += kElements, out += kTq2Bytes) {
    const Scale scale = scale_of(in);
    if (!scale.ordinary) return b;
    encode_tq2_group(in, scale.inverse, out);
    encode_tq2_group(in + kGroupElements, scale.inverse, out + kGroupBytes);
    const std::uint16_t half = f16_from_f32(scale.d);
    std::memcpy(out + kTq2Codes, &half, sizeof half);
  }
  return blocks;
}

std::size_t decode_tq2_0(const std::byte* in, std::size_t blocks, float* out) {
  for (std::size_t b = 0; b < blocks; ++b, in += kTq2Bytes, out += kElements) {
    prefetch_ahead<kTq2Bytes>(in);
    std::uint16_t half = 0;
    std::memcpy(&half, in + kTq2Codes, sizeof half);
    const float scale = f32_from_f16(half);
    unpack_group(in, scale, out);
    unpack_group(in + kGroupBytes, scale, out + kGroupElements);
  }
  return blocks;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_tq1_0);
HWY_EXPORT(decode_tq1_0);
HWY_EXPORT(encode_tq2_0);
HWY_EXPORT(decode_tq2_0);

std::size_t encode_tq1_0(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_tq1_0)(in, blocks, out);
}
std::size_t decode_tq1_0(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_tq1_0)(in, blocks, out);
}
std::size_t encode_tq2_0(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_tq2_0)(in, blocks, out);
}
std::size_t decode_tq2_0(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_tq2_0)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
