#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explanation.h"
#include "why_not.h"
#include "why_not_paste.h"

namespace synps::cli {

/// A policy with what is to be added.
struct Trial {
  std::optional<Policy> policy;   ///< none when it could not be tried
  std::string fault;              ///< why not
  bool fits_at_end = true;        ///< the file takes more policies at its end
  std::vector<Problem> problems;  ///< that the policy does not have now; places in the addition are
                                  ///< left out, for nobody has seen it
};

/// Reads the policy's file again as it would be with `declaration` and the paste. Without a
/// checkpoint only what is wrong with the file itself is a problem. Throws Error(io).
Trial try_paste(const std::string& declaration, const Paste& paste, const Policy& policy,
                const std::vector<WeightFacts>* weights, const PolicyInput& input);

/// What is wrong with the policy's file when `toml` is written at its end; "" for nothing. Throws
/// Error(io) when it can no longer be read.
std::string fault_of_appending(const std::string& toml, const Policy& policy,
                               const PolicyInput& input);

/// Whether a value is stored in a format, as the explanation has it.
bool is_stored_as(const Explanation& explanation, const std::string& format);

}  // namespace synps::cli
