#pragma once

#include <set>
#include <string>
#include <vector>

#include "synps/policy.h"

namespace synps {

/// A valid synps.toml, read.
struct PolicyDocument {
  std::string file;
  std::vector<PolicyEntry> entries;         ///< in file order
  std::vector<std::string> source_formats;  ///< [myelin].formats, each once
  /// Source encodings that the file names: those of [myelin].formats, of every scheme's and
  /// fallback's codec, and f32.
  std::set<std::string, std::less<>> declared;
};

/// Throws Error with every problem of the file.
PolicyDocument parse_policy(std::string_view text, const std::string& file,
                            const CodecRegistry& codecs);

}  // namespace synps
