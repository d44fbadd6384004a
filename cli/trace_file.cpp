#include "trace_file.h"

#include "options.h"

namespace synps::cli {
void add_trace_option(CLI::App& command, std::string& path) {
  add_text_option(command, "--trace", path, "FILE",
                  "Write what each conversion took, for a browser's trace viewer or Perfetto");
}

void check_trace(const TraceFile& trace) {
  check_side_file(trace, "the trace is to be the same file as the output");
}

std::unique_ptr<ChromeTraceSink> open_trace(const TraceFile& trace) {
  if (trace.path.empty()) return nullptr;
  check_trace(trace);
  return std::make_unique<ChromeTraceSink>(trace.path, trace.force, trace.inputs);
}

}  // namespace synps::cli
