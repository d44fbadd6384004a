#pragma once

#include <memory>
#include <string>
#include <vector>

#include "synps/os.h"
#include "synps/trace.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// The file that `--trace FILE` names.
struct TraceFile {
  std::string path{};  ///< "" for none
  bool force = false;
  std::vector<FileIdentity> inputs{};  ///< which it must not replace
  std::vector<std::string> outputs{};  ///< files that are written beside it
};

/// Whether two paths are the same name in the same folder, whether or not there is such a file.
bool same_file_name(const std::string& a, const std::string& b);

void add_trace_option(CLI::App& command, std::string& path);

/// Whether the trace can be written. Throws Error(output) when it cannot; Error(io).
void check_trace(const TraceFile& trace);
/// The sink; null without a path. Throws as check_trace().
std::unique_ptr<ChromeTraceSink> open_trace(const TraceFile& trace);

}  // namespace synps::cli
