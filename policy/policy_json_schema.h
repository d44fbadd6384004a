#pragma once

#include <span>
#include <string>

#include "policy_schema.h"

namespace synps {

/// The JSON Schema of the language that `keys` describe, as policy_json_schema() gives it. Keys and
/// values that are not yet available are left out, and so refused.
std::string json_schema_of(std::span<const KeySpec> keys);

}  // namespace synps
