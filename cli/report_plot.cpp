#include "report_plot.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <map>
#include <utility>

#include "error_rows.h"
#include "html_text.h"
#include "report_colours.h"
#include "text.h"

namespace synps::cli {
namespace {

// Sizes are in units of the picture, which a page scales to its width.
constexpr double kWidth = 900;
constexpr double kHeight = 460;
constexpr double kLeft = 64;
constexpr double kRight = kWidth - 20;
constexpr double kEqualLine = 28;              ///< above the axes: weights without an error
constexpr double kNoRatioLine = kHeight - 62;  ///< below: weights with an error and no ratio

constexpr std::size_t kMostPoints = 2000;
/// Of them the worst, without exception; the others are spread over the rest.
constexpr std::size_t kWorstPoints = 800;

/// More bits are drawn at the edge: small weights of block codecs can take any number. Equal
/// weights of more bits than a float, such as integers, would only squeeze the others.
constexpr double kMostBits = 66;
constexpr double kMostEqualBits = 32;
/// So are higher ratios, which rounding of the last bits can have.
constexpr double kMostDecibels = 100;

constexpr double kSmallest = 3;
constexpr double kLargest = 9;

/// Points in the same cell of this size are moved apart to the sides, in two steps of this size: as
/// bits, too little to be taken for others.
constexpr double kCell = 6;
constexpr double kSideStep = 1.5;
constexpr int kSideSteps = 2;

struct Point {
  const ReportWeight* weight = nullptr;
  double bits = 0;
};

/// Moves points that would hide each other to the sides.
class SideSteps {
 public:
  /// How far the next point at this place is moved.
  double next(double x, double y) {
    const std::pair cell(std::lround(x / kCell), std::lround(y / kCell));
    const int count = counts_[cell]++ % (2 * kSideSteps + 1);
    const int steps = (count + 1) / 2;
    return count % 2 == 0 ? -steps * kSideStep : steps * kSideStep;
  }

 private:
  std::map<std::pair<long, long>, int> counts_;
};

struct Axis {
  double low = 0;
  double high = 1;
  double step = 1;
};

/// From at or below `low` to at or above `high`, in steps that people count in.
Axis axis_over(double low, double high) {
  Axis axis;
  const double span = std::max(high - low, 1.0);
  for (const double step : {1.0, 2.0, 4.0, 5.0, 10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1000.0}) {
    axis.step = step;
    if (span / step <= 10) break;
  }
  axis.low = std::floor(low / axis.step) * axis.step;
  axis.high = std::max(std::ceil(high / axis.step) * axis.step, axis.low + axis.step);
  return axis;
}

class Plot {
 public:
  explicit Plot(const std::vector<ReportWeight>& weights);
  ReportPlot draw();

 private:
  void choose_points(const std::vector<ReportWeight>& weights);
  void choose_axes();
  double x(double bits) const {
    return kLeft + (std::min(bits, x_.high) - x_.low) / (x_.high - x_.low) * (kRight - kLeft);
  }
  double y(double snr) const {
    return bottom_ - (std::min(snr, y_.high) - y_.low) / (y_.high - y_.low) * (bottom_ - top_);
  }
  double radius(const ReportWeight& weight) const {
    const double share = static_cast<double>(weight.elements) /
                         static_cast<double>(std::max(most_, std::uint64_t{1}));
    return kSmallest + (kLargest - kSmallest) * std::sqrt(share);
  }
  void add_axes();
  void add_strip(double at, const char* label);
  void add_point(const Point& point);

  std::vector<Point> points_;
  std::uint64_t most_ = 0;  ///< elements of a weight
  Axis x_;
  Axis y_;
  bool ratio_ = false;     ///< there are weights with a ratio
  bool equal_ = false;     ///< there are weights without an error
  bool no_ratio_ = false;  ///< there are weights with an error and no ratio
  double top_ = 24;        ///< of the axes
  double bottom_ = kHeight - 52;
  SideSteps side_steps_;
  ReportPlot out_;
};

Plot::Plot(const std::vector<ReportWeight>& weights) {
  choose_points(weights);
  choose_axes();
}

void Plot::choose_points(const std::vector<ReportWeight>& weights) {
  std::vector<Point> all;
  for (const ReportWeight& weight : weights)
    if (weight.has_figures && weight.elements != 0)
      all.push_back(
          {&weight, 8 * static_cast<double>(weight.bytes) / static_cast<double>(weight.elements)});
  std::stable_sort(all.begin(), all.end(), [](const Point& a, const Point& b) {
    return worse(a.weight->figures, b.weight->figures);
  });
  const std::size_t rest = all.size() > kMostPoints ? all.size() - kWorstPoints : 0;
  for (std::size_t i = 0; i < all.size(); ++i) {
    if (rest != 0 && i >= kWorstPoints) {
      // Of the rest every so many: where the count that should be drawn by now grows by one.
      const std::size_t k = i - kWorstPoints;
      constexpr std::size_t kOthers = kMostPoints - kWorstPoints;
      if ((k + 1) * kOthers / rest == k * kOthers / rest) continue;
    }
    points_.push_back(all[i]);
  }
  out_.drawn = points_.size();
  out_.left_out = all.size() - points_.size();
}

void Plot::choose_axes() {
  double bits = 1;
  double low = 0;
  double high = 0;
  for (const Point& point : points_) {
    most_ = std::max(most_, point.weight->elements);
    if (point.bits <= (point.weight->equal ? kMostEqualBits : kMostBits))
      bits = std::max(bits, point.bits);
    const auto& snr = point.weight->figures.snr_db;
    if (snr) {
      low = ratio_ ? std::min(low, *snr) : *snr;
      high = ratio_ ? std::max(high, *snr) : *snr;
      ratio_ = true;
    } else if (point.weight->equal) {
      equal_ = true;
    } else {
      no_ratio_ = true;
    }
  }
  x_ = axis_over(0, bits);
  y_ = axis_over(std::min(low, 0.0), std::clamp(high, 10.0, kMostDecibels));
  if (equal_) top_ += 40;
  if (no_ratio_) bottom_ -= 32;
  for (const Point& point : points_) {
    out_.at_the_right += point.bits > x_.high ? 1 : 0;
    out_.at_the_top += point.weight->figures.snr_db.value_or(0) > y_.high ? 1 : 0;
  }
  out_.right = x_.high;
  out_.top = y_.high;
}

void Plot::add_axes() {
  std::string& svg = out_.svg;
  for (double bits = x_.low; bits <= x_.high; bits += x_.step) {
    svg += fmt::format("<line class=\"grid\" x1=\"{0:.1f}\" x2=\"{0:.1f}\" y1=\"{1}\" y2=\"{2}\"/>",
                       x(bits), top_, bottom_);
    svg +=
        fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n",
                    x(bits), kHeight - 32, bits);
  }
  for (double snr = y_.low; snr <= y_.high; snr += y_.step) {
    svg += fmt::format("<line class=\"grid\" x1=\"{1}\" x2=\"{2}\" y1=\"{0:.1f}\" y2=\"{0:.1f}\"/>",
                       y(snr), kLeft, kRight);
    svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{:.1f}\" text-anchor=\"end\">{}</text>\n",
                       kLeft - 10, y(snr) + 4, snr);
  }
  svg += fmt::format(
      "<text class=\"label\" x=\"{}\" y=\"{}\" text-anchor=\"end\">bits per weight</text>\n",
      kRight, kHeight - 8);
  svg += fmt::format(
      "<text class=\"label\" x=\"14\" y=\"{0}\" transform=\"rotate(-90 14 {0})\" "
      "text-anchor=\"end\">signal-to-noise ratio, dB</text>\n",
      top_);
}

void Plot::add_strip(double at, const char* label) {
  out_.svg += fmt::format("<line class=\"strip\" x1=\"{0}\" x2=\"{1}\" y1=\"{2}\" y2=\"{2}\"/>",
                          kLeft, kRight, at);
  out_.svg += fmt::format("<text class=\"tick\" x=\"{}\" y=\"{}\" text-anchor=\"end\">{}</text>\n",
                          kLeft - 10, at + 4, label);
}

void Plot::add_point(const Point& point) {
  const ReportWeight& weight = *point.weight;
  const double across = x(point.bits);
  const double height = weight.figures.snr_db ? y(*weight.figures.snr_db)
                        : weight.equal        ? kEqualLine
                                              : kNoRatioLine;
  const std::string error = weight.equal ? "equal"
                            : weight.figures.snr_db
                                ? fmt::format("{:.2f} dB", *weight.figures.snr_db)
                                : "−∞ dB";
  out_.svg += fmt::format(
      "<circle class=\"k{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{:.1f}\"><title>{}\n{}, {} bits per "
      "weight, {}</title></circle>\n",
      codec_colour(weight.codec),
      std::clamp(across + side_steps_.next(across, height), kLeft, kRight), height, radius(weight),
      html_text(weight.path), html_text(weight.codec), bits_each(weight.bytes, weight.elements),
      error);
}

ReportPlot Plot::draw() {
  if (!ratio_) return {};
  out_.svg = fmt::format(
      "<svg viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"Signal-to-noise ratio of weights "
      "against "
      "their bits\">\n",
      kWidth, kHeight);
  add_axes();
  if (equal_) add_strip(kEqualLine, "equal");
  if (no_ratio_) add_strip(kNoRatioLine, "−∞");
  // Large ones first, so that they hide no small ones.
  std::vector<Point> points = points_;
  std::stable_sort(points.begin(), points.end(), [](const Point& a, const Point& b) {
    return a.weight->elements > b.weight->elements;
  });
  for (const Point& point : points) add_point(point);
  out_.svg += "</svg>\n";
  return std::move(out_);
}

}  // namespace

ReportPlot report_plot(const std::vector<ReportWeight>& weights) {
  return Plot(weights).draw();
}

}  // namespace synps::cli
