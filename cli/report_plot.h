#pragma once

#include <cstddef>
#include <map>
#include <string>
#include <vector>

#include "report.h"

namespace synps::cli {

/// Colours that a page has; codecs beyond share the last one.
inline constexpr std::size_t kReportColours = 8;

/// The colour of a codec, by rank of its bytes.
using CodecColours = std::map<std::string, std::size_t>;

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
/// figures.
ReportPlot report_plot(const std::vector<ReportWeight>& weights, const CodecColours& colours);

}  // namespace synps::cli
