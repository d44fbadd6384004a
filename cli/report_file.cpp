#include "report_file.h"

#include <fmt/core.h>

#include <span>

#include "options.h"
#include "signals.h"
#include "synps/error.h"
#include "synps/file.h"

namespace synps::cli {

void add_report_option(CLI::App& command, std::string& path) {
  add_text_option(command, "--report", path, "FILE",
                  "Write the errors as one HTML page, with a plot, for a browser");
}

void check_report(const ReportFile& file) {
  check_side_file(file, "the report is to be the same file as another output");
}

std::string report_text(const ReportFile& file) {
  if (file.path.empty()) return {};
  return fmt::format("\nreport    {}\n", escape_for_display(file.path));
}

void write_report(const ReportFile& file, const ErrorReport& report) {
  if (file.path.empty()) return;
  const std::string page = report_html(report);
  const GracefulStop graceful;  // so that a signal leaves no temporary
  AtomicFile out(Os::posix(), file.path, {file.force, file.inputs});
  out.write(0, std::as_bytes(std::span(page)));
  out.commit();
}

}  // namespace synps::cli
