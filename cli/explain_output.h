#pragma once

#include <cstddef>
#include <string>

#include "explanation.h"
#include "why_not.h"

namespace synps::cli {

/// What `explain` prints: docs/cli.md, "explain". `why_not` may be null; with it, people get the
/// answer to that question alone.
std::string explain_text(const Explanation& explanation, const WhyNot* why_not, std::size_t width);
std::string explain_json(const Explanation& explanation, const WhyNot* why_not);

}  // namespace synps::cli
