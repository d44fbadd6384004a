#include "compare_options.h"

#include "inputs.h"
#include "options.h"
#include "report_file.h"

namespace synps::cli {

void add_compare_options(CLI::App& command, CompareOptions& options) {
  add_report_option(command, options.report);
  add_flag(command, "-f,--force", options.force, "Replace a report that exists");
  add_package_option(command, options.packages);
  add_jobs_option(command, options.jobs);
  add_max_memory_option(command, options.max_memory);
  add_all_option(command, options.all);
  add_json_option(command, options.json);
}

}  // namespace synps::cli
