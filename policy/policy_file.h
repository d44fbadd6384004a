#pragma once

#include <optional>
#include <set>
#include <string>
#include <vector>

#include "policy_sources.h"
#include "problem_list.h"
#include "profile_entries.h"
#include "synps/policy.h"

namespace synps {

/// A policy of one file. `entry.optional` counts only when `optional` has a value.
struct FileEntry {
  PolicyEntry entry;
  std::optional<bool> optional;
};

/// What one file of a policy says.
struct PolicyFile {
  std::vector<FileEntry> entries;
  std::vector<PolicyGroup> groups;
  std::vector<std::string> source_formats;        ///< each once
  std::vector<SourcePlace> source_format_places;  ///< of each
  DeviceEntries devices;
  ProfileEntries profiles;
};

/// What reading a file needs to know besides it.
struct PolicyFileContext {
  std::uint32_t source = 0;  ///< number of the file
  const CodecRegistry* codecs = nullptr;
  /// Devices that the bases of the file declare.
  std::set<std::string, std::less<>> devices;
  /// A package could not be had, so that unknown codecs may be its, and are not reported.
  bool packages_missing = false;
};

/// Reads what check_schema has looked at: everything that it took no exception to, so that the
/// problems of both come together. Places have the file's number.
PolicyFile read_policy_file(const PolicySource& source, const PolicyFileContext& context,
                            ProblemList& problems);

/// The groups of a file, for read_policy_file.
std::vector<PolicyGroup> read_groups(const toml::table& root, const TomlText& lines,
                                     ProblemList& problems);

/// A pattern that stands at `place` as a key or a string. A problem, placed where it is in the
/// pattern, when it is none.
std::optional<PathPattern> read_pattern(std::string_view text, SourcePlace place,
                                        const std::string& field, const TomlText& lines,
                                        ProblemList& problems);

}  // namespace synps
