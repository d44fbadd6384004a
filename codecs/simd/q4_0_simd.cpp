#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/q4_0_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include <cmath>

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

constexpr std::size_t kElements = 32;
constexpr std::size_t kHalf = kElements / 2;
constexpr std::size_t kBytes = 18;

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
  for (std::size_t b = 0; b < kLanes; ++b, in += kElements) {
    prefetch_ahead<kElements * sizeof(float)>(in);
    const auto bits = hn::LoadU(F32(), in);
    high[b] = hn::BitCast(di, bits);
    low[b] = hn::BitCast(du, bits);
    for (std::size_t i = kLanes; i < kElements; i += kLanes) {
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
HWY_INLINE bool ordinary(VF32 largest) {
  const F32 d;
  const auto zero = hn::Eq(largest, hn::Zero(d));
  const auto low = hn::Ge(largest, hn::Set(d, 8 * 0x1p-24f));
  const auto high = hn::Le(largest, hn::Set(d, 8 * 65000.0f));  // false for NaN
  return hn::AllTrue(d, hn::Or(zero, hn::And(low, high)));
}

/// The first value of a block whose magnitude is `largest`.
HWY_INLINE float first_of_magnitude(const float* block, float largest) {
  const F32 d;
  for (std::size_t i = 0; i < kElements; i += kLanes) {
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
    extremes[b] = first_of_magnitude(in + b * kElements, std::fabs(extremes[b]));
}

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

/// What kLanes blocks are multiplied with, and their scales.
struct Scales {
  float inverse[kLanes];
  std::uint16_t stored[kLanes];
};

/// False: a block is not ordinary.
HWY_INLINE bool find_scales(const float* in, Scales& scales) {
  const F32 d;
  const Largest bits = largest_of_blocks(in);
  const auto largest = hn::BitCast(d, hn::Max(bits.positive, bits.negative));
  if (!ordinary(largest)) return false;
  float extremes[kLanes];
  find_extremes(in, bits, largest, extremes);
  const auto scale = hn::Mul(hn::LoadU(d, extremes), hn::Set(d, -0.125f));  // exactly m / -8
  const auto zero = hn::Eq(scale, hn::Zero(d));
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

std::size_t encode_q4_0(const float* in, std::size_t blocks, std::byte* out) {
  return encode_ahead<Scales>(
      blocks,
      [&](std::size_t first, Scales& scales)
          HWY_ATTR { return find_scales(in + first * kElements, scales); },
      [&](std::size_t first, const Scales& scales)
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
