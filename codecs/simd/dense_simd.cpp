#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/dense_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "float_bits.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_f16(const float*, std::size_t, std::byte*, Stores) {
  return 0;
}
std::size_t decode_f16(const std::byte*, std::size_t, float*, Stores) {
  return 0;
}
std::size_t encode_bf16(const float*, std::size_t, std::byte*, Stores) {
  return 0;
}
std::size_t decode_bf16(const std::byte*, std::size_t, float*, Stores) {
  return 0;
}
std::size_t decode_f64(const std::byte*, std::size_t, float*, Stores) {
  return 0;
}

#else

/// So many elements are done at once, with one branch on whether all of them are in range.
constexpr std::size_t kStep = 32;
static_assert(kStep % (2 * kLanes) == 0 && kElementStep % kStep == 0);

/// Whether all kStep magnitudes, as bits, are zero or in (low, high).
HWY_INLINE bool within(const float* in, std::uint32_t low, std::uint32_t high) {
  const I32 d;  // compared as signed numbers, which all targets have
  auto outside = hn::Gt(hn::Zero(d), hn::Zero(d));
  for (std::size_t i = 0; i < kStep; i += kLanes) {
    const auto magnitude = hn::BitCast(d, magnitude_bits(hn::LoadU(F32(), in + i)));
    const auto large = hn::Gt(magnitude, hn::Set(d, static_cast<int>(high) - 1));
    const auto small = hn::Lt(magnitude, hn::Set(d, static_cast<int>(low) + 1));
    const auto other = hn::Ne(magnitude, hn::Zero(d));
    outside = hn::Or(outside, hn::Or(large, hn::And(small, other)));
  }
  return hn::AllFalse(d, outside);
}

/// Collects 16-bit results, to tell whether all are in the ordinary: neither zeros, which an
/// underflow may have made, nor infinities or beyond.
template <class D16>
class Results {
 public:
  HWY_INLINE Results() : most_(hn::Zero(D16())), least_(hn::Set(D16(), 0x7FFF)) {}
  HWY_INLINE void add(hn::Vec<D16> bits) {
    const auto magnitude = hn::And(bits, hn::Set(D16(), 0x7FFF));
    most_ = hn::Max(most_, magnitude);
    least_ = hn::Min(least_, magnitude);
  }
  HWY_INLINE bool ordinary(std::uint16_t infinity) const {
    const hn::RebindToSigned<D16> d;
    const auto large =
        hn::Gt(hn::BitCast(d, most_), hn::Set(d, static_cast<std::int16_t>(infinity - 1)));
    const auto zero = hn::Eq(hn::BitCast(d, least_), hn::Zero(d));
    return hn::AllFalse(d, hn::Or(large, zero));
  }

 private:
  hn::Vec<D16> most_;
  hn::Vec<D16> least_;
};

template <Stores kStores, class D>
HWY_INLINE void put(hn::Vec<D> v, D d, hn::TFromD<D>* out) {
  if constexpr (kStores == Stores::streamed)
    hn::Stream(v, d, out);
  else
    hn::StoreU(v, d, out);
}

/// Calls `step(first)` for each kStep elements, as long as it returns true; returns how many
/// elements were done. `in` gives the input's address for an element.
template <typename T, class Step>
HWY_INLINE std::size_t for_steps(const T* in, std::size_t count, Step step) {
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    prefetch_ahead<kStep * sizeof(T)>(in + i);
    if (!step(i)) break;
  }
  return i;
}

/// Up to 2^-25 values round to zero; from 65520 on they overflow.
template <Stores kStores>
std::size_t encode_f16_to(const float* in, std::size_t count, std::byte* bytes) {
  const hn::Rebind<hwy::float16_t, F32> d16;
  const hn::RebindToUnsigned<decltype(d16)> bits;
  auto* out = as<std::uint16_t>(bytes);
  return for_steps(in, count, [&](std::size_t first) HWY_ATTR {
    Results<decltype(bits)> results;
    for (std::size_t i = first; i < first + kStep; i += kLanes) {
      const auto halves = hn::BitCast(bits, hn::DemoteTo(d16, hn::LoadU(F32(), in + i)));
      results.add(halves);
      put<kStores>(halves, bits, out + i);
    }
    return results.ordinary(kF16Infinity) || within(in + first, 0x3300'0000u, 0x477F'F000u);
  });
}

template <Stores kStores>
std::size_t decode_f16_to(const std::byte* bytes, std::size_t count, float* out) {
  const auto* in = as<std::uint16_t>(bytes);
  return for_steps(in, count, [&](std::size_t first) HWY_ATTR {
    for (std::size_t i = first; i < first + kStep; i += kLanes)
      put<kStores>(load_f16(in + i), F32(), out + i);
    return true;
  });
}

/// The high halves of 2 × kLanes lanes, in order.
HWY_INLINE hn::Vec<hn::Repartition<std::uint16_t, U32> > pack_high_halves(VU32 a, VU32 b) {
  const hn::Repartition<std::uint16_t, U32> d16;
#if SYNPS_X86
  // Highway 1.0.3 packs only signed lanes.
  const __m256i mixed =
      _mm256_packus_epi32(_mm256_srli_epi32(a.raw, 16), _mm256_srli_epi32(b.raw, 16));
  return hn::Vec<decltype(d16)>{_mm256_permute4x64_epi64(mixed, 0xD8)};
#else
  return hn::ConcatOdd(d16, hn::BitCast(d16, b), hn::BitCast(d16, a));
#endif
}

/// Up to 2^-134 values round to zero; from 2^128 - 2^119 on they overflow.
template <Stores kStores>
std::size_t encode_bf16_to(const float* in, std::size_t count, std::byte* bytes) {
  const U32 d;
  const hn::Repartition<std::uint16_t, U32> d16;
  auto* out = as<std::uint16_t>(bytes);
  const auto rounded = [&](std::size_t i) HWY_ATTR {
    const auto bits = hn::BitCast(d, hn::LoadU(F32(), in + i));
    const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
    return hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), odd);
  };
  return for_steps(in, count, [&](std::size_t first) HWY_ATTR {
    Results<decltype(d16)> results;
    for (std::size_t i = first; i < first + kStep; i += 2 * kLanes) {
      const auto halves = pack_high_halves(rounded(i), rounded(i + kLanes));
      results.add(halves);
      put<kStores>(halves, d16, out + i);
    }
    return results.ordinary(0x7F80) || within(in + first, 0x8000u, 0x7F7F'8000u);
  });
}

template <Stores kStores>
std::size_t decode_bf16_to(const std::byte* bytes, std::size_t count, float* out) {
  const hn::Rebind<std::uint16_t, U32> d16;
  const auto* in = as<std::uint16_t>(bytes);
  return for_steps(in, count, [&](std::size_t first) HWY_ATTR {
    for (std::size_t i = first; i < first + kStep; i += kLanes) {
      const auto wide = hn::PromoteTo(U32(), hn::LoadU(d16, in + i));
      put<kStores>(hn::BitCast(F32(), hn::ShiftLeft<16>(wide)), F32(), out + i);
    }
    return true;
  });
}

/// NaN, and values that a mode which flushes subnormals would make zero, are the reference's.
template <Stores kStores>
std::size_t decode_f64_to(const std::byte* bytes, std::size_t count, float* out) {
  constexpr std::size_t kDoubles = kLanes / 2;
  const hn::CappedTag<double, kDoubles> d;
  const hn::Rebind<float, decltype(d)> half;
  const auto* in = as<double>(bytes);
  return for_steps(in, count, [&](std::size_t first) HWY_ATTR {
    auto ordinary = hn::Eq(hn::Zero(d), hn::Zero(d));
    for (std::size_t i = first; i < first + kStep; i += kDoubles) {
      const auto v = hn::LoadU(d, in + i);
      const auto normal = hn::Ge(hn::Abs(v), hn::Set(d, 0x1p-126));  // false for NaN
      ordinary = hn::And(ordinary, hn::Or(normal, hn::Eq(v, hn::Zero(d))));
      put<kStores>(hn::DemoteTo(half, v), half, out + i);
    }
    return hn::AllTrue(d, ordinary);
  });
}

std::size_t encode_f16(const float* in, std::size_t count, std::byte* out, Stores stores) {
  return stores == Stores::cached ? encode_f16_to<Stores::cached>(in, count, out)
                                  : encode_f16_to<Stores::streamed>(in, count, out);
}
std::size_t decode_f16(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return stores == Stores::cached ? decode_f16_to<Stores::cached>(in, count, out)
                                  : decode_f16_to<Stores::streamed>(in, count, out);
}
std::size_t encode_bf16(const float* in, std::size_t count, std::byte* out, Stores stores) {
  return stores == Stores::cached ? encode_bf16_to<Stores::cached>(in, count, out)
                                  : encode_bf16_to<Stores::streamed>(in, count, out);
}
std::size_t decode_bf16(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return stores == Stores::cached ? decode_bf16_to<Stores::cached>(in, count, out)
                                  : decode_bf16_to<Stores::streamed>(in, count, out);
}
std::size_t decode_f64(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return stores == Stores::cached ? decode_f64_to<Stores::cached>(in, count, out)
                                  : decode_f64_to<Stores::streamed>(in, count, out);
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_f16);
HWY_EXPORT(decode_f16);
HWY_EXPORT(encode_bf16);
HWY_EXPORT(decode_bf16);
HWY_EXPORT(decode_f64);

std::size_t encode_f16(const float* in, std::size_t count, std::byte* out, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(encode_f16)(in, count, out, stores);
}
std::size_t decode_f16(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(decode_f16)(in, count, out, stores);
}
std::size_t encode_bf16(const float* in, std::size_t count, std::byte* out, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(encode_bf16)(in, count, out, stores);
}
std::size_t decode_bf16(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(decode_bf16)(in, count, out, stores);
}
std::size_t decode_f64(const std::byte* in, std::size_t count, float* out, Stores stores) {
  return HWY_DYNAMIC_DISPATCH(decode_f64)(in, count, out, stores);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
