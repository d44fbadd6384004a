#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/dense_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_f16(const float*, std::size_t, std::byte*) { return 0; }
std::size_t decode_f16(const std::byte*, std::size_t, float*) { return 0; }
std::size_t encode_bf16(const float*, std::size_t, std::byte*) { return 0; }
std::size_t decode_bf16(const std::byte*, std::size_t, float*) { return 0; }
std::size_t decode_f64(const std::byte*, std::size_t, float*) { return 0; }

#else

/// Four vectors are done at once, with one branch on whether all of them are in range.
constexpr std::size_t kUnroll = 4;
constexpr std::size_t kStep = kUnroll * kLanes;
static_assert(kElementStep % kStep == 0);

/// Collects whether every magnitude is zero or in (low, high), as bits.
class Range {
 public:
  HWY_INLINE Range() : most_(hn::Zero(U32())), least_(hn::Set(U32(), 0xFFFF'FFFFu)) {}
  HWY_INLINE void add(VU32 magnitude) {
    most_ = hn::Max(most_, magnitude);
    least_ = hn::Min(least_, hn::Sub(magnitude, hn::Set(U32(), 1)));  // a zero wraps to the top
  }
  HWY_INLINE bool within(std::uint32_t low, std::uint32_t high) const {
    const I32 d;  // compared as signed numbers, which all targets have
    const auto large = hn::Gt(hn::BitCast(d, most_), hn::Set(d, static_cast<int>(high) - 1));
    const auto small = hn::Lt(hn::BitCast(d, hn::ShiftRight<1>(least_)),
                              hn::Set(d, static_cast<int>(low / 2)));
    return hn::AllFalse(d, hn::Or(large, small));
  }

 private:
  VU32 most_;
  VU32 least_;
};

/// Up to 2^-25 values round to zero; from 65520 on they overflow.
std::size_t encode_f16(const float* in, std::size_t count, std::byte* out) {
  const F32 d;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Range range;
    std::uint16_t halves[kStep];
    for (std::size_t j = 0; j < kUnroll; ++j) {
      const auto v = hn::LoadU(d, in + i + j * kLanes);
      range.add(magnitude_bits(v));
      store_f16(v, halves + j * kLanes);
    }
    if (!range.within(0x3300'0000u, 0x477F'F000u)) break;
    std::memcpy(out + i * sizeof(std::uint16_t), halves, sizeof halves);
  }
  return i;
}

std::size_t decode_f16(const std::byte* in, std::size_t count, float* out) {
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    std::uint16_t halves[kLanes];
    std::memcpy(halves, in + i * sizeof(std::uint16_t), sizeof halves);
    hn::StoreU(load_f16(halves), F32(), out + i);
  }
  return i;
}

/// Up to 2^-134 values round to zero; from 2^128 - 2^119 on they overflow.
std::size_t encode_bf16(const float* in, std::size_t count, std::byte* out) {
  const U32 d;
  const hn::Rebind<std::uint16_t, U32> d16;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    Range range;
    std::uint16_t halves[kStep];
    for (std::size_t j = 0; j < kUnroll; ++j) {
      const auto v = hn::LoadU(F32(), in + i + j * kLanes);
      range.add(magnitude_bits(v));
      const auto bits = hn::BitCast(d, v);
      const auto odd = hn::And(hn::ShiftRight<16>(bits), hn::Set(d, 1));
      const auto rounded = hn::Add(hn::Add(bits, hn::Set(d, 0x7FFF)), odd);
      const auto top = hn::BitCast(I32(), hn::ShiftRight<16>(rounded));
      hn::StoreU(hn::DemoteTo(d16, top), d16, halves + j * kLanes);
    }
    if (!range.within(0x8000u, 0x7F7F'8000u)) break;
    std::memcpy(out + i * sizeof(std::uint16_t), halves, sizeof halves);
  }
  return i;
}

std::size_t decode_bf16(const std::byte* in, std::size_t count, float* out) {
  const hn::Rebind<std::uint16_t, U32> d16;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    std::uint16_t halves[kLanes];
    std::memcpy(halves, in + i * sizeof(std::uint16_t), sizeof halves);
    const auto bits = hn::ShiftLeft<16>(hn::PromoteTo(U32(), hn::LoadU(d16, halves)));
    hn::StoreU(hn::BitCast(F32(), bits), F32(), out + i);
  }
  return i;
}

/// NaN, and values that a mode which flushes subnormals would make zero, are the reference's.
std::size_t decode_f64(const std::byte* in, std::size_t count, float* out) {
  const hn::CappedTag<double, kLanes / 2> d;
  const hn::Rebind<float, decltype(d)> half;
  constexpr std::size_t kDoubles = kLanes / 2;
  std::size_t i = 0;
  for (; i + kStep <= count; i += kStep) {
    double values[kStep];
    std::memcpy(values, in + i * sizeof(double), sizeof values);
    auto ordinary = hn::Eq(hn::Zero(d), hn::Zero(d));
    for (std::size_t j = 0; j < kStep; j += kDoubles) {
      const auto v = hn::LoadU(d, values + j);
      const auto normal = hn::Ge(hn::Abs(v), hn::Set(d, 0x1p-126));  // false for NaN
      ordinary = hn::And(ordinary, hn::Or(normal, hn::Eq(v, hn::Zero(d))));
      hn::StoreU(hn::DemoteTo(half, v), half, out + i + j);
    }
    if (!hn::AllTrue(d, ordinary)) break;
  }
  return i;
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

std::size_t encode_f16(const float* in, std::size_t count, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_f16)(in, count, out);
}
std::size_t decode_f16(const std::byte* in, std::size_t count, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_f16)(in, count, out);
}
std::size_t encode_bf16(const float* in, std::size_t count, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_bf16)(in, count, out);
}
std::size_t decode_bf16(const std::byte* in, std::size_t count, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_bf16)(in, count, out);
}
std::size_t decode_f64(const std::byte* in, std::size_t count, float* out) {
  return HWY_DYNAMIC_DISPATCH(decode_f64)(in, count, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
