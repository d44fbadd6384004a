#include <fmt/core.h>

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "error_rows.h"
#include "html_text.h"
#include "report.h"
#include "report_plot.h"
#include "report_style.h"
#include "text.h"

namespace synps::cli {
namespace {

// What a page shows at the most, so that it stays one that people read.
constexpr std::size_t kWorstRows = 40;
constexpr std::size_t kPatternRows = 200;
constexpr std::size_t kRemarkLines = 40;

/// Weights in one codec.
struct CodecTotal {
  std::string codec;
  std::uint64_t weights = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  std::uint64_t equal = 0;
  std::optional<ErrorFigures> worst{};
};

std::string code(std::string_view text) {
  return "<code>" + html_text(text) + "</code>";
}

/// A path, which lines may break after its dots.
std::string path_code(std::string_view path) {
  std::string out = "<code>";
  for (const char c : html_text(path)) {
    out += c;
    if (c == '.') out += "<wbr>";
  }
  return out + "</code>";
}

std::string cell(std::string_view content, std::string_view attributes = {}) {
  return fmt::format("<td{}{}>{}</td>", attributes.empty() ? "" : " ", attributes, content);
}

std::string snr_cell(const ErrorFigures& figures) {
  return cell(figures.snr_db ? html_number(*figures.snr_db, snr_text(figures)) : "–");
}

std::string number_cell(double value) {
  return cell(html_number(value, brief_number(value)));
}

/// "3 patterns more are left out." or nothing.
std::string left_out(std::size_t count, std::string_view noun) {
  if (count == 0) return {};
  return fmt::format("<p class=\"note\">{} more left out.</p>\n", counted(count, noun));
}

class Page {
 public:
  explicit Page(const ErrorReport& report);
  std::string write();

 private:
  void add_head();
  void add_facts();
  void add_sides();
  void add_plot();
  void add_codecs();
  void add_patterns();
  void add_worst();
  void add_remarks();
  void add_words();
  std::string counts_text() const;
  std::string bits_of(std::uint64_t bytes, std::uint64_t elements) const;
  std::string swatch(const std::string& codec) const {
    return fmt::format("<span class=\"swatch s{}\"></span>", colours_.at(codec));
  }

  const ErrorReport& report_;
  std::vector<ErrorItem> errors_;             ///< of weights that differ and have figures
  std::vector<const ReportWeight*> weights_;  ///< likewise
  std::vector<CodecTotal> codecs_;            ///< by falling bytes
  CodecColours colours_;
  std::uint64_t equal_ = 0;
  std::string out_;
};

Page::Page(const ErrorReport& report) : report_(report) {
  std::map<std::string, CodecTotal> totals;
  for (const ReportWeight& weight : report.weights) {
    CodecTotal& total = totals[weight.codec];
    total.codec = weight.codec;
    ++total.weights;
    total.elements += weight.elements;
    total.bytes += weight.bytes;
    total.equal += weight.equal ? 1 : 0;
    equal_ += weight.equal ? 1 : 0;
    if (!weight.has_figures || weight.equal) continue;
    if (!total.worst || worse(weight.figures, *total.worst)) total.worst = weight.figures;
    errors_.push_back({weight.path, {weight.source, weight.codec}, weight.figures});
    weights_.push_back(&weight);
  }
  for (auto& entry : totals) codecs_.push_back(std::move(entry.second));
  std::stable_sort(codecs_.begin(), codecs_.end(),
                   [](const CodecTotal& a, const CodecTotal& b) { return a.bytes > b.bytes; });
  for (std::size_t i = 0; i < codecs_.size(); ++i)
    colours_[codecs_[i].codec] = std::min(i, kReportColours - 1);
}

void Page::add_head() {
  const std::string reference = html_text(file_name(report_.reference.path));
  const std::string subject = html_text(file_name(report_.subject.path));
  out_ += fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
      "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
      "<meta http-equiv=\"Content-Security-Policy\" "
      "content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
      "<title>{} against {}</title>\n<style>{}</style>\n</head>\n<body>\n<main>\n",
      subject, reference, kReportStyle);
  out_ += "<p class=\"eyebrow\">synps · error of weights</p>\n";
  out_ += fmt::format("<h1>{} <span>against</span> {}</h1>\n", subject, reference);
  out_ += "<p class=\"lede\">" + counts_text();
  // Told in full below.
  for (const ReportRemark& remark : report_.remarks)
    out_ += fmt::format(" {}: {}.", html_text(remark.title), grouped(remark.lines.size()));
  out_ += "</p>\n";
}

std::string Page::counts_text() const {
  const std::size_t weights = report_.weights.size();
  if (weights == 0) return "No weight was compared.";
  std::string out = counted(weights, "weight") + " compared: ";
  if (equal_ == weights) return out + "all equal in value.";
  return out +
         fmt::format("{} equal in value, {} not.", grouped(equal_), grouped(weights - equal_));
}

std::string Page::bits_of(std::uint64_t bytes, std::uint64_t elements) const {
  return elements == 0 ? "–" : bits_each(bytes, elements);
}

void Page::add_facts() {
  const auto fact = [this](std::string_view name, std::string_view value, std::string_view more) {
    out_ += fmt::format("<div><dt>{}</dt><dd>{}", name, value);
    if (!more.empty()) out_ += fmt::format(" <small>{}</small>", more);
    out_ += "</dd></div>\n";
  };
  const SideSummary& reference = report_.reference;
  const SideSummary& subject = report_.subject;
  out_ += "<dl class=\"facts\">\n";
  fact("bits per weight", bits_of(subject.weight_bytes, subject.elements),
       "from " + bits_of(reference.weight_bytes, reference.elements));
  fact("size of weights", human_bytes(subject.weight_bytes),
       percent(subject.weight_bytes, reference.weight_bytes));
  fact("equal in value", grouped(equal_), "of " + grouped(report_.weights.size()));
  const std::vector<std::size_t> order = worst_first(errors_);
  if (!order.empty()) {
    const ErrorFigures& worst = errors_[order.front()].figures;
    const ErrorFigures& median = errors_[order[order.size() / 2]].figures;
    fact("worst ratio", snr_text(worst), "dB");
    fact("median ratio of those not equal", snr_text(median), "dB");
  }
  out_ += "</dl>\n";
}

void Page::add_sides() {
  out_ +=
      "<h2>What was compared</h2>\n<div class=\"wide\"><table>\n<thead><tr><th></th>"
      "<th class=\"l\">file</th><th class=\"l\">kind</th><th>weights</th><th>elements</th>"
      "<th>bytes of weights</th><th>bits per weight</th><th>bytes of files</th></tr></thead>\n"
      "<tbody>\n";
  const auto row = [this](std::string_view role, const SideSummary& side) {
    out_ += "<tr>" + cell(role) + cell(code(file_name(side.path)), "class=\"l\"") +
            cell(html_text(side.kind), "class=\"l\"") + cell(grouped(side.weights)) +
            cell(grouped(side.elements)) + cell(grouped(side.weight_bytes)) +
            cell(bits_of(side.weight_bytes, side.elements)) + cell(grouped(side.file_bytes)) +
            "</tr>\n";
  };
  row("reference", report_.reference);
  row("compared with it", report_.subject);
  out_ += "</tbody></table></div>\n";
}

void Page::add_plot() {
  const ReportPlot plot = report_plot(report_.weights, colours_);
  if (plot.svg.empty()) return;
  out_ +=
      "<h2>Error against size</h2>\n"
      "<p class=\"note\">A point is a weight; a larger one has more elements; those that "
      "would hide each other stand side by side. Higher is "
      "better, and further left is smaller.</p>\n<p class=\"note\">";
  for (const CodecTotal& total : codecs_)
    out_ += fmt::format("{}{} &nbsp; ", swatch(total.codec), html_text(total.codec));
  out_ += "</p>\n" + plot.svg;
  if (plot.at_the_right != 0)
    out_ += fmt::format(
        "<p class=\"note\">At the right edge {} of more than {} bits: so small that what the codec "
        "adds to each counts.</p>\n",
        counted(plot.at_the_right, "weight"), plot.right);
  if (plot.at_the_top != 0)
    out_ += fmt::format("<p class=\"note\">At the upper edge {} above {} dB.</p>\n",
                        counted(plot.at_the_top, "weight"), plot.top);
  if (plot.left_out != 0)
    out_ += fmt::format(
        "<p class=\"note\">{} of {} weights are drawn: the worst, and an even choice of the "
        "others.</p>\n",
        grouped(plot.drawn), grouped(plot.drawn + plot.left_out));
}

void Page::add_codecs() {
  if (codecs_.empty()) return;
  out_ +=
      "<h2>Bytes by codec</h2>\n<div class=\"wide\"><table>\n<thead><tr><th>codec</th>"
      "<th class=\"l\"></th><th>share</th><th>bytes</th><th>weights</th><th>equal</th>"
      "<th>bits per weight</th><th>worst SNR, dB</th></tr></thead>\n<tbody>\n";
  std::uint64_t all = 0;
  for (const CodecTotal& total : codecs_) all += total.bytes;
  for (const CodecTotal& total : codecs_) {
    const double share =
        all == 0 ? 0 : 100 * static_cast<double>(total.bytes) / static_cast<double>(all);
    out_ += "<tr>" + cell(swatch(total.codec) + code(total.codec)) +
            cell(fmt::format("<div class=\"track\"><div class=\"fill s{}\" "
                             "style=\"width:{:.2f}%\"></div></div>",
                             colours_.at(total.codec), share),
                 "class=\"bar\"") +
            cell(percent(total.bytes, all)) + cell(grouped(total.bytes)) +
            cell(grouped(total.weights)) + cell(grouped(total.equal)) +
            cell(bits_of(total.bytes, total.elements)) +
            (total.worst ? snr_cell(*total.worst) : cell("–")) + "</tr>\n";
  }
  out_ += "</tbody></table></div>\n";
}

void Page::add_patterns() {
  if (errors_.empty()) return;
  const std::vector<ErrorRow> rows = error_rows(errors_, false);
  out_ +=
      "<h2>By pattern</h2>\n<p class=\"note\">Weights that differ in numbers only share a row, "
      "which has the worst of them in each column. The worst row is the first.</p>\n"
      "<div class=\"wide\"><table>\n<thead><tr><th>weights</th><th>count</th>"
      "<th class=\"l\">from</th><th class=\"l\">to</th><th>SNR, dB</th><th>relative error</th>"
      "<th>RMSE</th><th>max abs error</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows.size() && i < kPatternRows; ++i) {
    const ErrorRow& row = rows[i];
    out_ += "<tr>" + cell(path_code(row.pattern), "class=\"path\"") +
            cell(grouped(row.members.size())) + cell(code(row.cells[0]), "class=\"l\"") +
            cell(swatch(row.cells[1]) + code(row.cells[1]), "class=\"l\"") + snr_cell(row.figures) +
            (row.figures.relative_error ? number_cell(*row.figures.relative_error) : cell("–")) +
            number_cell(row.figures.rmse) + number_cell(row.figures.max_abs_error) + "</tr>\n";
  }
  out_ += "</tbody></table></div>\n" +
          left_out(rows.size() - std::min(rows.size(), kPatternRows), "row");
}

void Page::add_worst() {
  if (errors_.empty()) return;
  const std::vector<std::size_t> order = worst_first(errors_);
  out_ +=
      "<h2>The worst weights</h2>\n<div class=\"wide\"><table id=\"worst\">\n<thead><tr>"
      "<th>weight</th><th class=\"l\">from</th><th class=\"l\">to</th><th>bits per weight</th>"
      "<th>SNR, dB</th><th>relative error</th><th>RMSE</th><th>mean abs error</th>"
      "<th>max abs error</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < order.size() && i < kWorstRows; ++i) {
    const ErrorItem& item = errors_[order[i]];
    const ReportWeight& weight = *weights_[order[i]];
    const ErrorFigures& figures = item.figures;
    out_ += "<tr>" + cell(path_code(item.path), "class=\"path\"") +
            cell(code(weight.source), "class=\"l\"") +
            cell(swatch(weight.codec) + code(weight.codec), "class=\"l\"") +
            cell(bits_of(weight.bytes, weight.elements)) + snr_cell(figures) +
            (figures.relative_error ? number_cell(*figures.relative_error) : cell("–")) +
            number_cell(figures.rmse) + number_cell(figures.mean_abs_error) +
            number_cell(figures.max_abs_error) + "</tr>\n";
  }
  out_ += "</tbody></table></div>\n" +
          left_out(order.size() - std::min(order.size(), kWorstRows), "weight");
}

void Page::add_remarks() {
  for (const ReportRemark& remark : report_.remarks) {
    out_ += fmt::format("<h2>{}: {}</h2>\n<ul>\n", html_text(remark.title),
                        grouped(remark.lines.size()));
    for (std::size_t i = 0; i < remark.lines.size() && i < kRemarkLines; ++i)
      out_ += "<li>" + code(remark.lines[i]) + "</li>\n";
    out_ += "</ul>\n" +
            left_out(remark.lines.size() - std::min(remark.lines.size(), kRemarkLines), "line");
  }
}

void Page::add_words() {
  const auto word = [this](std::string_view name, std::string_view meaning) {
    out_ += fmt::format("<dt>{}</dt><dd>{}</dd>\n", name, meaning);
  };
  out_ += "<h2>Words</h2>\n<dl class=\"words\">\n";
  word("SNR",
       "signal-to-noise ratio: 10·log10 of the sum of squared reference values over the sum "
       "of squared errors, in decibels. 6 dB more halve the error.");
  word("relative error", "the norm of the errors over the norm of the reference.");
  word("RMSE", "the root of the mean squared error.");
  word("bits per weight", "stored bits over elements, without padding.");
  word("equal",
       "every value is the reference’s; zeros of either sign are equal, and NaN equals "
       "NaN.");
  out_ += "</dl>\n";
}

std::string Page::write() {
  add_head();
  add_facts();
  add_sides();
  add_plot();
  add_codecs();
  add_patterns();
  add_worst();
  add_remarks();
  add_words();
  out_ += "</main>\n</body>\n</html>\n";
  return std::move(out_);
}

}  // namespace

std::string report_html(const ErrorReport& report) {
  return Page(report).write();
}

}  // namespace synps::cli
