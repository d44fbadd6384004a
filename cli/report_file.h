#pragma once

#include <string>
#include <vector>

#include "report.h"
#include "side_file.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// The file that `--report FILE` names.
using ReportFile = SideFile;

void add_report_option(CLI::App& command, std::string& path);

/// Whether the report can be written; before work begins. Throws Error(output), Error(io).
void check_report(const ReportFile& file);
/// What commands print of a page that was written; "" without a path.
std::string report_text(const ReportFile& file);
/// Writes the page, whole or not at all; nothing without a path. Throws as check_report().
void write_report(const ReportFile& file, const ErrorReport& report);

}  // namespace synps::cli
