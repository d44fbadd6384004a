#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/q4_0_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "simd/signed_max-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_q4_0(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t decode_q4_0(const std::byte*, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kElements = kSignedElements;
constexpr std::size_t kHalf = kElements / 2;
constexpr std::size_t kBytes = 18;

HWY_INLINE void encode_codes(const float* in, float inverse, std::byte* out) {
  const F32 d;
  const auto scale = hn::Set(d, inverse);
  const auto code = [&](std::size_t i) HWY_ATTR {
    const auto scaled = hn::Mul(hn::LoadU(d, in + i), scale);
    const auto q = truncate(hn::Add(scaled, hn::Set(d, 8.5f)));
    return hn::Min(q, hn::Set(I32(), 15));
  };
  VI32 pairs[kHalf / kLanes];
  for (std::size_t i = 0; i < kHalf / kLanes; ++i)
    pairs[i] = hn::Or(code(i * kLanes), hn::ShiftLeft<4>(code(i * kLanes + kHalf)));
  if constexpr (kLanes == 4) {
    store_bytes(pack_bytes<true>(pairs[0], pairs[1], pairs[2], pairs[3]), out);
  } else {
    const auto zero = hn::Zero(I32());
    const auto bytes = hn::LowerHalf(pack_bytes<true>(pairs[0], pairs[1], zero, zero));
    hn::StoreU(bytes, hn::Half<U8>(), as<std::uint8_t>(out));
  }
}

HWY_INLINE void encode_blocks(const float* in, const SignedScales& scales, std::byte* out) {
  prefetch_ahead<kLanes * kBytes>(out);  // stores of parts of lines read them first
  for (std::size_t b = 0; b < kLanes; ++b, in += kElements, out += kBytes) {
    std::memcpy(out, &scales.stored[b], sizeof scales.stored[b]);
    encode_codes(in, scales.inverse[b], out + 2);
  }
}

std::size_t encode_q4_0(const float* in, std::size_t blocks, std::byte* out) {
  return encode_ahead<SignedScales>(
      blocks,
      [&](std::size_t first, SignedScales& scales)
          HWY_ATTR { return find_signed_scales<8>(in + first * kElements, scales); },
      [&](std::size_t first, const SignedScales& scales)
          HWY_ATTR { encode_blocks(in + first * kElements, scales, out + first * kBytes); });
}

HWY_INLINE void decode_codes(const std::byte* in, float scale, float* out) {
  const F32 d;
  const I32 di;
  const auto value = [&](VI32 q) HWY_ATTR {
    return hn::Mul(hn::ConvertTo(d, hn::Sub(q, hn::Set(di, 8))), hn::Set(d, scale));
  };
  for (std::size_t i = 0; i < kHalf; i += kLanes) {
    const auto bytes = load_bytes(in + i);
    hn::StoreU(value(hn::And(bytes, hn::Set(di, 15))), d, out + i);
    hn::StoreU(value(hn::ShiftRight<4>(bytes)), d, out + kHalf + i);
  }
}

std::size_t decode_q4_0(const std::byte* in, std::size_t blocks, float* out) {
  std::size_t block = 0;
  for (; block + kLanes <= blocks; block += kLanes) {
    const std::byte* from = in + block * kBytes;
    prefetch_ahead<kLanes * kBytes>(from);
    float scales[kLanes];
    load_block_scales(from, kBytes, scales);
    for (std::size_t b = 0; b < kLanes; ++b)
      decode_codes(from + b * kBytes + 2, scales[b], out + (block + b) * kElements);
  }
  return block;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_q4_0);
HWY_EXPORT(decode_q4_0);

std::size_t encode_q4_0(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q4_0)(in, blocks, out);
}
std::size_t decode_q4_0(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q4_0)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
