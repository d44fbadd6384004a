// Decoding of blocks of 32 elements: q4_1, q5_0, q5_1, q8_1, iq4_nl, mxfp4.

#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/small_blocks_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "code_tables.h"
#include "simd/codes-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t decode_q4_1(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q5_0(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q5_1(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_q8_1(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_iq4_nl(const std::byte*, std::size_t, float*) {
  return 0;
}
std::size_t decode_mxfp4(const std::byte*, std::size_t, float*) {
  return 0;
}

#else

constexpr std::size_t kElements = 32;

/// Calls `decode(block, values)` for every block.
template <std::size_t kBytes, class Decode>
HWY_INLINE std::size_t for_each_small(const std::byte* in, std::size_t blocks, float* out,
                                      Decode decode) {
  for (std::size_t b = 0; b < blocks; ++b, in += kBytes, out += kElements) {
    prefetch_ahead<kBytes>(in);
    decode(in, out);
  }
  return blocks;
}

/// The codes of 16 bytes: those in the lower halves, then those in the upper ones.
HWY_INLINE void unpack_nibbles(V8x16 bytes, std::uint8_t* codes) {
  const U8x16 d;
  hn::StoreU(low_nibbles(d, bytes), d, codes);
  hn::StoreU(hn::ShiftRight<4>(bytes), d, codes + 16);
}

/// 16 where a bit of `bits` is set, else 0: for bits 0-15, or for bits 16-31.
template <bool kUpper>
HWY_INLINE V8x16 sixteen_where_set(std::uint32_t bits) {
  const U8x16 d;
  alignas(16) static constexpr std::uint8_t kByteOf[2][16] = {
      {0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1},
      {2, 2, 2, 2, 2, 2, 2, 2, 3, 3, 3, 3, 3, 3, 3, 3}};
  alignas(16) static constexpr std::uint8_t kBitOf[16] = {1, 2, 4, 8, 16, 32, 64, 128,
                                                          1, 2, 4, 8, 16, 32, 64, 128};
  const auto all = hn::BitCast(d, hn::Set(hn::Repartition<std::uint32_t, U8x16>(), bits));
  const auto bytes = hn::TableLookupBytes(all, hn::Load(d, kByteOf[kUpper ? 1 : 0]));
  const auto bit = hn::Load(d, kBitOf);
  const auto set = hn::VecFromMask(d, hn::Eq(hn::And(bytes, bit), bit));
  return hn::And(set, hn::Set(d, std::uint8_t{16}));
}

/// The codes of q5_0 and q5_1, as five_bits.h packs them.
HWY_INLINE void unpack_five_bits(const std::byte* in, std::uint8_t* codes) {
  const U8x16 d;
  std::uint32_t high = 0;
  std::memcpy(&high, in, sizeof high);
  const auto bytes = load16(in + 4);
  hn::StoreU(hn::Or(low_nibbles(d, bytes), sixteen_where_set<false>(high)), d, codes);
  hn::StoreU(hn::Or(hn::ShiftRight<4>(bytes), sixteen_where_set<true>(high)), d, codes + 16);
}

/// The values of 16 bytes of codes, of which `table` says what they stand for.
HWY_INLINE void decode_table(const std::int8_t* table, const std::byte* in, float scale,
                             float* out) {
  const U8x16 d;
  const hn::RebindToSigned<U8x16> di;
  const auto values = hn::BitCast(d, hn::LoadU(di, table));
  const auto bytes = load16(in);
  std::int8_t codes[kElements];
  const auto low = hn::TableLookupBytes(values, low_nibbles(d, bytes));
  const auto high = hn::TableLookupBytes(values, hn::ShiftRight<4>(bytes));
  hn::StoreU(hn::BitCast(di, low), di, codes);
  hn::StoreU(hn::BitCast(di, high), di, codes + 16);
  scale_codes(codes, kElements, scale, out);
}

std::size_t decode_q4_1(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<20>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    std::uint8_t codes[kElements];
    unpack_nibbles(load16(block + 4), codes);
    scale_codes(codes, kElements, load_scale(block), load_scale(block + 2), values);
  });
}

std::size_t decode_q5_0(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<22>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    const hn::RebindToSigned<U8x16> d;
    std::uint8_t codes[kElements];
    std::int8_t signed_codes[kElements];
    unpack_five_bits(block + 2, codes);
    for (std::size_t i = 0; i < kElements; i += 16) {
      const auto code = hn::BitCast(d, hn::LoadU(U8x16(), codes + i));
      hn::StoreU(hn::Sub(code, hn::Set(d, std::int8_t{16})), d, signed_codes + i);
    }
    scale_codes(signed_codes, kElements, load_scale(block), values);
  });
}

std::size_t decode_q5_1(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<24>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    std::uint8_t codes[kElements];
    unpack_five_bits(block + 4, codes);
    scale_codes(codes, kElements, load_scale(block), load_scale(block + 2), values);
  });
}

std::size_t decode_q8_1(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<36>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    scale_codes(as<std::int8_t>(block + 4), kElements, load_scale(block), values);
  });
}

std::size_t decode_iq4_nl(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<18>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    decode_table(kIq4Values.data(), block + 2, load_scale(block), values);
  });
}

std::size_t decode_mxfp4(const std::byte* in, std::size_t blocks, float* out) {
  return for_each_small<17>(in, blocks, out, [](const std::byte* block, float* values) HWY_ATTR {
    const float scale = mxfp4_scale(std::to_integer<std::uint8_t>(*block));
    decode_table(kMxfp4Values.data(), block + 1, scale, values);
  });
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(decode_q4_1);
HWY_EXPORT(decode_q5_0);
HWY_EXPORT(decode_q5_1);
HWY_EXPORT(decode_q8_1);
HWY_EXPORT(decode_iq4_nl);
HWY_EXPORT(decode_mxfp4);

std::size_t decode_q4_1(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q4_1)(in, blocks, out);
}
std::size_t decode_q5_0(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q5_0)(in, blocks, out);
}
std::size_t decode_q5_1(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q5_1)(in, blocks, out);
}
std::size_t decode_q8_1(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_q8_1)(in, blocks, out);
}
std::size_t decode_iq4_nl(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_iq4_nl)(in, blocks, out);
}
std::size_t decode_mxfp4(const std::byte* in, std::size_t blocks, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_mxfp4)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
