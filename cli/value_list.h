#pragma once

#include <string>
#include <vector>

#include "synps/artifact_index.h"
#include "synps/json_writer.h"

namespace synps::cli {

// Schemes for values that are not weights, which an artifact carries for whoever allocates them, in
// the order in which they decide.

/// For people, with a heading; "" when there are none.
std::string values_text(const std::vector<ValueScheme>& values);

/// For programs: an array.
void write_values(JsonWriter& json, const std::vector<ValueScheme>& values);

}  // namespace synps::cli
