#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "synps/verify.h"

namespace synps {

/// Errors of values, summed one by one in flat order, so that they do not depend on pieces.
class ErrorSums {
 public:
  void add(float source, float stored) noexcept {
    ++count_;
    if (std::isfinite(source)) signal_ += static_cast<double>(source) * source;
    const double error = error_of(source, stored);
    max_ = std::max(max_, error);
    noise_ += error * error;
  }

  void store(WeightError& error) const {
    error.max_abs_error = max_;
    error.rmse = count_ == 0 ? 0 : std::sqrt(noise_ / static_cast<double>(count_));
    if (noise_ > 0 && std::isfinite(noise_) && signal_ > 0)
      error.snr_db = 10 * std::log10(signal_ / noise_);
  }

 private:
  /// Two NaN, or two equal infinities, are no error; anything else that is not finite is one
  /// without bound.
  static double error_of(float source, float stored) noexcept {
    if (source == stored || (std::isnan(source) && std::isnan(stored))) return 0;
    const double error = std::abs(static_cast<double>(source) - static_cast<double>(stored));
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

  std::uint64_t count_ = 0;
  double signal_ = 0;  ///< sum of squares of the source
  double noise_ = 0;   ///< sum of squares of the errors
  double max_ = 0;
};

}  // namespace synps
