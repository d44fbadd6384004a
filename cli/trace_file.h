#pragma once

#include <memory>
#include <string>
#include <vector>

#include "side_file.h"
#include "synps/trace.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// The file that `--trace FILE` names.
using TraceFile = SideFile;

void add_trace_option(CLI::App& command, std::string& path);

/// Whether the trace can be written. Throws Error(output) when it cannot; Error(io).
void check_trace(const TraceFile& trace);
/// The sink; null without a path. Throws as check_trace().
std::unique_ptr<ChromeTraceSink> open_trace(const TraceFile& trace);

}  // namespace synps::cli
