#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "synps/error.h"

namespace synps {

/// The fault of a file of another format version than kArtifactVersion. `found` is the text that it
/// has for one, if any; `field` is where that stands.
Problem version_problem(const std::string& file, std::string field,
                        std::optional<std::string_view> found);

}  // namespace synps
