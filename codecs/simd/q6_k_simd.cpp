// Encoding of q6_k: what q6_k.cpp does, with kLanes sub-blocks at a time.

#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/q6_k_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "q6_scales.h"
#include "simd/codes-inl.h"
#include "simd/lanes-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_q6_k(const float*, std::size_t, std::byte*) {
  return 0;
}

#else

constexpr std::size_t kElements = kBlock256;
constexpr std::size_t kBytes = 210;
constexpr std::size_t kCount = kQ6SubBlockElements;

HWY_INLINE VF32 set(float value) {
  return hn::Set(F32(), value);
}

/// Q6Search of q6_k.cpp, with the same sums in the same order in each lane.
class Q6Lanes {
 public:
  HWY_INLINE explicit Q6Lanes(const float* in) : transposed_(in) {
    const auto largest = find_largest();
    none_ = hn::Lt(hn::Abs(largest), set(kQ6Least));
    const auto by = hn::IfThenElse(none_, set(1), largest);
    for (std::size_t i = 0; i < kCount; ++i) {
      w_[i] = hn::Mul(x(i), x(i));
      wx_[i] = hn::Mul(w_[i], x(i));
    }
    inverse_ = hn::Div(set(q6_divisor(0)), by);
    const Fit first = fit(inverse_);
    scale_ = hn::IfThenZeroElse(hn::Eq(first.ll, set(0)), hn::Div(first.lx, first.ll));
    best_ = hn::Mul(scale_, first.lx);
    for (int n = -kQ6Trials; n <= kQ6Trials; ++n)
      if (n != 0) attempt(hn::Div(set(q6_divisor(n)), by));
  }

  /// What was found for the sub-blocks; `inverse` is what their codes came from, 0 where there was
  /// nothing to search for.
  HWY_INLINE void store(float* scales, float* inverse) const {
    hn::StoreU(hn::IfThenZeroElse(none_, scale_), F32(), scales);
    hn::StoreU(hn::IfThenZeroElse(none_, inverse_), F32(), inverse);
  }

 private:
  struct Fit {
    VF32 lx;
    VF32 ll;
  };

  HWY_INLINE VF32 x(std::size_t i) const { return transposed_.x[i]; }

  /// The first value of the largest magnitude.
  HWY_INLINE VF32 find_largest() const {
    auto largest = set(0);
    for (std::size_t i = 0; i < kCount; ++i)
      largest = hn::IfThenElse(hn::Gt(hn::Abs(x(i)), hn::Abs(largest)), x(i), largest);
    return largest;
  }

  /// |inverse × x| is at most 32.9, and its rounding.
  HWY_INLINE Fit fit(VF32 inverse) const {
    Fit sums{set(0), set(0)};
    const auto low = set(static_cast<float>(-kQ6Half));
    const auto high = set(static_cast<float>(kQ6Half - 1));
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto l = nearest_between(hn::Mul(inverse, x(i)), low, high);
      sums.lx = hn::Add(sums.lx, hn::Mul(wx_[i], l));
      sums.ll = hn::Add(sums.ll, hn::Mul(hn::Mul(w_[i], l), l));
    }
    return sums;
  }

  HWY_INLINE void attempt(VF32 inverse) {
    const Fit now = fit(inverse);
    const auto better =
        hn::And(hn::Gt(now.ll, set(0)), hn::Gt(hn::Mul(now.lx, now.lx), hn::Mul(best_, now.ll)));
    scale_ = hn::IfThenElse(better, hn::Div(now.lx, now.ll), scale_);
    best_ = hn::IfThenElse(better, hn::Mul(scale_, now.lx), best_);
    inverse_ = hn::IfThenElse(better, inverse, inverse_);
  }

  Transposed<kCount> transposed_;
  VF32 w_[kCount];
  VF32 wx_[kCount];
  VF32 inverse_, scale_, best_;
  hn::Mask<F32> none_;
};

/// Codes from 0 on. Sub-blocks with a scale that is 0 keep those of the search.
HWY_INLINE void find_q6_codes(const float* in, const Q6Scales& scales, const float* inverse,
                              std::uint8_t* codes) {
  const I32 d;
  alignas(32) std::int32_t lanes[kCount];
  for (std::size_t j = 0; j < kQ6SubBlocks; ++j, in += kCount, codes += kCount) {
    const float by = scales.scale(j);
    for (std::size_t i = 0; i < kCount; i += kLanes) {
      const auto v = hn::LoadU(F32(), in + i);
      const auto steps = by != 0 ? hn::Div(v, set(by)) : hn::Mul(v, set(inverse[j]));
      const auto code =
          hn::Max(hn::Min(nearest(steps), hn::Set(d, kQ6Half - 1)), hn::Set(d, -kQ6Half));
      hn::Store(hn::Add(code, hn::Set(d, kQ6Half)), d, lanes + i);
    }
    const bool none = by == 0 && inverse[j] == 0;
    for (std::size_t i = 0; i < kCount; ++i)
      codes[i] = none ? 0 : static_cast<std::uint8_t>(lanes[i]);
  }
}

HWY_INLINE void pack_q6_codes(const std::byte* codes, std::byte* out) {
  const U8 d;
  for (std::size_t half = 0; half < 2; ++half)
    for (std::size_t l = 0; l < 32; l += 4 * kLanes) {
      const auto q = [&](std::size_t n)
                         HWY_ATTR { return load_many(codes + 128 * half + 32 * n + l); };
      const auto nibbles = [&](V8 low, V8 high) HWY_ATTR {
        return hn::Or(low_nibbles(d, low), hn::ShiftLeft<4>(high));
      };
      store_bytes(nibbles(q(0), q(2)), out + 64 * half + l);
      store_bytes(nibbles(q(1), q(3)), out + 64 * half + 32 + l);
      const auto low = hn::Or(hn::ShiftRight<4>(q(0)), hn::ShiftLeft<2>(hn::ShiftRight<4>(q(1))));
      const auto high = hn::Or(hn::ShiftRight<4>(q(2)), hn::ShiftLeft<2>(hn::ShiftRight<4>(q(3))));
      store_bytes(hn::Or(low, hn::ShiftLeft<4>(high)), out + 128 + 32 * half + l);
    }
}

/// False: the block is not ordinary.
HWY_INLINE bool encode_q6_block(const float* in, std::byte* out) {
  const std::uint32_t largest = largest_magnitude(in, kElements);
  if (largest >= kF32Infinity) return false;
  std::array<float, kQ6SubBlocks> found;
  float inverse[kQ6SubBlocks];
  for (std::size_t j = 0; j < kQ6SubBlocks; j += kLanes)
    Q6Lanes(in + j * kCount).store(&found[j], inverse + j);
  for (const float scale : found)
    if (!f32_is_finite(scale)) return false;
  const Q6Scales scales(found);
  if ((scales.f16 & kF16Magnitude) == kF16Infinity) return false;
  if ((scales.f16 & kF16Magnitude) == 0 && largest != 0) return false;
  if (scales.zero) {
    std::memset(out, 0, kBytes);
    return true;
  }
  std::uint8_t codes[kElements];
  find_q6_codes(in, scales, inverse, codes);
  pack_q6_codes(reinterpret_cast<const std::byte*>(codes), out);
  std::memcpy(out + 192, scales.sub_blocks.data(), kQ6SubBlocks);
  std::memcpy(out + 208, &scales.f16, sizeof scales.f16);
  return true;
}

std::size_t encode_q6_k(const float* in, std::size_t blocks, std::byte* out) {
  for (std::size_t b = 0; b < blocks; ++b)
    if (!encode_q6_block(in + b * kElements, out + b * kBytes)) return b;
  return blocks;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_q6_k);

std::size_t encode_q6_k(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q6_k)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
