#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <limits>

#include "synps/error_figures.h"

namespace synps {

/// Errors of values, summed one by one in flat order.
class ErrorSums {
 public:
  void add(double reference, double value) noexcept {
    ++count_;
    if (std::isfinite(reference)) signal_ += reference * reference;
    const double error = error_of(reference, value);
    max_ = std::max(max_, error);
    magnitude_ += error;
    noise_ += error * error;
  }

  /// Whether any value has an error.
  bool any() const noexcept { return max_ > 0; }

  ErrorFigures figures() const {
    ErrorFigures out = no_error(count_);
    if (!any()) return out;
    const auto count = static_cast<double>(count_);
    out.max_abs_error = max_;
    out.mean_abs_error = magnitude_ / count;
    out.rmse = std::sqrt(noise_ / count);
    out.relative_error.reset();
    // Squares of f64 numbers may be too large or too small for f64.
    if (!std::isfinite(noise_) || !std::isfinite(signal_) || noise_ <= 0 || signal_ <= 0)
      return out;
    out.relative_error = std::sqrt(noise_ / signal_);
    out.snr_db = 10 * std::log10(signal_ / noise_);
    return out;
  }

 private:
  static double error_of(double reference, double value) noexcept {
    if (reference == value || (std::isnan(reference) && std::isnan(value))) return 0;
    const double error = std::abs(reference - value);
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

  std::uint64_t count_ = 0;
  double signal_ = 0;     ///< sum of squares of the reference
  double noise_ = 0;      ///< sum of squares of the errors
  double magnitude_ = 0;  ///< sum of the errors
  double max_ = 0;
};

}  // namespace synps
