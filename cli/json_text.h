#pragma once

#include <string>

#include "synps/json_writer.h"

namespace synps::cli {

/// `text` as JSON can hold it. File names, and what comes from a file that is wrong, need not be
/// UTF-8: then it is escaped as for display.
std::string utf8(const std::string& text);

/// The text, or null when it is empty.
void string_or_null(JsonWriter& json, const std::string& text);

}  // namespace synps::cli
