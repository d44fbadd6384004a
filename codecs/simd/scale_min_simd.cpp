// Encoding of q4_k and q5_k: what scale_min_block.cpp does, with kLanes sub-blocks at a time.

#include "simd/kernels.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/scale_min_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "scale_min_block.h"
#include "simd/codes-inl.h"
#include "simd/lanes-inl.h"
#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

std::size_t encode_q4_k(const float*, std::size_t, std::byte*) {
  return 0;
}
std::size_t encode_q5_k(const float*, std::size_t, std::byte*) {
  return 0;
}

#else

constexpr std::size_t kElements = kBlock256;
constexpr std::size_t kCount = kSubBlockElements;

HWY_INLINE VF32 set(float value) {
  return hn::Set(F32(), value);
}

/// SubBlockSearch of scale_min_block.cpp, with the same sums in the same order in each lane.
class ScaleMinLanes {
 public:
  HWY_INLINE ScaleMinLanes(const float* in, const ScaleTrials& trials)
      : transposed_(in), most_(set(static_cast<float>(trials.most))) {
    weigh();
    start();
    for (int n = 0; n <= trials.tries; ++n) attempt(set(trials.divisor(n)));
  }

  /// Whether all that was rounded to codes was small enough for nearest_between().
  HWY_INLINE bool rounded() const { return hn::AllTrue(F32(), rounded_); }

  /// What was found for the sub-blocks; `inverse` and `low` are what their codes came from.
  HWY_INLINE void store(float* scales, float* mins, float* inverse, float* low) const {
    const F32 d;
    hn::StoreU(hn::IfThenZeroElse(flat_, scale_), d, scales);
    hn::StoreU(hn::Neg(low_), d, mins);
    hn::StoreU(hn::IfThenZeroElse(flat_, inverse_), d, inverse);
    hn::StoreU(codes_low_, d, low);
  }

 private:
  HWY_INLINE VF32 x(std::size_t i) const { return transposed_.x[i]; }

  HWY_INLINE void weigh() {
    auto squares = hn::Mul(x(0), x(0));
    for (std::size_t i = 1; i < kCount; ++i) squares = hn::Add(squares, hn::Mul(x(i), x(i)));
    const auto mean = hn::Sqrt(hn::Div(squares, set(static_cast<float>(kCount))));
    for (std::size_t i = 0; i < kCount; ++i) weights_[i] = hn::Add(mean, hn::Abs(x(i)));
    low_ = high_ = x(0);
    sum_w_ = weights_[0];
    sum_wx_ = hn::Mul(weights_[0], x(0));
    for (std::size_t i = 1; i < kCount; ++i) {
      low_ = hn::Min(low_, x(i));
      high_ = hn::Max(high_, x(i));
      sum_w_ = hn::Add(sum_w_, weights_[i]);
      sum_wx_ = hn::Add(sum_wx_, hn::Mul(weights_[i], x(i)));
    }
    low_ = hn::Min(low_, set(0));
    lowest_ = low_;
    flat_ = hn::Eq(low_, high_);
  }

  HWY_INLINE VF32 range() const { return hn::IfThenElse(flat_, set(1), hn::Sub(high_, low_)); }

  /// The code of x, before it is made an integer.
  HWY_INLINE VF32 code(VF32 inverse, VF32 v) const {
    return nearest_between(hn::Mul(inverse, hn::Sub(v, low_)), set(0), most_);
  }

  /// Codes grow with values: those between the ends are rounded if the ends are.
  HWY_INLINE void check(VF32 inverse) {
    const auto within = [&](VF32 v) HWY_ATTR {
      return hn::Le(hn::Abs(hn::Mul(inverse, hn::Sub(v, low_))), set(kMostRounded));
    };
    rounded_ = hn::And(rounded_, hn::And(within(lowest_), within(high_)));
  }

  HWY_INLINE VF32 error(VF32 scale, VF32 low) const {
    auto sum = set(0);
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto difference = hn::Sub(hn::Add(hn::Mul(scale, codes_[i]), low), x(i));
      sum = hn::Add(sum, hn::Mul(weights_[i], hn::Mul(difference, difference)));
    }
    return sum;
  }

  HWY_INLINE void start() {
    inverse_ = hn::Div(most_, range());
    codes_low_ = low_;
    rounded_ = hn::Eq(low_, low_);
    check(inverse_);
    scale_ = hn::Div(set(1), inverse_);
    for (std::size_t i = 0; i < kCount; ++i) codes_[i] = code(inverse_, x(i));
    error_ = error(scale_, low_);
  }

  HWY_INLINE void attempt(VF32 divisor) {
    const auto inverse = hn::Div(divisor, range());
    check(inverse);
    auto sum_l = set(0);
    auto sum_ll = set(0);
    auto sum_lx = set(0);
    for (std::size_t i = 0; i < kCount; ++i) {
      const auto l = code(inverse, x(i));
      codes_[i] = l;
      const auto wl = hn::Mul(weights_[i], l);
      sum_l = hn::Add(sum_l, wl);
      sum_ll = hn::Add(sum_ll, hn::Mul(wl, l));
      sum_lx = hn::Add(sum_lx, hn::Mul(wl, x(i)));
    }
    const auto determinant = hn::Sub(hn::Mul(sum_w_, sum_ll), hn::Mul(sum_l, sum_l));
    auto scale = hn::Div(hn::Sub(hn::Mul(sum_w_, sum_lx), hn::Mul(sum_wx_, sum_l)), determinant);
    auto low = hn::Div(hn::Sub(hn::Mul(sum_ll, sum_wx_), hn::Mul(sum_l, sum_lx)), determinant);
    const auto above = hn::Gt(low, set(0));
    low = hn::IfThenZeroElse(above, low);
    scale = hn::IfThenElse(above, hn::Div(sum_lx, sum_ll), scale);
    const auto error_now = error(scale, low);
    const auto better =
        hn::AndNot(flat_, hn::And(hn::Gt(determinant, set(0)), hn::Lt(error_now, error_)));
    error_ = hn::IfThenElse(better, error_now, error_);
    scale_ = hn::IfThenElse(better, scale, scale_);
    inverse_ = hn::IfThenElse(better, inverse, inverse_);
    codes_low_ = hn::IfThenElse(better, low_, codes_low_);
    low_ = hn::IfThenElse(better, low, low_);
  }

  using Lanes = hn::Mask<F32>;

  Transposed<kCount> transposed_;
  VF32 weights_[kCount];
  VF32 codes_[kCount];  ///< of the last trial
  VF32 most_;
  VF32 sum_w_, sum_wx_;
  VF32 lowest_;  ///< of the values and 0
  VF32 low_, high_;
  VF32 scale_, error_, inverse_, codes_low_;
  Lanes flat_;
  Lanes rounded_;
};

/// The header of a block and its codes, one a byte. False: the block is not ordinary.
HWY_INLINE bool encode_header_and_codes(const float* in, const ScaleTrials& trials,
                                        std::byte* header, std::byte* codes) {
  if (largest_magnitude(in, kElements) >= kF32Infinity) return false;
  std::array<float, kSubBlocks> scales;
  std::array<float, kSubBlocks> mins;
  float inverse[kSubBlocks];
  float low[kSubBlocks];
  for (std::size_t j = 0; j < kSubBlocks; j += kLanes) {
    const ScaleMinLanes search(in + j * kCount, trials);
    if (!search.rounded()) return false;
    search.store(&scales[j], &mins[j], inverse + j, low + j);
  }
  const ScaleMinHeader chosen(scales, mins);
  if (chosen.f16.overflow()) return false;
  if (chosen.f16.zero() && largest_magnitude(in, kElements) != 0) return false;
  chosen.store(header);
  const auto to_code = [&](VF32 v) HWY_ATTR {
    const I32 d;
    return hn::Min(hn::Max(nearest(v), hn::Zero(d)), hn::Set(d, trials.most));
  };
  for (std::size_t j = 0; j < kSubBlocks; ++j) {
    const auto scale = set(chosen.scale(j));
    const auto min = set(chosen.min(j));
    const auto anew = [&](VF32 v) HWY_ATTR { return to_code(hn::Div(hn::Add(v, min), scale)); };
    const auto as_found = [&](VF32 v) HWY_ATTR {
      return to_code(hn::Mul(set(inverse[j]), hn::Sub(v, set(low[j]))));
    };
    if (chosen.scale(j) != 0)
      store_codes(in + j * kCount, anew, kCount, codes + j * kCount);
    else
      store_codes(in + j * kCount, as_found, kCount, codes + j * kCount);
  }
  return true;
}

/// The lower four bits of codes of 64 elements, of those 32 apart in one byte.
HWY_INLINE void pack_low_bits(const std::byte* codes, std::byte* out) {
  for (std::size_t g = 0; g < 4; ++g)
    for (std::size_t l = 0; l < 32; l += 4 * kLanes) {
      const auto low = low_nibbles(U8(), load_many(codes + 64 * g + l));
      const auto high = hn::ShiftLeft<4>(load_many(codes + 64 * g + 32 + l));
      store_bytes(hn::Or(low, high), out + 32 * g + l);
    }
}

/// The highest bits of the codes, of elements 32 apart in one byte.
HWY_INLINE void pack_fifth_bits(const std::byte* codes, std::byte* out) {
  for (std::size_t l = 0; l < 32; l += 4 * kLanes) {
    auto bits = hn::ShiftRight<4>(load_many(codes + 7 * 32 + l));
    for (std::size_t j = 7; j-- > 0;)
      bits = hn::Or(hn::Add(bits, bits), hn::ShiftRight<4>(load_many(codes + 32 * j + l)));
    store_bytes(bits, out + l);
  }
}

std::size_t encode_q4_k(const float* in, std::size_t blocks, std::byte* out) {
  std::byte codes[kElements];
  for (std::size_t b = 0; b < blocks; ++b, in += kElements, out += 144) {
    if (!encode_header_and_codes(in, kTrialsQ4K, out, codes)) return b;
    pack_low_bits(codes, out + ScaleMinHeader::kBytes);
  }
  return blocks;
}

std::size_t encode_q5_k(const float* in, std::size_t blocks, std::byte* out) {
  std::byte codes[kElements];
  for (std::size_t b = 0; b < blocks; ++b, in += kElements, out += 176) {
    if (!encode_header_and_codes(in, kTrialsQ5K, out, codes)) return b;
    pack_fifth_bits(codes, out + ScaleMinHeader::kBytes);
    pack_low_bits(codes, out + ScaleMinHeader::kBytes + 32);
  }
  return blocks;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(encode_q4_k);
HWY_EXPORT(encode_q5_k);

std::size_t encode_q4_k(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q4_k)(in, blocks, out);
}
std::size_t encode_q5_k(const float* in, std::size_t blocks, std::byte* out) {
  return HWY_DYNAMIC_DISPATCH(encode_q5_k)(in, blocks, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
