#pragma once

#include <string>
#include <vector>

#include "explanation.h"

namespace synps::cli {

/// What keeps a value from being stored in a format.
struct WhyNot {
  std::string format;                ///< `package:export`, or "keep"
  bool already = false;              ///< nothing does
  std::vector<std::string> reasons;  ///< sentences, not escaped; empty when `already`
  std::string declare;  ///< a source encoding that the file's [myelin] has to name first
  std::string paste;    ///< TOML that changes it; "" for nothing, or nothing more
  std::vector<SourcePlace> replaces;  ///< schemes whose place the paste takes; empty: add it
  /// Whether what is proposed has been tried, and makes it so.
  bool tried = false;
  /// The end of the file takes more policies. Where it does not, and the paste has been tried, that
  /// was in a file of its own that extends the policy's.
  bool fits_at_end = true;
  std::vector<std::string> also_changes;  ///< other weights that get another scheme by the paste
  bool possible = true;                   ///< false: no scheme there could be changes it
};

/// What a policy was read from, so that it can be read again with more text.
struct PolicyInput {
  const CodecRegistry* codecs = nullptr;
  PolicyOptions options;
};

/// `format` as a policy would name it. `checkpoint` is what the explanation was made with, or null.
/// Throws Error(usage) for a format that there is not.
WhyNot why_not(const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input);

}  // namespace synps::cli
