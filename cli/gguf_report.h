#pragma once

#include <string>

#include "synps/json_writer.h"
#include "weight_report.h"

namespace synps::cli {

/// What a GGUF output says otherwise than its source, and what of the policies it has no place for:
/// a line each, for people; "" for an artifact.
std::string gguf_text(const WeightReport& report);

/// The same as a JSON object, of a report that has a GGUF output.
void write_gguf(JsonWriter& json, const WeightReport& report);

}  // namespace synps::cli
