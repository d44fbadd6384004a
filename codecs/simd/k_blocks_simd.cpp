// Decoding of blocks of 256 elements: q2_k, q3_k, q4_k, q5_k, q6_k, q8_k, iq4_xs.

#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/k_blocks_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "code_tables.h"
#include "k_blocks.h"
#include "q6_scales.h"
#include "scale_min_block.h"
#include "simd/codes-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t decode_q2_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q3_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q4_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q5_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q6_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q8_k(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_iq4_xs(const std::byte*, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kElements = kBlock256;
constexpr std::size_t kLine = 32;  ///< bytes, of which each holds parts of elements 32 apart

HWY_INLINE V8 set(int value) {
  return hn::Set(U8(), static_cast<std::uint8_t>(value));
}

/// Calls `decode(block, values)` for every block.
template <std::size_t kBytes, class Decode>
HWY_INLINE std::size_t for_each_block(const std::byte* in, std::size_t blocks, float* out,
                                      Decode decode) {
  for (std::size_t b = 0; b < blocks; ++b, in += kBytes, out += kElements) {
    prefetch_ahead<kBytes>(in);
    decode(in, out);
  }
  return blocks;
}

/// Stores vectors of codes, `stride` elements apart.
template <std::size_t kCount>
HWY_INLINE void store_apart(const V8 (&codes)[kCount], std::size_t stride, std::uint8_t* out) {
  for (std::size_t n = 0; n < kCount; ++n) hn::StoreU(codes[n], U8(), out + n * stride);
}

/// Two bits of each of four elements a byte.
HWY_INLINE void unpack_pairs(V8 bytes, V8 (&codes)[4]) {
  const auto mask = set(3);
  codes[0] = hn::And(bytes, mask);
  codes[1] = hn::And(hn::ShiftRight<2>(bytes), mask);
  codes[2] = hn::And(hn::ShiftRight<4>(bytes), mask);
  codes[3] = hn::ShiftRight<6>(bytes);
}

/// Codes of 16 elements each under a scale of their own.
template <class Scale>
HWY_INLINE void scale_sixteens(const std::uint8_t* codes, Scale scale, float* out) {
  for (std::size_t j = 0; j < kElements / 16; ++j)
    scale_codes(reinterpret_cast<const std::int8_t*>(codes) + 16 * j, 16, scale(j), out + 16 * j);
}

HWY_INLINE void decode_q2_block(const std::byte* in, float* out) {
  std::uint8_t codes[kElements];
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t l = 0; l < kLine; l += 4 * kLanes) {
      V8 pairs[4];
      unpack_pairs(load_many(in + 16 + kLine * half + l), pairs);
      store_apart(pairs, kLine, codes + 128 * half + l);
    }
  const float d = load_scale(in + 80);
  const float min = load_scale(in + 82);
  for (std::size_t j = 0; j < kElements / 16; ++j) {
    const int bits = std::to_integer<int>(in[j]);
    scale_codes(codes + 16 * j, 16, d * static_cast<float>(bits & 15),
                -(min * static_cast<float>(bits >> 4)), out + 16 * j);
  }
}

HWY_INLINE void decode_q3_block(const std::byte* in, float* out) {
  std::uint8_t codes[kElements];
  for (std::size_t l = 0; l < kLine; l += 4 * kLanes) {
    auto high = load_many(in + l);  // the next bit is the lowest
    for (std::size_t half = 0; half < 2; ++half) {
      V8 pairs[4];
      unpack_pairs(load_many(in + kLine + kLine * half + l), pairs);
      for (V8& code : pairs) {
        const auto bit = hn::ShiftLeft<2>(hn::And(high, set(1)));
        code = hn::Sub(hn::Or(code, bit), set(4));
        high = hn::ShiftRight<1>(high);
      }
      store_apart(pairs, kLine, codes + 128 * half + l);
    }
  }
  const float d = load_scale(in + kQ3DAt);
  scale_sixteens(
      codes, [=](std::size_t j) HWY_ATTR { return d * static_cast<float>(q3_scale(in, j)); }, out);
}

HWY_INLINE void scale_thirty_twos(const std::uint8_t* codes, const std::byte* header, float* out) {
  const ScaleMins s(header);
  for (std::size_t j = 0; j < kSubBlocks; ++j)
    scale_codes(codes + 32 * j, 32, s.scale[j], -s.min[j], out + 32 * j);
}

HWY_INLINE void decode_q4_block(const std::byte* in, float* out) {
  std::uint8_t codes[kElements];
  for (std::size_t g = 0; g < 4; ++g)
    for (std::size_t l = 0; l < kLine; l += 4 * kLanes) {
      const auto bytes = load_many(in + ScaleMinHeader::kBytes + kLine * g + l);
      const V8 nibbles[2] = {low_nibbles(U8(), bytes), hn::ShiftRight<4>(bytes)};
      store_apart(nibbles, kLine, codes + 64 * g + l);
    }
  scale_thirty_twos(codes, in, out);
}

HWY_INLINE void decode_q5_block(const std::byte* in, float* out) {
  std::uint8_t codes[kElements];
  const std::byte* lows = in + ScaleMinHeader::kBytes + kLine;
  for (std::size_t l = 0; l < kLine; l += 4 * kLanes) {
    auto high = load_many(in + ScaleMinHeader::kBytes + l);  // the next bit is the lowest
    const auto next_high = [&]() HWY_ATTR {
      const auto bit = hn::ShiftLeft<4>(hn::And(high, set(1)));
      high = hn::ShiftRight<1>(high);
      return bit;
    };
    for (std::size_t g = 0; g < 4; ++g) {
      const auto bytes = load_many(lows + kLine * g + l);
      const auto first = hn::Or(low_nibbles(U8(), bytes), next_high());
      const auto second = hn::Or(hn::ShiftRight<4>(bytes), next_high());
      const V8 both[2] = {first, second};
      store_apart(both, kLine, codes + 64 * g + l);
    }
  }
  scale_thirty_twos(codes, in, out);
}

HWY_INLINE void decode_q6_block(const std::byte* in, float* out) {
  std::uint8_t codes[kElements];
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t l = 0; l < kLine; l += 4 * kLanes) {
      const auto even = load_many(in + 2 * kLine * half + l);
      const auto odd = load_many(in + 2 * kLine * half + kLine + l);
      V8 high[4];
      unpack_pairs(load_many(in + 128 + kLine * half + l), high);
      const V8 low[4] = {low_nibbles(U8(), even), low_nibbles(U8(), odd), hn::ShiftRight<4>(even),
                         hn::ShiftRight<4>(odd)};
      for (std::size_t n = 0; n < 4; ++n)
        high[n] = hn::Sub(hn::Or(hn::ShiftLeft<4>(high[n]), low[n]), set(kQ6Half));
      store_apart(high, kLine, codes + 128 * half + l);
    }
  const float d = load_scale(in + 208);
  scale_sixteens(
      codes,
      [=](std::size_t j)
          HWY_ATTR { return d * static_cast<float>(static_cast<std::int8_t>(in[192 + j])); },
      out);
}

HWY_INLINE void decode_iq4_xs_block(const std::byte* in, float* out) {
  const hn::RebindToSigned<U8x16> di;
  const auto table = hn::BitCast(U8x16(), hn::LoadU(di, kIq4Values.data()));
  std::int8_t codes[kElements];
  for (std::size_t j = 0; j < kElements / 32; ++j) {
    const auto bytes = load16(in + kIq4XsCodesAt + 16 * j);
    const auto low = hn::TableLookupBytes(table, low_nibbles(U8x16(), bytes));
    const auto high = hn::TableLookupBytes(table, hn::ShiftRight<4>(bytes));
    hn::StoreU(hn::BitCast(di, low), di, codes + 32 * j);
    hn::StoreU(hn::BitCast(di, high), di, codes + 32 * j + 16);
  }
  const float d = load_scale(in);
  for (std::size_t j = 0; j < kElements / 32; ++j)
    scale_codes(codes + 32 * j, 32, d * static_cast<float>(iq4_xs_scale(in, j)), out + 32 * j);
}

std::size_t decode_q2_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<84>(in, blocks, out, decode_q2_block);
}
std::size_t decode_q3_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<110>(in, blocks, out, decode_q3_block);
}
std::size_t decode_q4_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<144>(in, blocks, out, decode_q4_block);
}
std::size_t decode_q5_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<176>(in, blocks, out, decode_q5_block);
}
std::size_t decode_q6_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<210>(in, blocks, out, decode_q6_block);
}
std::size_t decode_q8_k(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<292>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    float d = 0;
    std::memcpy(&d, block, sizeof d);
    scale_codes(as<std::int8_t>(block + 4), kElements, d, values);
  });
}
std::size_t decode_iq4_xs(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_block<136>(in, blocks, out, decode_iq4_xs_block);
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(decode_q2_k);
HWY_EXPORT(decode_q3_k);
HWY_EXPORT(decode_q4_k);
HWY_EXPORT(decode_q5_k);
HWY_EXPORT(decode_q6_k);
HWY_EXPORT(decode_q8_k);
HWY_EXPORT(decode_iq4_xs);

std::size_t decode_q2_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q2_k)(in, blocks, out);
}
std::size_t decode_q3_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q3_k)(in, blocks, out);
}
std::size_t decode_q4_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q4_k)(in, blocks, out);
}
std::size_t decode_q5_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q5_k)(in, blocks, out);
}
std::size_t decode_q6_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q6_k)(in, blocks, out);
}
std::size_t decode_q8_k(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q8_k)(in, blocks, out);
}
std::size_t decode_iq4_xs(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_iq4_xs)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
