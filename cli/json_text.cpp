#include "json_text.h"

#include "synps/error.h"

namespace synps::cli {

std::string utf8(const std::string& text) {
  return is_utf8(text) ? text : escape_for_display(text);
}

void string_or_null(JsonWriter& json, const std::string& text) {
  text.empty() ? json.null() : json.string(utf8(text));
}

}  // namespace synps::cli
