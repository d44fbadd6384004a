#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "diff_side.h"
#include "error_rows.h"
#include "synps/diff.h"

namespace synps::cli {

/// What `diff` prints.
struct DiffOutput {
  SideSummary a;
  SideSummary b;
  const DiffReport* report = nullptr;
  bool forms = false;  ///< forms are compared, too
  bool all = false;    ///< every weight on its own row

  bool equal() const;  ///< in value, and in form where these are compared
};

std::string diff_text(const DiffOutput& output, std::size_t width);
std::string diff_json(const DiffOutput& output);

/// The weights whose values differ and have figures, for tables of errors: encodings are the cells.
std::vector<ErrorItem> value_items(const DiffReport& report);

/// Why no path is in both, a line each; none where one is, or one side has no weight.
std::vector<std::string> why_nothing_pairs(const DiffReport& report, const SideSummary& a,
                                           const SideSummary& b);

}  // namespace synps::cli
