#include "value_list.h"

#include <fmt/core.h>

#include "synps/error.h"
#include "weight_report.h"

namespace synps::cli {

std::string values_text(const std::vector<ValueScheme>& values) {
  if (values.empty()) return {};
  std::string out = "\nSchemes for values that are not weights:\n";
  for (const ValueScheme& value : values)
    out += fmt::format("  {}: {}, scope {}, lifetime {}, update {}\n",
                       escape_for_display(value.pattern), short_codec(value.scheme.format),
                       to_string(value.scheme.scope), to_string(value.scheme.lifetime),
                       to_string(value.scheme.update));
  return out;
}

void write_values(JsonWriter& json, const std::vector<ValueScheme>& values) {
  json.begin_array();
  for (const ValueScheme& value : values) {
    json.begin_object().key("pattern").string(value.pattern);
    json.key("scope").string(to_string(value.scheme.scope));
    json.key("lifetime").string(to_string(value.scheme.lifetime));
    json.key("update").string(to_string(value.scheme.update));
    json.key("format").string(value.scheme.format).end_object();
  }
  json.end_array();
}

}  // namespace synps::cli
