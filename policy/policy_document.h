#pragma once

#include <cstddef>
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

/// Policies of one file. A checkpoint with a policy for each layer and projection has some
/// hundreds.
inline constexpr std::size_t kMaxPolicies = 10'000;

/// Throws Error with every problem of the file; Error(limit) for more policies than kMaxPolicies.
PolicyDocument parse_policy(std::string_view text, const std::string& file,
                            const CodecRegistry& codecs);

}  // namespace synps
