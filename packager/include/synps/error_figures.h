#pragma once

#include <cstdint>
#include <optional>

namespace synps {

/// How far values are off a reference. Two NaN, equal infinities, and zeros of either sign are no
/// error; any other error with a value that is not finite is infinite. Sums are of doubles in flat
/// order, so that figures depend neither on pieces nor on threads.
struct ErrorFigures {
  std::uint64_t elements = 0;  ///< that were compared
  double max_abs_error = 0;
  double mean_abs_error = 0;
  double rmse = 0;
  /// The norm of the errors over that of the reference, whose values that are not finite are left
  /// out. 0 without an error; none where there is one and the reference is zero or the error
  /// infinite.
  std::optional<double> relative_error{};
  std::optional<double> snr_db{};  ///< -20·log10 of that; none also without an error
};

/// Of values that are all equal.
inline ErrorFigures no_error(std::uint64_t elements) {
  ErrorFigures figures;
  figures.elements = elements;
  figures.relative_error = 0;
  return figures;
}

}  // namespace synps
