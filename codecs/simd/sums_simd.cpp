#include <algorithm>
#include <array>
#include <cmath>

#include "float_bits.h"
#include "simd/sums.h"
#include "simd/targets.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "simd/sums_simd.cpp"
#include <hwy/foreach_target.h>  // includes this file once for every target
#include <hwy/highway.h>

#include "simd/vectors-inl.h"

HWY_BEFORE_NAMESPACE();
namespace synps::simd::HWY_NAMESPACE {

#if !SYNPS_SIMD

bool available() {
  return false;
}
std::uint32_t largest_magnitude_bits(const float*, std::size_t) {
  return 0;
}
Totals totals(const float*, std::size_t) {
  return {};
}
Tails tails(const float*, std::size_t, float, float) {
  return {};
}
float largest_below(const float*, std::size_t, float) {
  return 0;
}
Split split(const float*, std::size_t, float, float, float*) {
  return {};
}

#else

using F64 = hn::CappedTag<double, kLanes / 2>;
using VF64 = hn::Vec<F64>;

bool available() {
  return true;
}

/// A sum of f32 vectors in f64.
class WideSum {
 public:
  HWY_INLINE WideSum() : lower_(hn::Zero(F64())), upper_(hn::Zero(F64())) {}
  HWY_INLINE void add(VF32 v) {
    const hn::Half<F32> half;
    lower_ = hn::Add(lower_, hn::PromoteTo(F64(), hn::LowerHalf(half, v)));
    upper_ = hn::Add(upper_, hn::PromoteTo(F64(), hn::UpperHalf(half, v)));
  }
  HWY_INLINE double total() const {
    return hn::GetLane(hn::SumOfLanes(F64(), hn::Add(lower_, upper_)));
  }

 private:
  VF64 lower_;
  VF64 upper_;
};

std::uint32_t largest_magnitude_bits(const float* in, std::size_t count) {
  const std::size_t bulk = count / (2 * kLanes) * (2 * kLanes);
  std::uint32_t largest = largest_magnitude(in, bulk);
  for (std::size_t i = bulk; i < count; ++i) largest = std::max(largest, f32_magnitude_bits(in[i]));
  return largest;
}

Totals totals(const float* in, std::size_t count) {
  const F32 d;
  const U32 du;
  auto largest = hn::Zero(du);
  auto smallest = hn::Set(du, 0xFFFF'FFFFu);  // of magnitudes less 1, so that zeros come last
  WideSum sum;
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    if (i % (64 / sizeof(float)) == 0) prefetch_ahead<64>(in + i);
    const auto bits = magnitude_bits(hn::LoadU(d, in + i));
    largest = hn::Max(largest, bits);
    smallest = hn::Min(smallest, hn::Sub(bits, hn::Set(du, 1)));
    sum.add(hn::BitCast(d, bits));
  }
  Totals totals;
  totals.largest_bits = hn::GetLane(hn::MaxOfLanes(du, largest));
  totals.smallest_bits = hn::GetLane(hn::MinOfLanes(du, smallest));
  totals.sum = sum.total();
  for (; i < count; ++i) {
    const std::uint32_t bits = f32_magnitude_bits(in[i]);
    totals.largest_bits = std::max(totals.largest_bits, bits);
    totals.smallest_bits = std::min(totals.smallest_bits, bits - 1);
    totals.sum += static_cast<double>(std::bit_cast<float>(bits));
  }
  // From "less 1" back; what no magnitude is stays.
  if (totals.smallest_bits != 0xFFFF'FFFFu) ++totals.smallest_bits;
  return totals;
}

/// Count and sum of the magnitudes from a bound on.
class Tail {
 public:
  HWY_INLINE explicit Tail(float bound)
      : bound_(hn::Set(F32(), bound)), sum_(hn::Zero(F32())), count_(hn::Zero(I32())) {}
  HWY_INLINE void add(VF32 magnitude) {
    const auto reaches = hn::Ge(magnitude, bound_);
    sum_ = hn::Add(sum_, hn::IfThenElseZero(reaches, magnitude));
    count_ = hn::Sub(count_, hn::BitCast(I32(), hn::VecFromMask(F32(), reaches)));  // true is -1
  }
  HWY_INLINE void add_to(std::size_t& count, double& sum) const {
    count += static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(I32(), count_)));
    WideSum wide;
    wide.add(sum_);
    sum += wide.total();
  }

 private:
  VF32 bound_;
  VF32 sum_;
  VI32 count_;
};

Tails tails(const float* in, std::size_t count, float low, float high) {
  const F32 d;
  Tail low_even(low);  // two of each, so that an addition need not wait for the one before
  Tail low_odd(low);
  Tail high_even(high);
  Tail high_odd(high);
  std::size_t i = 0;
  for (; i + 2 * kLanes <= count; i += 2 * kLanes) {
    const auto even = hn::Abs(hn::LoadU(d, in + i));
    const auto odd = hn::Abs(hn::LoadU(d, in + i + kLanes));
    low_even.add(even);
    low_odd.add(odd);
    high_even.add(even);
    high_odd.add(odd);
  }
  Tails tails;
  low_even.add_to(tails.count_low, tails.sum_low);
  low_odd.add_to(tails.count_low, tails.sum_low);
  high_even.add_to(tails.count_high, tails.sum_high);
  high_odd.add_to(tails.count_high, tails.sum_high);
  for (; i < count; ++i) {
    const float magnitude = std::fabs(in[i]);
    if (magnitude < low) continue;
    ++tails.count_low;
    tails.sum_low += static_cast<double>(magnitude);
    if (magnitude < high) continue;
    ++tails.count_high;
    tails.sum_high += static_cast<double>(magnitude);
  }
  return tails;
}

float largest_below(const float* in, std::size_t count, float bound) {
  const F32 d;
  auto largest = hn::Zero(d);
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto magnitude = hn::Abs(hn::LoadU(d, in + i));
    const auto below = hn::Lt(magnitude, hn::Set(d, bound));
    largest = hn::Max(largest, hn::IfThenElseZero(below, magnitude));
  }
  float most = hn::GetLane(hn::MaxOfLanes(d, largest));
  for (; i < count; ++i)
    if (std::fabs(in[i]) < bound) most = std::max(most, std::fabs(in[i]));
  return most;
}

#if HWY_TARGET == HWY_AVX2

/// For every mask of eight lanes, the lanes that are set, in order, four bits each.
constexpr std::array<std::uint32_t, 256> kLanesOfMask = [] {
  std::array<std::uint32_t, 256> lanes{};
  for (std::uint32_t mask = 0; mask < 256; ++mask)
    for (std::uint32_t lane = 0, found = 0; lane < 8; ++lane)
      if ((mask >> lane & 1u) != 0) lanes[mask] |= lane << (4 * found++);
  return lanes;
}();

/// hn::CompressStore(), whose table g++ copies to the stack at every call.
HWY_INLINE std::size_t compress_store(VF32 v, hn::Mask<F32> mask, float* out) {
  const U32 d;
  const auto bits = static_cast<unsigned>(_mm256_movemask_ps(mask.raw));
  alignas(32) static constexpr std::uint32_t kShifts[8] = {0, 4, 8, 12, 16, 20, 24, 28};
  const auto lanes = hn::Shr(hn::Set(d, kLanesOfMask[bits]), hn::Load(d, kShifts));
  hn::StoreU(VF32{_mm256_permutevar8x32_ps(v.raw, lanes.raw)}, F32(), out);
  return hwy::PopCount(bits);
}

#else

HWY_INLINE std::size_t compress_store(VF32 v, hn::Mask<F32> mask, float* out) {
  return hn::CompressStore(v, mask, F32(), out);
}

#endif

Split split(const float* in, std::size_t count, float low, float high, float* out) {
  const F32 d;
  Split split;
  WideSum sum;
  auto above = hn::Zero(I32());
  std::size_t i = 0;
  for (; i + kLanes <= count; i += kLanes) {
    const auto magnitude = hn::Abs(hn::LoadU(d, in + i));
    const auto reaches_high = hn::Ge(magnitude, hn::Set(d, high));
    const auto reaches_low = hn::Ge(magnitude, hn::Set(d, low));
    above = hn::Sub(above, hn::BitCast(I32(), hn::VecFromMask(d, reaches_high)));  // true is -1
    sum.add(hn::IfThenElseZero(reaches_high, magnitude));
    const auto between = hn::AndNot(reaches_high, reaches_low);
    split.between += compress_store(magnitude, between, out + split.between);
  }
  split.count_high = static_cast<std::size_t>(hn::GetLane(hn::SumOfLanes(I32(), above)));
  split.sum_high = sum.total();
  for (; i < count; ++i) {
    const float magnitude = std::fabs(in[i]);
    if (magnitude >= high) {
      ++split.count_high;
      split.sum_high += static_cast<double>(magnitude);
    } else if (magnitude >= low) {
      out[split.between++] = magnitude;
    }
  }
  return split;
}

#endif  // SYNPS_SIMD

}  // namespace synps::simd::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace synps::simd {

HWY_EXPORT(available);
HWY_EXPORT(largest_magnitude_bits);
HWY_EXPORT(totals);
HWY_EXPORT(tails);
HWY_EXPORT(largest_below);
HWY_EXPORT(split);

bool available() {
  return HWY_DYNAMIC_DISPATCH(available)();
}
std::uint32_t largest_magnitude_bits(const float* in, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(largest_magnitude_bits)(in, count);
}
Totals totals(const float* in, std::size_t count) {
  return HWY_DYNAMIC_DISPATCH(totals)(in, count);
}
Tails tails(const float* in, std::size_t count, float low, float high) {
  return HWY_DYNAMIC_DISPATCH(tails)(in, count, low, high);
}
float largest_below(const float* in, std::size_t count, float bound) {
  return HWY_DYNAMIC_DISPATCH(largest_below)(in, count, bound);
}
Split split(const float* in, std::size_t count, float low, float high, float* out) {
  return HWY_DYNAMIC_DISPATCH(split)(in, count, low, high, out);
}

}  // namespace synps::simd
#endif  // HWY_ONCE
