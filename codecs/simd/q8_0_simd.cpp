#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/q8_0_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_q8_0(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t decode_q8_0(const std::byte*, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kElements = 32;
constexpr std::size_t kBytes = 34;

/// Bits of the largest magnitude of each of kLanes blocks.
HWY_INLINE VU32 largest_of_blocks(const float* in) {
  const auto max = [](VU32 a, VU32 b) HWY_ATTR { return hn::Max(a, b); };
  VU32 largest[kLanes];
  for (std::size_t b = 0; b < kLanes; ++b, in += kElements) {
    prefetch_ahead<kElements * sizeof(float)>(in);
    largest[b] = magnitude_bits(hn::LoadU(F32(), in));
    for (std::size_t i = kLanes; i < kElements; i += kLanes)
      largest[b] = max(largest[b], magnitude_bits(hn::LoadU(F32(), in + i)));
  }
  return reduce_each(U32(), largest, max);
}

/// Whether every block is zero or has a scale that f16 holds, well inside its range.
HWY_INLINE bool ordinary(VF32 largest) {
  const F32 d;
  const auto zero = hn::Eq(largest, hn::Zero(d));
  const auto low = hn::Ge(largest, hn::Set(d, 127 * 0x1p-24f));
  const auto high = hn::Le(largest, hn::Set(d, 127 * 65000.0f));  // false for NaN
  return hn::AllTrue(d, hn::Or(zero, hn::And(low, high)));
}

HWY_INLINE void encode_codes(const float* in, float inverse, std::byte* out) {
  const F32 d;
  const auto scale = hn::Set(d, inverse);
  const auto code = [&](std::size_t i)
                        HWY_ATTR { return round_half_away(hn::Mul(hn::LoadU(d, in + i), scale)); };
  for (std::size_t i = 0; i < kElements; i += 4 * kLanes)
    store_bytes(
        pack_bytes<false>(code(i), code(i + kLanes), code(i + 2 * kLanes), code(i + 3 * kLanes)),
        out + i);
}

/// What kLanes blocks are multiplied with, and their scales.
struct Scales {
  float inverse[kLanes];
  std::uint16_t stored[kLanes];
};

/// False: a block is not ordinary.
HWY_INLINE bool find_scales(const float* in, Scales& scales) {
  const F32 d;
  const auto largest = hn::BitCast(d, largest_of_blocks(in));
  if (!ordinary(largest)) return false;
  const auto scale = hn::Div(largest, hn::Set(d, 127.0f));
  const auto zero = hn::Eq(largest, hn::Zero(d));
  hn::StoreU(hn::IfThenZeroElse(zero, hn::Div(hn::Set(d, 1.0f), scale)), d, scales.inverse);
  store_f16(scale, scales.stored);
  return true;
}

HWY_INLINE void encode_blocks(const float* in, const Scales& scales, std::byte* out) {
  prefetch_ahead<kLanes * kBytes>(out);  // stores of parts of lines read them first
  for (std::size_t b = 0; b < kLanes; ++b, in += kElements, out += kBytes) {
    std::memcpy(out, &scales.stored[b], sizeof scales.stored[b]);
    encode_codes(in, scales.inverse[b], out + 2);
  }
}

std::size_t encode_q8_0(const float* in, std::size_t blocks, std::byte* out) {
  return encode_ahead<Scales>(
      blocks,
      [&](std::size_t first, Scales& scales)
          HWY_ATTR { return find_scales(in + first * kElements, scales); },
      [&](std::size_t first, const Scales& scales)
          HWY_ATTR { encode_blocks(in + first * kElements, scales, out + first * kBytes); });
}

HWY_INLINE void decode_codes(const std::byte* in, float scale, float* out) {
  const F32 d;
  const hn::Rebind<std::int8_t, F32> d8;
  for (std::size_t i = 0; i < kElements; i += kLanes) {
    const auto bytes = hn::LoadU(d8, as<std::int8_t>(in + i));
    const auto code = hn::ConvertTo(d, hn::PromoteTo(I32(), bytes));
    hn::StoreU(hn::Mul(code, hn::Set(d, scale)), d, out + i);
  }
}

std::size_t decode_q8_0(const std::byte* in, std::size_t blocks, float* out) {
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

HWY_EXPORT(encode_q8_0);
HWY_EXPORT(decode_q8_0);

std::size_t encode_q8_0(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q8_0)(in, blocks, out);
}
std::size_t decode_q8_0(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q8_0)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
