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
  std::string paste;    ///< TOML that changes it; "" when nothing can, or nothing more
  std::vector<SourcePlace> replaces;  ///< schemes whose place the paste takes; empty: add it
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
