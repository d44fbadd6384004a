#pragma once

namespace synps::cli {

/// Parses the command line and runs the command on it. Returns the exit code; throws what the
/// command throws, and Error(usage) for a command line that makes no sense.
int run_program(int argc, const char* const* argv);

}  // namespace synps::cli
