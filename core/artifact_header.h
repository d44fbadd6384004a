#pragma once

#include <cstdint>
#include <map>
#include <string>

#include "synps/file.h"

namespace synps {

/// The start of an artifact's header: what is needed to find the index.
struct HeaderPrefix {
  std::uint64_t bytes = 0;                      ///< of the whole header, length field included
  std::map<std::string, std::string> metadata;  ///< `__metadata__`
  std::uint64_t index_bytes = 0;                ///< size of `__synps__`, which starts the data
  std::uint64_t sums_bytes = 0;                 ///< size of `__synps_sums__`, which follows
};

/// Throws Error(artifact) when the header is not an artifact's, or of another version.
HeaderPrefix read_header_prefix(const InputFile& file);

/// Whether the file has a safetensors header whose metadata names synps, of whatever version.
/// Throws Error(io).
bool has_artifact_metadata(const InputFile& file);

}  // namespace synps
