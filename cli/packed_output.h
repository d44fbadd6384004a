#pragma once

#include <cstddef>
#include <string>

#include "synps/pack.h"
#include "weight_report.h"

namespace synps::cli {

/// What a command that wrote an artifact, or a GGUF file, says of it. `heading` is its first line;
/// with `all` every shard is listed.
std::string packed_text(const std::string& heading, const WeightReport& report,
                        const PackReport& packed, bool all, std::size_t width);
std::string packed_json(const WeightReport& report, const PackReport& packed);

}  // namespace synps::cli
