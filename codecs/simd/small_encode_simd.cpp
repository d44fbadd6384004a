// Encoding of blocks of 32 elements: q4_1, q5_0, q5_1.

#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/small_encode_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "float_bits.h"
#include "simd/codes-inl.h"
#include "simd/signed_max-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_q4_1(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t encode_q5_0(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t encode_q5_1(const float*, std::size_t, std::byte*) {
  return 0;
}

#else

constexpr std::size_t kElements = 32;

/// One byte a code of a block; `code(v)` gives those of kLanes values.
template <class Code>
HWY_INLINE void find_codes(const float* in, Code code, std::byte* codes) {
  const auto at = [&](std::size_t i) HWY_ATTR { return code(hn::LoadU(F32(), in + i)); };
  for (std::size_t i = 0; i < kElements; i += 4 * kLanes)
    store_bytes(pack_bytes<true>(at(i), at(i + kLanes), at(i + 2 * kLanes), at(i + 3 * kLanes)),
                codes + i);
}

/// The lower four bits of the codes, of element j low and of element j + 16 high.
HWY_INLINE void pack_nibbles(const std::byte* codes, std::byte* out) {
  const U8x16 d;
  const auto low = low_nibbles(d, load16(codes));
  hn::StoreU(hn::Or(low, hn::ShiftLeft<4>(load16(codes + 16))), d, as<std::uint8_t>(out));
}

/// The codes as five_bits.h packs them.
HWY_INLINE void pack_five_bits(const std::byte* codes, std::byte* out) {
  const U8 d;
  for (std::size_t i = 0; i < kElements; i += 4 * kLanes) {
    std::uint8_t bits[8] = {};
    const auto bit = hn::Set(d, std::uint8_t{16});
    hn::StoreMaskBits(d, hn::Eq(hn::And(load_many(codes + i), bit), bit), bits);
    std::memcpy(out + i / 8, bits, kLanes / 2);
  }
  pack_nibbles(codes, out + 4);
}

/// RangeBlock's scales of kLanes blocks.
struct RangeScales {
  float inverse[kLanes];
  float min[kLanes];
  std::uint16_t stored_d[kLanes];
  std::uint16_t stored_min[kLanes];
};

/// The zero that comes first in a block, of which it is the smallest value.
HWY_INLINE float first_zero(const float* block) {
  for (std::size_t i = 0; i < kElements; ++i)
    if (block[i] == 0) return block[i];
  return 0;
}

/// The smallest and the largest value of each of kLanes blocks, and bits of the largest magnitude
/// of all of them.
HWY_INLINE void find_ranges(const float* in, VF32& lowest, VF32& highest, VU32& magnitude) {
  const F32 d;
  const auto min = [](VF32 a, VF32 b) HWY_ATTR { return hn::Min(a, b); };
  const auto max = [](VF32 a, VF32 b) HWY_ATTR { return hn::Max(a, b); };
  VF32 low[kLanes];
  VF32 high[kLanes];
  magnitude = hn::Zero(U32());
  for (std::size_t b = 0; b < kLanes; ++b, in += kElements) {
    prefetch_ahead<kElements * sizeof(float)>(in);
    low[b] = high[b] = hn::LoadU(d, in);
    magnitude = hn::Max(magnitude, magnitude_bits(low[b]));
    for (std::size_t i = kLanes; i < kElements; i += kLanes) {
      const auto v = hn::LoadU(d, in + i);
      low[b] = min(low[b], v);
      high[b] = max(high[b], v);
      magnitude = hn::Max(magnitude, magnitude_bits(v));
    }
  }
  lowest = reduce_each(d, low, min);
  highest = reduce_each(d, high, max);
}

/// False: a block is not ordinary.
template <int kMost>
HWY_INLINE bool find_range_scales(const float* in, RangeScales& scales) {
  const F32 d;
  VF32 min;
  VF32 max;
  VU32 magnitude;
  find_ranges(in, min, max, magnitude);
  if (!hn::AllTrue(U32(), hn::Lt(magnitude, hn::Set(U32(), kF32Infinity)))) return false;
  // The sum makes +0 of the -0 that zeros of both signs may give.
  const auto range = hn::Add(hn::Sub(max, min), hn::Zero(d));
  const auto step = hn::Div(range, hn::Set(d, static_cast<float>(kMost)));
  const auto flat = hn::Eq(step, hn::Zero(d));
  const auto zero = hn::Eq(min, hn::Zero(d));
  const auto most = hn::Set(d, 65000.0f);
  const auto least = hn::Set(d, 0x1p-24f);
  const auto fits = hn::And(hn::Le(step, most), hn::Le(hn::Abs(min), most));
  // Not lost: d or min is not 0 in f16, or all values are 0.
  const auto kept = hn::Or(hn::And(zero, hn::Eq(range, hn::Zero(d))),
                           hn::Or(hn::Ge(step, least), hn::And(flat, hn::Ge(hn::Abs(min), least))));
  if (!hn::AllTrue(d, hn::And(fits, kept))) return false;
  hn::StoreU(hn::IfThenZeroElse(flat, hn::Div(hn::Set(d, 1.0f), step)), d, scales.inverse);
  hn::StoreU(min, d, scales.min);
  if (!hn::AllFalse(d, zero))  // which of the zeros Min() leaves is not said
    for (std::size_t b = 0; b < kLanes; ++b)
      if (scales.min[b] == 0) scales.min[b] = first_zero(in + b * kElements);
  store_f16(step, scales.stored_d);
  store_f16(hn::LoadU(d, scales.min), scales.stored_min);
  return true;
}

/// Blocks of kBytes bytes with d and min before what `pack(codes, out)` writes.
template <int kMost, std::size_t kBytes, class Pack>
HWY_INLINE std::size_t encode_ranges(const float* in, std::size_t blocks, std::byte* out,
                                     Pack pack) {
  const auto find = [&](std::size_t first, RangeScales& scales) HWY_ATTR {
    return find_range_scales<kMost>(in + first * kElements, scales);
  };
  const auto encode = [&](std::size_t first, const RangeScales& scales) HWY_ATTR {
    std::byte* to = out + first * kBytes;
    for (std::size_t b = 0; b < kLanes; ++b, to += kBytes) {
      const auto code = [&](VF32 v) HWY_ATTR {
        const auto steps =
            hn::Mul(hn::Sub(v, hn::Set(F32(), scales.min[b])), hn::Set(F32(), scales.inverse[b]));
        return hn::Min(truncate(hn::Add(steps, hn::Set(F32(), 0.5f))), hn::Set(I32(), kMost));
      };
      std::byte codes[kElements];
      find_codes(in + (first + b) * kElements, code, codes);
      std::memcpy(to, &scales.stored_d[b], sizeof scales.stored_d[b]);
      std::memcpy(to + 2, &scales.stored_min[b], sizeof scales.stored_min[b]);
      pack(codes, to + 4);
    }
  };
  return encode_ahead<RangeScales>(blocks, find, encode);
}

std::size_t encode_q4_1(const float* in, std::size_t blocks, std::byte* out) {
  return encode_ranges<15, 20>(in, blocks, out, pack_nibbles);
}

std::size_t encode_q5_1(const float* in, std::size_t blocks, std::byte* out) {
  return encode_ranges<31, 24>(in, blocks, out, pack_five_bits);
}

std::size_t encode_q5_0(const float* in, std::size_t blocks, std::byte* out) {
  constexpr std::size_t kBytes = 22;
  const auto find = [&](std::size_t first, SignedScales& scales)
                        HWY_ATTR { return find_signed_scales<16>(in + first * kElements, scales); };
  const auto encode = [&](std::size_t first, const SignedScales& scales) HWY_ATTR {
    std::byte* to = out + first * kBytes;
    for (std::size_t b = 0; b < kLanes; ++b, to += kBytes) {
      const auto code = [&](VF32 v) HWY_ATTR {
        const auto steps = hn::Mul(v, hn::Set(F32(), scales.inverse[b]));
        return hn::Min(truncate(hn::Add(steps, hn::Set(F32(), 16.5f))), hn::Set(I32(), 31));
      };
      std::byte codes[kElements];
      find_codes(in + (first + b) * kElements, code, codes);
      std::memcpy(to, &scales.stored[b], sizeof scales.stored[b]);
      pack_five_bits(codes, to + 2);
    }
  };
  return encode_ahead<SignedScales>(blocks, find, encode);
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_q4_1);
HWY_EXPORT(encode_q5_0);
HWY_EXPORT(encode_q5_1);

std::size_t encode_q4_1(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q4_1)(in, blocks, out);
}
std::size_t encode_q5_0(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q5_0)(in, blocks, out);
}
std::size_t encode_q5_1(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q5_1)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
