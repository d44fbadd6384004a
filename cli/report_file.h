#pragma once

#include <string>
#include <vector>

#include "report.h"
#include "synps/os.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// The file that `--report FILE` names.
struct ReportFile {
  std::string path{};                  ///< "" for none
  bool force = false;                  ///< an existing file may be replaced
  std::vector<FileIdentity> inputs{};  ///< which it must not replace
  std::vector<std::string> outputs{};  ///< files that are written beside it
};

void add_report_option(CLI::App& command, std::string& path);

/// Whether the report can be written; before work begins. Throws Error(output), Error(io).
void check_report(const ReportFile& file);
/// What commands print of a page that was written; "" without a path.
std::string report_text(const ReportFile& file);
/// Writes the page, whole or not at all; nothing without a path. Throws as check_report().
void write_report(const ReportFile& file, const ErrorReport& report);

}  // namespace synps::cli
