#pragma once

#include <string>
#include <vector>

#include "explanation.h"
#include "why_not.h"

namespace synps::cli {

/// Schemes to add to a policy file.
struct Paste {
  std::string toml;                   ///< whole lines
  std::vector<SourcePlace> replaces;  ///< schemes that have to go first, each once, by place
};

/// Adds a scheme that decides `format` for the value alone, and changes nothing else about it.
void add_scheme(const Policy& policy, const Value& value, const WeightResolution& resolution,
                const std::string& format, Paste& paste);

/// What the policy would be with more text.
struct Trial {
  std::string file;               ///< as problems of the text name it; there is none
  bool reached = false;           ///< the value is stored in the format
  std::vector<Problem> problems;  ///< that the policy does not have now
};

/// Asks a policy that extends the explanation's by `toml`, where schemes of the same pattern and
/// claim replace its own; `checkpoint` may be null. Throws Error(io).
Trial try_with(const std::string& toml, const Explanation& explanation, const std::string& format,
               const Checkpoint* checkpoint, const PolicyInput& input);

/// What is wrong with the policy's file when `toml` is written at its end; "" for nothing. Throws
/// Error(io) when it can no longer be read.
std::string fault_of_appending(const std::string& toml, const Policy& policy,
                               const PolicyInput& input);

/// Whether a value is stored in a format, as the explanation has it.
bool is_stored_as(const Explanation& explanation, const std::string& format);

}  // namespace synps::cli
