#pragma once

#include <string>

#include "synps/checkpoint.h"
#include "synps/json_writer.h"

namespace synps::cli {

/// A GGUF checkpoint's key-values, a line each, long arrays and texts cut; "" for other
/// checkpoints. `to_gguf`: they become key-values again, and not what an artifact makes of them.
std::string key_values_text(const Checkpoint& checkpoint, bool to_gguf = false);

/// The same as a JSON array, with more of long arrays.
void write_key_values(JsonWriter& json, const Checkpoint& checkpoint, bool to_gguf = false);

}  // namespace synps::cli
