#pragma once

#include <cstdint>
#include <vector>

#include "json_document.h"
#include "synps/safetensors.h"

namespace synps {

/// An entry and where the header says so.
struct PlacedEntry {
  SafetensorsEntry entry;
  const char* name_at = nullptr;
  const char* offsets_at = nullptr;
};

/// Checks that names differ, that sizes are what shapes and dtypes imply, and that the entries
/// cover the data section, `data_bytes` long, without hole or overlap. Sorts them by begin, end and
/// name. Throws through `json`.
void check_entries(const JsonDocument& json, std::vector<PlacedEntry>& entries,
                   std::uint64_t data_bytes);

}  // namespace synps
