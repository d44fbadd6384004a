#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "synps/error_figures.h"
#include "synps/json_writer.h"

namespace synps::cli {

/// A weight of an error table.
struct ErrorItem {
  std::string path;
  /// What it is stored in, a column each. Weights share a row when these are equal.
  std::vector<std::string> cells;
  ErrorFigures figures;
};

/// A row of the table: one weight, or the worst of several in each figure.
struct ErrorRow {
  std::string pattern;
  std::vector<std::string> cells;
  std::vector<std::size_t> members;  ///< indices into the items
  ErrorFigures figures;              ///< elements are those of all members
};

/// Whether any value is off.
bool is_error(const ErrorFigures& figures) noexcept;

/// Whether `a` is the worse error: the lower signal-to-noise ratio, then the larger RMSE. Errors
/// without a ratio are the worst, and no error is the best.
bool worse(const ErrorFigures& a, const ErrorFigures& b) noexcept;

/// Indices of the items, the worst first; equal ones in their order.
std::vector<std::size_t> worst_first(const std::vector<ErrorItem>& items);

/// The items folded by their numbers, or, with `all`, each by itself; the worst row first.
std::vector<ErrorRow> error_rows(const std::vector<ErrorItem>& items, bool all);

/// `titles` are of the rows' cells.
std::string error_table(const std::vector<ErrorRow>& rows, const std::vector<std::string>& titles,
                        bool all, std::size_t width);

/// The signal-to-noise ratio in decibels: "equal" without an error, and "-inf" where the error is
/// infinite, or the reference zero.
std::string snr_text(const ErrorFigures& figures);

/// Keys of figures, within an object; all null where `figures` is null.
void write_figures(JsonWriter& json, const ErrorFigures* figures);

}  // namespace synps::cli
