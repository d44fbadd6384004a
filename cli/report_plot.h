#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "report.h"

namespace synps::cli {

struct ReportPlot {
  std::string svg;
  std::size_t drawn = 0;         ///< weights
  std::size_t left_out = 0;      ///< weights, for there are too many
  std::size_t at_the_right = 0;  ///< weights that take more bits than the axis has
  double right = 0;              ///< bits
  std::size_t at_the_top = 0;    ///< weights with a higher ratio than the axis has
  double top = 0;                ///< decibels
};

/// Signal-to-noise ratio against bits per weight, a point a weight. `svg` is "" where no weight has
/// a ratio.
ReportPlot report_plot(const std::vector<ReportWeight>& weights);

}  // namespace synps::cli
