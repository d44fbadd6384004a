#pragma once

#include <cstddef>
#include <string>

#include "synps/verify.h"

namespace synps::cli {

/// What `verify` prints: docs/cli.md, "verify". `against` is empty when nothing was compared.
std::string verify_text(const VerifyReport& report, const std::string& artifact,
                        const std::string& against, bool all, std::size_t width);
std::string verify_json(const VerifyReport& report);

/// Where a problem is, in words: field, offset, file.
std::string place_of(const Problem& problem);

}  // namespace synps::cli
