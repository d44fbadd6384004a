// What the kernels share. Included once for every target, as Highway's own headers are: after
// hwy/foreach_target.h, with an include guard that flips from target to target.

#if defined(SYNPS_CODECS_SIMD_VECTORS_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_SIMD_VECTORS_INL_H
#undef SYNPS_CODECS_SIMD_VECTORS_INL_H
#else
#define SYNPS_CODECS_SIMD_VECTORS_INL_H
#endif

#include <hwy/cache_control.h>
#include <hwy/highway.h>

#include <cstddef>
#include <cstdint>
#include <cstring>

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

// Elsewhere the reference does everything: where there are no vectors, and in Highway's emulation
// of them, whose conversions to f16 truncate.
#undef SYNPS_X86
#define SYNPS_X86 (HWY_TARGET == HWY_AVX2 || HWY_TARGET == HWY_AVX3)
#undef SYNPS_SIMD
#define SYNPS_SIMD (SYNPS_X86 || HWY_TARGET == HWY_NEON)

#if SYNPS_SIMD

namespace hn = hwy::HWY_NAMESPACE;

/// 256 bits, or 128 where there are no more.
using F32 = hn::CappedTag<float, 8>;
using I32 = hn::RebindToSigned<F32>;
using U32 = hn::RebindToUnsigned<F32>;
using U8 = hn::Repartition<std::uint8_t, F32>;
using VF32 = hn::Vec<F32>;
using VI32 = hn::Vec<I32>;
using VU32 = hn::Vec<U32>;

/// 8 or 4.
inline constexpr std::size_t kLanes = hn::MaxLanes(F32());
static_assert(kLanes == 4 || kLanes == 8);

/// Asks for the lines that come `distance` bytes, a page, after the kBytes at `in`: hardware does
/// not look ahead past the end of a page.
template <std::size_t kBytes>
HWY_INLINE void prefetch_ahead(const void* in, std::size_t distance = 4096) {
  constexpr std::size_t kLine = 64;
  // Past the end of an array a prefetch does nothing, but a pointer must not be made.
  const std::uintptr_t ahead = reinterpret_cast<std::uintptr_t>(in) + distance;
  for (std::size_t i = 0; i < kBytes; i += kLine)
    hwy::Prefetch(reinterpret_cast<const char*>(ahead + i));
}

/// The bits of |v|.
HWY_INLINE VU32 magnitude_bits(VF32 v) {
  const U32 d;
  return hn::And(hn::BitCast(d, v), hn::Set(d, 0x7FFF'FFFFu));
}

/// Bits of the largest of `count` magnitudes. `count` is a multiple of 2 × kLanes.
HWY_INLINE std::uint32_t largest_magnitude(const float* in, std::size_t count) {
  const U32 d;
  auto even = hn::Zero(d);
  auto odd = hn::Zero(d);
  for (std::size_t i = 0; i < count; i += 2 * kLanes) {
    prefetch_ahead<2 * kLanes * sizeof(float)>(in + i);
    even = hn::Max(even, magnitude_bits(hn::LoadU(F32(), in + i)));
    odd = hn::Max(odd, magnitude_bits(hn::LoadU(F32(), in + i + kLanes)));
  }
  return hn::GetLane(hn::MaxOfLanes(d, hn::Max(even, odd)));
}

/// v towards zero. |v| < 2^31.
HWY_INLINE VI32 truncate(VF32 v) {
#if SYNPS_X86
  return VI32{_mm256_cvttps_epi32(v.raw)};  // ConvertTo() also deals with larger values
#else
  return hn::ConvertTo(I32(), v);
#endif
}

/// round_half_away() of rounding.h.
HWY_INLINE VI32 round_half_away(VF32 v) {
  return truncate(hn::Add(v, hn::CopySignToAbs(hn::Set(F32(), 0x1.fffffep-2f), v)));
}

/// Lane i of the result is the `op` of all lanes of v[i]. Overwrites v.
template <class D, class Op>
HWY_INLINE hn::Vec<D> reduce_each(D d, hn::Vec<D>* v, Op op) {
  const hn::RepartitionToWide<D> wide;
  // Two vectors become one, in each half of which (of 128 bits) they alternate; then four.
  for (std::size_t i = 0; i < kLanes / 2; ++i) {
    const auto a = v[2 * i];
    const auto b = v[2 * i + 1];
    v[i] = op(hn::InterleaveLower(d, a, b), hn::InterleaveUpper(d, a, b));
  }
  for (std::size_t i = 0; i < kLanes / 4; ++i) {
    const auto a = hn::BitCast(wide, v[2 * i]);
    const auto b = hn::BitCast(wide, v[2 * i + 1]);
    v[i] = op(hn::BitCast(d, hn::InterleaveLower(wide, a, b)),
              hn::BitCast(d, hn::InterleaveUpper(wide, a, b)));
  }
  if constexpr (kLanes == 8)
    v[0] = op(hn::ConcatLowerLower(d, v[1], v[0]), hn::ConcatUpperUpper(d, v[1], v[0]));
  return v[0];
}

/// The lowest bytes of 4 × kLanes lanes, in order. The lanes lie in [-128, 128), or, if they are to
/// be unsigned, in [0, 256).
template <bool kUnsigned>
HWY_INLINE hn::Vec<U8> pack_bytes(VI32 a, VI32 b, VI32 c, VI32 d) {
  const hn::Repartition<std::int16_t, I32> d16;
  const U8 d8;
  // In each half of 128 bits: four of a, four of b; four of c, four of d.
  const auto ab = hn::ReorderDemote2To(d16, a, b);
  const auto cd = hn::ReorderDemote2To(d16, c, d);
#if SYNPS_X86
  // Highway 1.0.3 has no such thing for bytes.
  const hn::Vec<U8> sorted{kUnsigned ? _mm256_packus_epi16(ab.raw, cd.raw)
                                     : _mm256_packs_epi16(ab.raw, cd.raw)};
  alignas(32) static constexpr std::int32_t kQuads[8] = {0, 4, 1, 5, 2, 6, 3, 7};
  const auto quads = hn::BitCast(U32(), sorted);
  return hn::BitCast(d8, hn::TableLookupLanes(quads, hn::SetTableIndices(U32(), kQuads)));
#else
  static_assert(kLanes == 4);
  return hn::ConcatEven(d8, hn::BitCast(d8, cd), hn::BitCast(d8, ab));
#endif
}

/// Stored bytes as their elements, which need no alignment. To be handed to LoadU and StoreU alone.
template <typename T>
HWY_INLINE T* as(std::byte* bytes) {
  return reinterpret_cast<T*>(bytes);
}
template <typename T>
HWY_INLINE const T* as(const std::byte* bytes) {
  return reinterpret_cast<const T*>(bytes);
}

/// kLanes f32 values as f16. They are zero or in f16's range, so that every target's own conversion
/// rounds to nearest even.
HWY_INLINE void store_f16(VF32 v, std::uint16_t* out) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::RebindToUnsigned<decltype(d16)> bits;
  hn::StoreU(hn::BitCast(bits, hn::DemoteTo(d16, v)), bits, out);
}

/// kLanes f16 bit patterns as f32.
HWY_INLINE VF32 load_f16(const std::uint16_t* in) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::RebindToUnsigned<decltype(d16)> bits;
  return hn::PromoteTo(F32(), hn::BitCast(d16, hn::LoadU(bits, in)));
}

/// Calls `encode(first, scales)` for each kLanes blocks, with the scales that
/// `find_scales(first, scales)` found for them: before those before them were encoded, since two
/// divisions take as long as a block. Stops where find_scales() returns false; returns how many
/// blocks were encoded.
template <class Scales, class FindScales, class Encode>
HWY_INLINE std::size_t encode_ahead(std::size_t blocks, FindScales find_scales, Encode encode) {
  Scales scales[2];
  if (blocks < kLanes || !find_scales(std::size_t{0}, scales[0])) return 0;
  for (std::size_t block = 0, turn = 0;; turn ^= 1) {
    const std::size_t next = block + kLanes;
    const bool more = next + kLanes <= blocks && find_scales(next, scales[turn ^ 1]);
    encode(block, scales[turn]);
    if (!more) return next;
    block = next;
  }
}

/// The scales of kLanes blocks of `stride` bytes that begin with an f16.
HWY_INLINE void load_block_scales(const std::byte* in, std::size_t stride, float* scales) {
  std::uint16_t halves[kLanes];
  for (std::size_t b = 0; b < kLanes; ++b)
    std::memcpy(&halves[b], in + b * stride, sizeof halves[b]);
  hn::StoreU(load_f16(halves), F32(), scales);
}

/// kLanes unsigned bytes as integers.
HWY_INLINE VI32 load_bytes(const std::byte* in) {
  const hn::Rebind<std::uint8_t, F32> d8;
  return hn::PromoteTo(I32(), hn::LoadU(d8, as<std::uint8_t>(in)));
}

HWY_INLINE void store_bytes(hn::Vec<U8> v, std::byte* out) {
  hn::StoreU(v, U8(), as<std::uint8_t>(out));
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_SIMD_VECTORS_INL_H
