#pragma once

#include <vector>

#include "packing.h"
#include "synps/error.h"

namespace synps::cli {

/// Whether the page that `--report` asks for can be written; before work begins. Throws
/// Error(output), Error(io).
void check_packing_report(const Packing& packing, const Plan& plan);

/// Compares what was written with its source, and says so on the page: as `verify --against` does
/// with a checkpoint, as `diff` with an artifact. Returns what is wrong with what was written.
std::vector<Problem> report_packing(const Packing& packing, const Plan& plan, bool quiet);

}  // namespace synps::cli
