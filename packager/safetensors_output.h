#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "synps/safetensors.h"

namespace synps {

/// The layout of a plain safetensors file. Entries are in data order, and name their places.
struct SafetensorsLayout {
  std::string header;              ///< length field and JSON, padded with spaces to 8 bytes
  std::vector<std::size_t> order;  ///< entries as they are stored, as indices into what was given
  std::uint64_t file_bytes = 0;
};

/// Gives every entry its place, by falling element size, then by the bytes of its name, so that all
/// are aligned, and renders the header. Throws Error(limit), naming `file`, when the header is
/// longer than the format allows or the sizes do not fit 63 bits.
SafetensorsLayout lay_out_safetensors(std::vector<SafetensorsEntry>& entries,
                                      const std::map<std::string, std::string>& metadata,
                                      const std::string& file);

}  // namespace synps
