#include "scale_min_block.h"

#include <algorithm>
#include <cmath>

#include "bytes.h"

namespace synps {
namespace {

using SubBlockCodes = std::array<std::uint8_t, kSubBlockElements>;

/// The search for one sub-block: x ≈ scale × code + low, where low is not above 0. Sums run over
/// the elements in order, in f32.
class SubBlockSearch {
 public:
  SubBlockSearch(const float* x, const ScaleTrials& trials) noexcept : x_(x), most_(trials.most) {
    weigh();
    if (high_ == low_) return;  // one value, not below 0: the codes are 0
    start();
    for (int n = 0; n <= trials.tries; ++n) attempt(trials.divisor(n));
  }

  float scale() const noexcept { return scale_; }
  float min() const noexcept { return -low_; }
  const SubBlockCodes& codes() const noexcept { return codes_; }

 private:
  /// An element weighs the more the larger it is; finds the range, which 0 is always part of at
  /// its lower end.
  void weigh() noexcept {
    float squares = 0;
    for (std::size_t i = 0; i < kSubBlockElements; ++i) squares += x_[i] * x_[i];
    const float mean = std::sqrt(squares / static_cast<float>(kSubBlockElements));
    for (std::size_t i = 0; i < kSubBlockElements; ++i) weights_[i] = mean + std::fabs(x_[i]);
    low_ = high_ = x_[0];
    sum_w_ = weights_[0];
    sum_wx_ = sum_w_ * x_[0];
    for (std::size_t i = 1; i < kSubBlockElements; ++i) {
      if (x_[i] < low_) low_ = x_[i];
      if (x_[i] > high_) high_ = x_[i];
      sum_w_ += weights_[i];
      sum_wx_ += weights_[i] * x_[i];
    }
    if (low_ > 0) low_ = 0;
  }

  int code(float inverse, std::size_t i) const noexcept {
    return std::clamp(nearest_int(inverse * (x_[i] - low_)), 0, most_);
  }

  /// The weighted sum of squares that is left.
  float error(float scale, float low, const SubBlockCodes& codes) const noexcept {
    float sum = 0;
    for (std::size_t i = 0; i < kSubBlockElements; ++i) {
      const float difference = scale * static_cast<float>(codes[i]) + low - x_[i];
      sum += weights_[i] * (difference * difference);
    }
    return sum;
  }

  /// Codes that divide the range evenly.
  void start() noexcept {
    const float inverse = static_cast<float>(most_) / (high_ - low_);
    scale_ = 1 / inverse;
    for (std::size_t i = 0; i < kSubBlockElements; ++i)
      codes_[i] = static_cast<std::uint8_t>(code(inverse, i));
    error_ = error(scale_, low_, codes_);
  }

  /// Codes of a range divided by `divisor`, with the scale and the minimum that fit them best. Kept
  /// if they are better; the range then begins at the new minimum, also for what is tried next.
  void attempt(float divisor) noexcept {
    const float inverse = divisor / (high_ - low_);
    SubBlockCodes codes;
    float sum_l = 0;
    float sum_ll = 0;
    float sum_lx = 0;
    for (std::size_t i = 0; i < kSubBlockElements; ++i) {
      const int l = code(inverse, i);
      codes[i] = static_cast<std::uint8_t>(l);
      const float wl = weights_[i] * static_cast<float>(l);
      sum_l += wl;
      sum_ll += wl * static_cast<float>(l);
      sum_lx += wl * x_[i];
    }
    const float determinant = sum_w_ * sum_ll - sum_l * sum_l;
    if (!(determinant > 0)) return;
    float scale = (sum_w_ * sum_lx - sum_wx_ * sum_l) / determinant;
    float low = (sum_ll * sum_wx_ - sum_l * sum_lx) / determinant;
    if (low > 0) {
      low = 0;
      scale = sum_lx / sum_ll;
    }
    const float error_now = error(scale, low, codes);
    if (!(error_now < error_)) return;
    codes_ = codes;
    error_ = error_now;
    scale_ = scale;
    low_ = low;
  }

  const float* x_;
  int most_;
  std::array<float, kSubBlockElements> weights_;
  float sum_w_ = 0;
  float sum_wx_ = 0;
  float low_ = 0;
  float high_ = 0;
  float scale_ = 0;
  float error_ = 0;
  SubBlockCodes codes_ = {};
};

/// `value` in 63rds of the largest, of which `inverse` is 63 times the reciprocal. A negative one,
/// which no ordinary sub-block has, wraps around.
unsigned six_bits(float value, float inverse) noexcept {
  return std::min(63u, static_cast<unsigned>(nearest_int(inverse * value)) & 255u);
}

}  // namespace

ScaleMinHeader::ScaleMinHeader(const std::array<float, kSubBlocks>& scales,
                               const std::array<float, kSubBlocks>& mins) noexcept {
  float max_scale = 0;
  float max_min = 0;
  for (std::size_t j = 0; j < kSubBlocks; ++j) {
    if (scales[j] > max_scale) max_scale = scales[j];
    if (mins[j] > max_min) max_min = mins[j];
  }
  const float inverse_scale = max_scale > 0 ? 63.0f / max_scale : 0.0f;
  const float inverse_min = max_min > 0 ? 63.0f / max_min : 0.0f;
  for (std::size_t j = 0; j < kSubBlocks; ++j)
    sub_blocks[j] = {six_bits(scales[j], inverse_scale), six_bits(mins[j], inverse_min)};
  f16 = {f16_from_f32(max_scale / 63.0f), f16_from_f32(max_min / 63.0f)};
}

void ScaleMinHeader::store(std::byte* out) const noexcept {
  synps::store(out, f16.scale);
  synps::store(out + 2, f16.min);
  store_six_bits(sub_blocks, out + 4);
}

std::array<std::uint8_t, kBlock256> encode_scale_min(const std::array<float, kBlock256>& values,
                                                     const ScaleTrials& trials, std::byte* header,
                                                     BlockScales& stored) noexcept {
  std::array<std::uint8_t, kBlock256> codes;
  std::array<float, kSubBlocks> scales;
  std::array<float, kSubBlocks> mins;
  for (std::size_t j = 0; j < kSubBlocks; ++j) {
    const SubBlockSearch search(&values[j * kSubBlockElements], trials);
    scales[j] = search.scale();
    mins[j] = search.min();
    std::copy(search.codes().begin(), search.codes().end(), &codes[j * kSubBlockElements]);
  }
  const ScaleMinHeader chosen(scales, mins);
  // The codes are found anew for the scales as they are stored, but for those that are 0.
  for (std::size_t j = 0; j < kSubBlocks; ++j) {
    const float scale = chosen.scale(j);
    if (scale == 0) continue;
    const float min = chosen.min(j);
    for (std::size_t i = j * kSubBlockElements; i < (j + 1) * kSubBlockElements; ++i)
      codes[i] = static_cast<std::uint8_t>(
          std::clamp(nearest_int((values[i] + min) / scale), 0, trials.most));
  }
  chosen.store(header);
  stored = chosen.f16;
  return codes;
}

}  // namespace synps
