#pragma once

#include <string>
#include <vector>

#include "synps/diff.h"

namespace synps::cli {

/// What two sources say otherwise of how a weight is stored.
struct FormDifference {
  std::string field;  ///< "encoding", "order", …
  std::string a;
  std::string b;
};

/// Of a path that both have. Of two artifacts all of the form; else the encoding alone, which is
/// all that a checkpoint has.
std::vector<FormDifference> form_differences(const WeightDiff& weight);

/// Whether all weights that both have are stored in the same form.
bool same_forms(const DiffReport& report);

/// For people: rows of weights with the same difference. "" where there is none.
std::string forms_text(const DiffReport& report, bool all, std::size_t width);

}  // namespace synps::cli
