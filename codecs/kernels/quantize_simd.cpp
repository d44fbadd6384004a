#include "kernels/quantize_blocks.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "kernels/quantize_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "block_codec.h"
#include "float_bits.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

#if !SYNPS_SIMD

void quantize_blocks(const float* x, std::size_t blocks, std::size_t block, std::int8_t* codes,
                     float* scales, std::int16_t* sums) {
  for (std::size_t b = 0; b < blocks; ++b)
    quantize_block(x + b * block, block, codes + b * block, scales + b, sums + b * kPairSums);
}

#else

using namespace simd::HWY_NAMESPACE;  // NOLINT(google-build-using-namespace)

/// Adds the sums of neighbours among 32 codes.
HWY_INLINE void add_pairs(const std::int8_t* codes, std::int16_t* sums) {
  const hn::CappedTag<std::int16_t, 8> d16;
  const hn::RebindToUnsigned<decltype(d16)> u16;
  for (std::size_t i = 0; i < 32; i += 16) {
    const auto bytes = hn::BitCast(d16, hn::LoadU(hn::CappedTag<std::int8_t, 16>(), codes + i));
    const auto even =
        hn::ShiftRight<8>(hn::BitCast(d16, hn::ShiftLeft<8>(hn::BitCast(u16, bytes))));
    const auto pairs = hn::Add(even, hn::ShiftRight<8>(bytes));
    hn::StoreU(hn::Add(hn::LoadU(d16, sums + i / 2), pairs), d16, sums + i / 2);
  }
}

HWY_INLINE void quantize_one(const float* x, std::size_t block, std::int8_t* codes, float* scale,
                             std::int16_t* sums) {
  const std::uint32_t largest = largest_magnitude(x, block);
  if (largest >= kF32Infinity) return quantize_block(x, block, codes, scale, sums);
  const float d = std::bit_cast<float>(largest) / 127.0f;
  const auto inverse = hn::Set(F32(), inverse_scale(d));
  const auto code = [&](std::size_t i) HWY_ATTR {
    return round_half_away(hn::Mul(hn::LoadU(F32(), x + i), inverse));
  };
  *scale = d;
  std::int16_t pairs[kPairSums] = {};
  for (std::size_t i = 0; i < block; i += 32) {
    for (std::size_t k = i; k < i + 32; k += 4 * kLanes)
      store_bytes(
          pack_bytes<false>(code(k), code(k + kLanes), code(k + 2 * kLanes), code(k + 3 * kLanes)),
          reinterpret_cast<std::byte*>(codes + k));
    add_pairs(codes + i, pairs);
  }
  for (std::size_t p = 0; p < kPairSums; ++p)
    sums[p] = static_cast<std::int16_t>(pairs[p] * code_offset(block));
}

void quantize_blocks(const float* x, std::size_t blocks, std::size_t block, std::int8_t* codes,
                     float* scales, std::int16_t* sums) {
  for (std::size_t b = 0; b < blocks; ++b)
    quantize_one(x + b * block, block, codes + b * block, scales + b, sums + b * kPairSums);
}

#endif  // SYNPS_SIMD

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::kernels {

HWY_EXPORT(quantize_blocks);

void quantize_blocks(const float* x, std::size_t blocks, std::size_t block, std::int8_t* codes,
                     float* scales, std::int16_t* sums) {
  HWY_DYNAMIC_DISPATCH(quantize_blocks)(x, blocks, block, codes, scales, sums);
}

}  // namespace synps::kernels
#endif  // HWY_ONCE
