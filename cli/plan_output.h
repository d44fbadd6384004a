#pragma once

#include <cstddef>
#include <string>

#include "weight_report.h"

namespace synps::cli {

/// What `plan` prints, and `pack --dry-run`: docs/cli.md, "plan".
std::string plan_text(const WeightReport& report, const std::string& input, bool all,
                      std::size_t width);
std::string plan_json(const WeightReport& report);

/// The lines about sizes that plan and pack share.
std::string sizes_text(const WeightReport& report);

}  // namespace synps::cli
