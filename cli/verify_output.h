#pragma once

#include <cstddef>
#include <map>
#include <string>

#include "synps/verify.h"

namespace synps::cli {

struct VerifyOutcome {
  VerifyReport report;
  std::map<std::string, std::string> codecs;  ///< of the compared weights, by path
};

/// What `verify` prints: docs/cli.md, "verify". `against` is empty when nothing was compared.
std::string verify_text(const VerifyOutcome& outcome, const std::string& artifact,
                        const std::string& against, bool all, std::size_t width);
std::string verify_json(const VerifyOutcome& outcome);

/// Where a problem is, in words: field, offset, file.
std::string place_of(const Problem& problem);

}  // namespace synps::cli
