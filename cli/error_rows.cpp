#include "error_rows.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <optional>
#include <utility>

#include "path_folding.h"
#include "synps/error.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

/// NaN, which compares with nothing, counts as the worst error.
double comparable(double error) noexcept {
  return std::isnan(error) ? kInfinity : error;
}

/// Infinity without an error, -infinity for an error without a ratio.
double ratio_of(const ErrorFigures& figures) noexcept {
  const double without = is_error(figures) ? -kInfinity : kInfinity;
  return -comparable(-figures.snr_db.value_or(without));
}

void take_worst(ErrorFigures& row, const ErrorFigures& each) {
  const double ratio = std::min(ratio_of(row), ratio_of(each));
  row.elements += each.elements;
  row.max_abs_error = std::max(row.max_abs_error, comparable(each.max_abs_error));
  row.mean_abs_error = std::max(row.mean_abs_error, comparable(each.mean_abs_error));
  row.rmse = std::max(row.rmse, comparable(each.rmse));
  row.relative_error = row.relative_error && each.relative_error
                           ? std::optional(std::max(*row.relative_error, *each.relative_error))
                           : std::nullopt;
  row.snr_db = std::isinf(ratio) ? std::nullopt : std::optional(ratio);
}

std::string relative_text(const ErrorFigures& figures) {
  return figures.relative_error ? brief_number(*figures.relative_error) : "inf";
}

ErrorRow row_of(const std::vector<ErrorItem>& items, std::string pattern,
                std::vector<std::size_t> members) {
  ErrorRow row;
  row.pattern = std::move(pattern);
  row.cells = items[members.front()].cells;
  row.figures = no_error(0);
  for (const std::size_t member : members) take_worst(row.figures, items[member].figures);
  row.members = std::move(members);
  return row;
}

}  // namespace

bool is_error(const ErrorFigures& figures) noexcept {
  return figures.max_abs_error != 0;
}

bool worse(const ErrorFigures& a, const ErrorFigures& b) noexcept {
  return std::pair(ratio_of(a), -comparable(a.rmse)) < std::pair(ratio_of(b), -comparable(b.rmse));
}

std::vector<std::size_t> worst_first(const std::vector<ErrorItem>& items) {
  std::vector<std::size_t> order(items.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) {
    return worse(items[a].figures, items[b].figures);
  });
  return order;
}

std::vector<ErrorRow> error_rows(const std::vector<ErrorItem>& items, bool all) {
  std::vector<FoldItem> to_fold;
  to_fold.reserve(items.size());
  for (const ErrorItem& item : items) {
    std::string key;
    for (const std::string& cell : item.cells) key += cell + '\n';
    to_fold.push_back({item.path, std::move(key)});
  }
  FoldOptions options;
  options.numbers = !all;
  options.names = false;  // siblings differ in what they are, and so in their errors
  std::vector<ErrorRow> rows;
  for (FoldedRow& folded : fold_paths(to_fold, options)) {
    const std::string& first = items[folded.members.front()].path;
    std::string pattern = all ? first : std::move(folded.pattern);
    rows.push_back(row_of(items, std::move(pattern), std::move(folded.members)));
  }
  std::stable_sort(rows.begin(), rows.end(), [](const ErrorRow& a, const ErrorRow& b) {
    return worse(a.figures, b.figures);
  });
  return rows;
}

std::string error_table(const std::vector<ErrorRow>& rows, const std::vector<std::string>& titles,
                        bool all, std::size_t width) {
  using enum Table::Align;
  std::vector<Table::Column> columns{{"WEIGHT", left}};
  if (!all) columns.push_back({"COUNT", right});
  for (const std::string& title : titles) columns.push_back({title, left});
  columns.insert(columns.end(),
                 {{"SNR DB", right}, {"RELATIVE", right}, {"MEAN ABS", right}, {"MAX ABS", right}});
  Table table(std::move(columns));
  for (const ErrorRow& row : rows) {
    std::vector<std::string> cells{escape_for_display(row.pattern)};
    if (!all) cells.push_back(grouped(row.members.size()));
    cells.insert(cells.end(), row.cells.begin(), row.cells.end());
    cells.insert(cells.end(), {snr_text(row.figures), relative_text(row.figures),
                               brief_number(row.figures.mean_abs_error),
                               brief_number(row.figures.max_abs_error)});
    table.add(std::move(cells));
  }
  return table.render(width);
}

std::string snr_text(const ErrorFigures& figures) {
  if (figures.snr_db) return fmt::format("{:.2f}", *figures.snr_db);
  return is_error(figures) ? "-inf" : "equal";
}

void write_figures(JsonWriter& json, const ErrorFigures* figures) {
  const auto number = [&json, figures](const char* key, double ErrorFigures::*member) {
    json.key(key);
    figures != nullptr ? json.number(figures->*member) : json.null();
  };
  const auto ratio = [&json, figures](const char* key,
                                      std::optional<double> ErrorFigures::*member) {
    json.key(key);
    figures != nullptr&& figures->*member ? json.number(*(figures->*member)) : json.null();
  };
  json.key("elements");
  figures != nullptr ? json.integer(figures->elements) : json.null();
  number("max_abs_error", &ErrorFigures::max_abs_error);
  number("mean_abs_error", &ErrorFigures::mean_abs_error);
  number("rmse", &ErrorFigures::rmse);
  ratio("relative_error", &ErrorFigures::relative_error);
  ratio("snr_db", &ErrorFigures::snr_db);
}

}  // namespace synps::cli
