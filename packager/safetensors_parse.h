#pragma once

#include <simdjson.h>

#include <cstdint>
#include <string>

#include "synps/safetensors.h"

namespace synps {

/// parse_safetensors_header() for text that is padded already.
SafetensorsHeader parse_safetensors_header(simdjson::padded_string json, std::uint64_t data_bytes,
                                           const std::string& file);

}  // namespace synps
