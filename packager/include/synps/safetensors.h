#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "synps/file.h"
#include "synps/weight.h"

namespace synps {

/// One entry of a safetensors header. `begin` and `end` are bytes from the start of the data
/// section.
struct SafetensorsEntry {
  std::string name;
  DType dtype = DType::f32;
  Shape shape;
  std::uint64_t begin = 0;
  std::uint64_t end = 0;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> entries;        ///< by begin, then end, then name
  std::map<std::string, std::string> metadata;  ///< `__metadata__`; empty when there is none
  std::uint64_t data_start = 0;                 ///< bytes: length field and header
};

/// Reads and validates a whole header in one pass over it: structure, types, names, dtypes, shape
/// products, sizes, and that the entries cover the data section without hole or overlap. Throws
/// Error(checkpoint) naming file, tensor and field, or offset.
SafetensorsHeader read_safetensors_header(const InputFile& file);

/// The same for a header in memory: `json` is the header without its length field, `data_bytes`
/// the size of what follows it.
SafetensorsHeader parse_safetensors_header(std::string_view json, std::uint64_t data_bytes,
                                           const std::string& file);

}  // namespace synps
