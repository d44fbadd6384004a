#pragma once

#include <cstddef>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "profile_entries.h"
#include "synps/policy.h"

namespace synps {

/// A valid synps.toml, read, with the files it extends.
struct PolicyDocument {
  std::vector<std::string> files;                 ///< as in Policy::files()
  std::vector<PolicyEntry> entries;               ///< by place
  std::vector<PolicyGroup> groups;                ///< by place
  std::vector<PolicyPackage> packages;            ///< by name
  std::vector<std::string> source_formats;        ///< [myelin].formats, each once
  std::vector<SourcePlace> source_format_places;  ///< of each
  DeviceEntries devices;                          ///< declared ones
  ProfileEntries profile_entries;                 ///< own ones
  std::vector<PolicyProfile> profiles;            ///< by name, with what they extend
  /// Source encodings that the files name: those of [myelin].formats, of every scheme's and
  /// fallback's codec, and f32.
  std::set<std::string, std::less<>> declared;
  std::shared_ptr<const CodecRegistry> codecs;  ///< those of packages included
};

/// Policies of one file and its bases. A checkpoint with a policy for each layer and projection has
/// some hundreds.
inline constexpr std::size_t kMaxPolicies = 10'000;
inline constexpr std::size_t kMaxGroups = 1'000;
inline constexpr std::size_t kMaxPackages = 1'000;
inline constexpr std::size_t kMaxProfiles = 1'000;

/// "line 12", or, where there are several files, "line 12 of base.toml". Escaped for display.
std::string line_text(const PolicyDocument& document, const SourcePlace& place);

/// What parsing came to: a document when there is no problem.
struct ParsedPolicy {
  PolicyDocument document;  ///< when there are problems, what could be read all the same
  std::vector<Problem> problems;
};

/// Throws Error only for what leaves nothing to read: a file that is no TOML, or beyond a limit.
ParsedPolicy parse_policy(std::string text, const std::string& file, const CodecRegistry& codecs,
                          const PolicyOptions& options);

}  // namespace synps
