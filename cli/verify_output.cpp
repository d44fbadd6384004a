#include "verify_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "path_folding.h"
#include "shard_list.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "table.h"
#include "text.h"
#include "weight_report.h"

namespace synps::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// A row of the error table: one weight, or the worst of several.
struct ErrorRow {
  std::string pattern;
  std::string codec;
  std::size_t count = 0;
  double max_abs_error = 0;
  double rmse = 0;
  double snr_db = kInfinity;  ///< -infinity where there is an error but no signal
};

/// NaN, which compares with nothing, counts as the worst error.
double comparable(double error) noexcept {
  return std::isnan(error) ? kInfinity : error;
}

void take_worst(ErrorRow& row, const WeightError& error) {
  ++row.count;
  row.max_abs_error = std::max(row.max_abs_error, comparable(error.max_abs_error));
  row.rmse = std::max(row.rmse, comparable(error.rmse));
  const double without_ratio = error.rmse == 0 ? kInfinity : -kInfinity;
  row.snr_db = std::min(row.snr_db, -comparable(-error.snr_db.value_or(without_ratio)));
}

/// Rows of the weights that are not equal to their source, the worst first.
std::vector<ErrorRow> error_rows(const VerifyReport& report, bool all) {
  std::vector<FoldItem> items;
  std::vector<const WeightError*> errors;
  for (const WeightError& error : report.weights) {
    if (error.exact) continue;
    items.push_back({error.path, error.codec});
    errors.push_back(&error);
  }
  FoldOptions options;
  options.numbers = !all;
  options.names = false;  // siblings differ in what they are, and so in their errors
  std::vector<ErrorRow> rows;
  for (const FoldedRow& folded : fold_paths(items, options)) {
    ErrorRow row;
    const FoldItem& first = items[folded.members.front()];
    row.pattern = all ? first.path : folded.pattern;
    row.codec = short_codec(first.key);
    for (const std::size_t member : folded.members) take_worst(row, *errors[member]);
    rows.push_back(std::move(row));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ErrorRow& a, const ErrorRow& b) {
    return std::pair(a.snr_db, -a.rmse) < std::pair(b.snr_db, -b.rmse);
  });
  return rows;
}

std::string error_table(const std::vector<ErrorRow>& rows, bool all, std::size_t width) {
  using enum Table::Align;
  std::vector<Table::Column> columns{{"WEIGHT", left}};
  if (!all) columns.push_back({"COUNT", right});
  columns.insert(columns.end(),
                 {{"CODEC", left}, {"SNR DB", right}, {"RMSE", right}, {"MAX ABS ERROR", right}});
  Table table(std::move(columns));
  for (const ErrorRow& row : rows) {
    std::vector<std::string> cells{escape_for_display(row.pattern)};
    if (!all) cells.push_back(grouped(row.count));
    cells.insert(cells.end(),
                 {row.codec, std::isinf(row.snr_db) ? "-" : fmt::format("{:.2f}", row.snr_db),
                  brief_number(row.rmse), brief_number(row.max_abs_error)});
    table.add(std::move(cells));
  }
  return table.render(width);
}

/// How many weights of each kind there are, and how many of them are equal to their source.
std::string comparison_text(const VerifyReport& report, const std::string& against) {
  std::uint64_t exact = 0;
  std::uint64_t lossless = 0;
  std::uint64_t lossless_exact = 0;
  for (const WeightError& error : report.weights) {
    exact += error.exact ? 1 : 0;
    lossless += error.lossless ? 1 : 0;
    lossless_exact += error.lossless && error.exact ? 1 : 0;
  }
  std::string out = fmt::format("compared with {}: {}\n", escape_for_display(against),
                                counted(report.weights.size(), "weight"));
  out += fmt::format("  lossless  {}", grouped(lossless));
  if (lossless != 0)
    out += fmt::format(", {} equal bit for bit",
                       lossless == lossless_exact ? "all" : grouped(lossless_exact));
  out += "\n";
  const std::uint64_t lossy = report.weights.size() - lossless;
  out += fmt::format("  lossy     {}", grouped(lossy));
  if (exact != lossless_exact)
    out += fmt::format(", {} equal bit for bit all the same", grouped(exact - lossless_exact));
  return out + "\n";
}

}  // namespace

std::string verify_text(const VerifyReport& report, const std::string& artifact,
                        const std::string& against, bool all, std::size_t width) {
  std::string out = escape_for_display(artifact);
  if (report.ok())
    out +=
        fmt::format(": ok, {} {}\n", exact_bytes(report.bytes),
                    report.has_checksums ? "checked" : "of sound structure; GGUF has no checksums");
  else
    out += fmt::format(": not ok, {}\n", counted(report.problems.size(), "problem"));
  if (report.has_checksums) out += part_text(artifact, 7);
  if (against.empty() || report.weights.empty()) return out;
  out += comparison_text(report, against);
  const std::vector<ErrorRow> rows = error_rows(report, all);
  if (rows.empty()) return out;
  out += all ? "\n" : "\nThe worst weight of each row, worst row first:\n";
  return out + error_table(rows, all, width);
}

std::string place_of(const Problem& problem) {
  std::string place = problem.field;
  if (problem.offset) {
    if (!place.empty()) place += ", ";
    place += fmt::format("offset {}", *problem.offset);
  }
  return place.empty() ? problem.file : place;
}

std::string verify_json(const VerifyReport& report) {
  JsonWriter json;
  json.begin_object().key("ok").boolean(report.ok());
  json.key("bytes").integer(report.bytes);
  json.key("checksums").boolean(report.has_checksums);
  json.key("problems").begin_array();
  for (const Problem& problem : report.problems) {
    json.begin_object().key("where").string(escape_for_display(place_of(problem)));
    json.key("what").string(to_string(problem)).end_object();
  }
  json.end_array().key("weights").begin_array();
  for (const WeightError& error : report.weights) {
    json.begin_object().key("path").string(error.path);
    json.key("codec").string(error.codec);
    json.key("lossless").boolean(error.lossless);
    json.key("exact").boolean(error.exact);
    json.key("decoded").boolean(error.compared);
    json.key("max_abs_error").number(error.max_abs_error);
    json.key("rmse").number(error.rmse);
    json.key("snr_db");
    error.snr_db ? json.number(*error.snr_db) : json.null();
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
