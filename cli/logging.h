#pragma once

namespace synps::cli {

/// Logs go to standard error as `synps: LEVEL: TEXT`: warnings, with `verbose` also what is being
/// done, with `quiet` nothing.
void set_up_logging(bool verbose, bool quiet);

}  // namespace synps::cli
