#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <optional>
#include <string_view>
#include <utility>

#include "error_rows.h"
#include "html_text.h"
#include "report.h"
#include "report_colours.h"
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

/// "−∞" is the ratio of an infinite error, and of any error of a reference that is zero.
std::string snr_html(const ErrorFigures& figures) {
  if (figures.snr_db) return html_number(*figures.snr_db, snr_text(figures));
  return is_error(figures) ? "−∞" : "equal";
}

std::string number_html(double value) {
  return std::isfinite(value) ? html_number(value, brief_number(value)) : "∞";
}

std::string relative_html(const ErrorFigures& figures) {
  return number_html(figures.relative_error.value_or(std::numeric_limits<double>::infinity()));
}

/// The name of an encoding, which lines may break after its colon.
std::string codec_code(std::string_view codec) {
  const std::size_t end = codec.find(':') + 1;  // 0 without one
  return fmt::format("<code>{}{}{}</code>", html_text(codec.substr(0, end)),
                     end != 0 ? "<wbr>" : "", html_text(codec.substr(end)));
}

std::string swatch(std::string_view codec) {
  return fmt::format("<span class=\"swatch s{}\"></span>", codec_colour(codec));
}

/// A line without capital and full stop, of what is not from files, as a sentence.
std::string sentence(std::string line) {
  if (line.front() >= 'a' && line.front() <= 'z')
    line.front() = static_cast<char>(line.front() - 'a' + 'A');
  return html_text(line) + ".";
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

  const ErrorReport& report_;
  std::vector<ErrorItem> errors_;             ///< of weights that differ and have figures
  std::vector<const ReportWeight*> weights_;  ///< likewise
  std::vector<CodecTotal> codecs_;            ///< by falling bytes
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
}

void Page::add_head() {
  std::string reference = html_text(file_name(report_.reference.path));
  std::string subject = html_text(file_name(report_.subject.path));
  if (reference == subject) {  // in two folders, or one file twice
    reference += " (A)";
    subject += " (B)";
  }
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
    out_ += fmt::format(" {}: {}.", html_text(remark.title), grouped(remark.count));
  out_ += "</p>\n";
  for (const std::string& hint : report_.hints)
    out_ += "<p class=\"note\">" + sentence(hint) + "</p>\n";
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
    fact("worst SNR", snr_html(worst), "dB");
    fact("median SNR of those not equal", snr_html(median), "dB");
  }
  out_ += "</dl>\n";
}

void Page::add_sides() {
  out_ +=
      "<h2>What was compared</h2>\n<div class=\"wide\"><table "
      "id=\"sides\">\n<thead><tr><th>side</th>"
      "<th class=\"l\">file</th><th class=\"l\">kind</th><th>weights</th><th>elements</th>"
      "<th>bytes of weights</th><th>bits per weight</th><th>bytes of files</th></tr></thead>\n"
      "<tbody>\n";
  const auto row = [this](std::string_view role, const SideSummary& side) {
    out_ += "<tr>" + cell(role) + cell(code(file_name(side.path)), "class=\"l name\"") +
            cell(html_text(side.kind), "class=\"l\"") + cell(grouped(side.weights)) +
            cell(grouped(side.elements)) + cell(grouped(side.weight_bytes)) +
            cell(bits_of(side.weight_bytes, side.elements)) + cell(grouped(side.file_bytes)) +
            "</tr>\n";
  };
  row("A, the reference", report_.reference);
  row("B", report_.subject);
  out_ += "</tbody></table></div>\n";
}

void Page::add_plot() {
  if (report_.weights.empty()) return;
  out_ += "<h2>Error against size</h2>\n";
  const ReportPlot plot = report_plot(report_.weights);
  if (plot.svg.empty()) {
    out_ += errors_.empty()
                ? "<p class=\"note\">No weight has an error to draw.</p>\n"
                : "<p class=\"note\">No weight has an SNR to draw: each is equal, or its "
                  "SNR is −∞.</p>\n";
    return;
  }
  out_ +=
      "<p class=\"note\">A point is a weight; a larger one has more elements; those that "
      "would hide each other are a little apart. Higher is "
      "better, and further left is smaller.</p>\n<p class=\"note legend\">";
  for (const CodecTotal& total : codecs_)
    out_ += fmt::format("<span>{}{}</span> ", swatch(total.codec), html_text(total.codec));
  out_ += "</p>\n" + plot.svg;
  if (plot.at_the_right != 0)
    out_ += fmt::format("<p class=\"note\">At the right edge: {} of more than {} bits each.</p>\n",
                        counted(plot.at_the_right, "weight"), plot.right);
  if (plot.at_the_top != 0)
    out_ += fmt::format("<p class=\"note\">At the upper edge: {} above {} dB.</p>\n",
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
      "<h2>Bytes by codec</h2>\n<div class=\"wide\"><table "
      "id=\"codecs\">\n<thead><tr><th>codec</th>"
      "<th class=\"l\"></th><th>share</th><th>bytes</th><th>weights</th><th>equal</th>"
      "<th>bits per weight</th><th>worst SNR, dB</th></tr></thead>\n<tbody>\n";
  std::uint64_t all = 0;
  for (const CodecTotal& total : codecs_) all += total.bytes;
  for (const CodecTotal& total : codecs_) {
    const double share =
        all == 0 ? 0 : 100 * static_cast<double>(total.bytes) / static_cast<double>(all);
    out_ += "<tr>" + cell(swatch(total.codec) + codec_code(total.codec)) +
            cell(fmt::format("<div class=\"track\"><div class=\"fill s{}\" "
                             "style=\"width:{:.2f}%\"></div></div>",
                             codec_colour(total.codec), share),
                 "class=\"bar\"") +
            cell(percent(total.bytes, all)) + cell(grouped(total.bytes)) +
            cell(grouped(total.weights)) + cell(grouped(total.equal)) +
            cell(bits_of(total.bytes, total.elements)) +
            cell(total.worst                    ? snr_html(*total.worst)
                 : total.equal == total.weights ? "equal"
                                                : "–") +
            "</tr>\n";
  }
  out_ += "</tbody></table></div>\n";
}

void Page::add_patterns() {
  if (errors_.empty()) return;
  const std::vector<ErrorRow> rows = error_rows(errors_, false);
  out_ +=
      "<h2>By pattern</h2>\n<p class=\"note\">Weights that differ in numbers only share a row, "
      "which has the worst of them in each column. The worst row is the first.</p>\n"
      "<div class=\"wide\"><table id=\"patterns\">\n<thead><tr><th>weights</th><th>count</th>"
      "<th class=\"l\">from</th><th class=\"l\">to</th><th>SNR, dB</th><th>relative error</th>"
      "<th>RMSE</th><th>max abs error</th></tr></thead>\n<tbody>\n";
  for (std::size_t i = 0; i < rows.size() && i < kPatternRows; ++i) {
    const ErrorRow& row = rows[i];
    out_ += "<tr>" + cell(path_code(row.pattern), "class=\"path\"") +
            cell(grouped(row.members.size())) + cell(codec_code(row.cells[0]), "class=\"l\"") +
            cell(swatch(row.cells[1]) + codec_code(row.cells[1]), "class=\"l\"") +
            cell(snr_html(row.figures)) + cell(relative_html(row.figures)) +
            cell(number_html(row.figures.rmse)) + cell(number_html(row.figures.max_abs_error)) +
            "</tr>\n";
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
            cell(codec_code(weight.source), "class=\"l\"") +
            cell(swatch(weight.codec) + codec_code(weight.codec), "class=\"l\"") +
            cell(bits_of(weight.bytes, weight.elements)) + cell(snr_html(figures)) +
            cell(relative_html(figures)) + cell(number_html(figures.rmse)) +
            cell(number_html(figures.mean_abs_error)) + cell(number_html(figures.max_abs_error)) +
            "</tr>\n";
  }
  out_ += "</tbody></table></div>\n" +
          left_out(order.size() - std::min(order.size(), kWorstRows), "weight");
}

void Page::add_remarks() {
  for (const ReportRemark& remark : report_.remarks) {
    out_ += fmt::format("<h2>{}: {}</h2>\n<ul>\n", html_text(remark.title), grouped(remark.count));
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
       "of squared errors, in decibels. 6 dB more halve the error. −∞ where the error is infinite, "
       "as "
       "of a value that became infinite, or where the reference is zero.");
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
