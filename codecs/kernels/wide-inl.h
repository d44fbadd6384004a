// Weights as vectors of f32, block by block, and the 32 chains that their products are added to.
// Included once for every target, as simd/vectors-inl.h.

#if defined(SYNPS_CODECS_KERNELS_WIDE_INL_H) == defined(HWY_TARGET_TOGGLE)
#ifdef SYNPS_CODECS_KERNELS_WIDE_INL_H
#undef SYNPS_CODECS_KERNELS_WIDE_INL_H
#else
#define SYNPS_CODECS_KERNELS_WIDE_INL_H
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "kernels/chains.h"
#include "kernels/row_formats.h"
#include "simd/vectors-inl.h"

// Vectors in arrays are registers only where the loops over them are unrolled.
#undef SYNPS_UNROLL
#if defined(__clang__)
#define SYNPS_UNROLL _Pragma("clang loop unroll(full)")
#else
#define SYNPS_UNROLL _Pragma("GCC unroll 8")
#endif

HWY_BEFORE_NAMESPACE();
namespace synps::kernels::HWY_NAMESPACE {

#if SYNPS_SIMD

namespace hn = hwy::HWY_NAMESPACE;
using simd::HWY_NAMESPACE::as;
using simd::HWY_NAMESPACE::prefetch_ahead;

/// As wide as the machine has them: here instructions count, not only memory.
using Wide = hn::CappedTag<float, 16>;
using WideI = hn::RebindToSigned<Wide>;
using WideU = hn::RebindToUnsigned<Wide>;
using VWide = hn::Vec<Wide>;
inline constexpr std::size_t kWide = hn::MaxLanes(Wide());
inline constexpr std::size_t kVectors = kChains / kWide;  ///< 2, 4 or 8

struct Chains {
  HWY_INLINE Chains() {}  // one that a compiler adds lacks the target's instructions
  VWide v[kVectors];
};

HWY_INLINE Chains load_chains(const float* s) {
  Chains chains;
  SYNPS_UNROLL
  for (std::size_t j = 0; j < kVectors; ++j) chains.v[j] = hn::LoadU(Wide(), s + j * kWide);
  return chains;
}
HWY_INLINE void store_chains(const Chains& chains, float* s) {
  SYNPS_UNROLL
  for (std::size_t j = 0; j < kVectors; ++j) hn::StoreU(chains.v[j], Wide(), s + j * kWide);
}
HWY_INLINE Chains zero_chains() {
  Chains chains;
  SYNPS_UNROLL
  for (std::size_t j = 0; j < kVectors; ++j) chains.v[j] = hn::Zero(Wide());
  return chains;
}

HWY_INLINE float reduce(Chains chains) {
  for (std::size_t half = kVectors / 2; half > 0; half /= 2)
    for (std::size_t k = 0; k < half; ++k) chains.v[k] = hn::Add(chains.v[k], chains.v[k + half]);
  float last[kWide];
  hn::StoreU(chains.v[0], Wide(), last);
  return reduce_chains<kWide>(last);
}

/// Takes the weights of elements i to i + kWide, and adds their products.
struct AddProducts {
  const float* x;
  Chains& chains;

  HWY_INLINE void operator()(std::size_t i, VWide w) const {
    VWide& chain = chains.v[i % kChains / kWide];
    chain = hn::MulAdd(w, hn::LoadU(Wide(), x + i), chain);
  }
};

/// Takes them, and stores them.
struct StoreWeights {
  float* out;

  HWY_INLINE void operator()(std::size_t i, VWide w) const { hn::StoreU(w, Wide(), out + i); }
};

/// Adds the products of `count` values that are there as f32; chains that get none stay as they
/// are, zeros and their signs included.
HWY_INLINE void add_values(const float* w, const float* x, std::size_t count, Chains& chains) {
  const Wide d;
  std::size_t i = 0;
  for (; i + kWide <= count; i += kWide) AddProducts{x, chains}(i, hn::LoadU(d, w + i));
  if (i == count) return;
  float last_w[kWide] = {};
  float last_x[kWide] = {};
  std::copy_n(w + i, count - i, last_w);
  std::copy_n(x + i, count - i, last_x);
  VWide& chain = chains.v[i % kChains / kWide];
  const auto sum = hn::MulAdd(hn::LoadU(d, last_w), hn::LoadU(d, last_x), chain);
  chain = hn::IfThenElse(hn::FirstN(d, count - i), sum, chain);
}

/// The f16 at `in`, as f32 in every lane.
template <class D>
HWY_INLINE hn::Vec<D> broadcast_f16(D d, const std::byte* in) {
  const hn::Rebind<hwy::float16_t, D> d16;
  const hn::RebindToUnsigned<decltype(d16)> bits;
  return hn::PromoteTo(d, hn::BitCast(d16, hn::Set(bits, load<std::uint16_t>(in))));
}

/// Integers × scale.
template <class V>
HWY_INLINE VWide scaled(V codes, VWide scale) {
  return hn::Mul(hn::ConvertTo(Wide(), codes), scale);
}

/// How a block is decoded. each() calls `sink(i, weights)` for all of its elements; those that
/// belong to the same chain come in ascending order.
template <class Format>
struct Block;

template <>
struct Block<F32Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    for (std::size_t i = 0; i < F32Rows::kElements; i += kWide)
      sink(i, hn::LoadU(Wide(), as<float>(in) + i));
  }
};

template <>
struct Block<F16Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    const hn::Rebind<hwy::float16_t, Wide> d16;
    const hn::RebindToUnsigned<decltype(d16)> bits;
    for (std::size_t i = 0; i < F16Rows::kElements; i += kWide) {
      const auto halves = hn::LoadU(bits, as<std::uint16_t>(in) + i);
      sink(i, hn::PromoteTo(Wide(), hn::BitCast(d16, halves)));
    }
  }
};

template <>
struct Block<Bf16Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    const hn::Rebind<std::uint16_t, Wide> d16;
    for (std::size_t i = 0; i < Bf16Rows::kElements; i += kWide) {
      const auto wide = hn::PromoteTo(WideU(), hn::LoadU(d16, as<std::uint16_t>(in) + i));
      sink(i, hn::BitCast(Wide(), hn::ShiftLeft<16>(wide)));
    }
  }
};

/// 32 signed bytes times a scale.
template <class Sink>
HWY_INLINE void each_signed(const std::int8_t* codes, VWide scale, Sink sink) {
  const hn::Rebind<std::int8_t, Wide> d8;
  for (std::size_t i = 0; i < 32; i += kWide)
    sink(i, scaled(hn::PromoteTo(WideI(), hn::LoadU(d8, codes + i)), scale));
}

template <>
struct Block<Q8Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    each_signed(as<std::int8_t>(in + 2), broadcast_f16(Wide(), in), sink);
  }
};

template <>
struct Block<Q4Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    const auto scale = broadcast_f16(Wide(), in);
#if HWY_TARGET == HWY_AVX3
    // A table of the 16 values that a code has in this block.
    alignas(64) static constexpr float kCodes[16] = {-8, -7, -6, -5, -4, -3, -2, -1,
                                                     0,  1,  2,  3,  4,  5,  6,  7};
    const auto table = hn::Mul(hn::Load(Wide(), kCodes), scale);
    const hn::Rebind<std::uint8_t, Wide> d8;
    const auto bytes = hn::PromoteTo(WideU(), hn::LoadU(d8, as<std::uint8_t>(in + 2)));
    const auto value = [&](hn::Vec<WideU> index) HWY_ATTR {
      return VWide{_mm512_permutexvar_ps(index.raw, table.raw)};  // looks at four bits
    };
    sink(0, value(bytes));
    sink(16, value(hn::ShiftRight<4>(bytes)));
#else
    // With the top bit of each half flipped, a byte has the codes less eight, in two's complement:
    // 16 times the high one in its upper bits, and the low one when these are shifted out. So many
    // times the code times the scale over as much is exact, as the product itself is.
    const WideI di;
    const auto high_scale = hn::Mul(scale, hn::Set(Wide(), 0x1p-4f));
    const auto low_scale = hn::Mul(scale, hn::Set(Wide(), 0x1p-28f));
    const hn::Rebind<std::int8_t, Wide> d8;
    for (std::size_t i = 0; i < 16; i += kWide) {
      const auto bytes = hn::PromoteTo(di, hn::LoadU(d8, as<std::int8_t>(in + 2) + i));
      const auto codes = hn::Xor(bytes, hn::Set(di, -0x78));  // 0xFFFFFF88
      sink(i, scaled(hn::ShiftLeft<28>(codes), low_scale));
      sink(i + 16, scaled(hn::And(codes, hn::Set(di, ~15)), high_scale));
    }
#endif
  }
};

/// The value of a ternary code's two bits, the lowest of each lane, whatever the others are.
class TernaryValues {
 public:
  explicit HWY_INLINE TernaryValues(VWide scale) {
#if SYNPS_X86
    alignas(64) static constexpr float kCodes[16] = {-1, 0, 1, 2, -1, 0, 1, 2,
                                                     -1, 0, 1, 2, -1, 0, 1, 2};
    by_ = hn::Mul(hn::Load(Wide(), kCodes), scale);
#else
    by_ = scale;
#endif
  }
  HWY_INLINE VWide operator()(hn::Vec<WideU> bits) const {
#if HWY_TARGET == HWY_AVX3
    return VWide{_mm512_permutevar_ps(by_.raw, bits.raw)};
#elif SYNPS_X86
    return VWide{_mm256_permutevar_ps(by_.raw, bits.raw)};
#else
    const auto trit = hn::BitCast(WideI(), hn::And(bits, hn::Set(WideU(), 3u)));
    return scaled(hn::Sub(trit, hn::Set(WideI(), 1)), by_);
#endif
  }

 private:
  VWide by_;  ///< a table of the four values in each 128 bits; or the scale
};

/// A group of 128 elements, whose first is element `first`.
template <class Sink>
HWY_INLINE void each_ternary(const std::byte* in, std::size_t first, const TernaryValues& value,
                             Sink sink) {
  const hn::Rebind<std::uint8_t, Wide> d8;
  for (std::size_t m = 0; m < kGroupBytes; m += kWide) {
    const auto bytes = hn::PromoteTo(WideU(), hn::LoadU(d8, as<std::uint8_t>(in + m)));
    sink(first + m, value(bytes));
    sink(first + m + 32, value(hn::ShiftRight<2>(bytes)));
    sink(first + m + 64, value(hn::ShiftRight<4>(bytes)));
    sink(first + m + 96, value(hn::ShiftRight<6>(bytes)));
  }
}

template <>
struct Block<TernaryRows> {
  explicit HWY_INLINE Block(float row_scale) : values(hn::Set(Wide(), row_scale)) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    each_ternary(in, 0, values, sink);
  }
  TernaryValues values;
};

template <>
struct Block<Tq2Rows> {
  explicit HWY_INLINE Block(float) {}
  template <class Sink>
  HWY_INLINE void each(const std::byte* in, Sink sink) const {
    const TernaryValues values(broadcast_f16(Wide(), in + 2 * kGroupBytes));
    each_ternary(in, 0, values, sink);
    each_ternary(in + kGroupBytes, kGroupElements, values, sink);
  }
};

#endif  // SYNPS_SIMD

}  // namespace synps::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // SYNPS_CODECS_KERNELS_WIDE_INL_H
