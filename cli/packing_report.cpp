#include "packing_report.h"

#include <string>
#include <utility>

#include "progress_bar.h"
#include "report_file.h"
#include "standard_streams.h"
#include "synps/diff.h"
#include "synps/verify.h"

namespace synps::cli {
namespace {

ReportFile report_file(const Packing& packing, const Plan& plan) {
  const PackingOptions& options = packing.options;
  ReportFile file{options.report, options.force, packing_inputs(packing), {}};
  file.outputs = output_files(plan, options.output);
  if (!options.trace.empty()) file.outputs.push_back(options.trace);
  return file;
}

/// Of VerifyOptions or DiffOptions, what both have.
template <typename How>
How how_to_compare(const PackingOptions& options, ProgressBar& bar) {
  How how;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  return how;
}

}  // namespace

void check_packing_report(const Packing& packing, const Plan& plan) {
  if (!packing.options.report.empty()) check_report(report_file(packing, plan));
}

std::vector<Problem> report_packing(const Packing& packing, const Plan& plan, bool quiet) {
  const PackingOptions& options = packing.options;
  if (options.report.empty()) return {};
  const ReportFile file = report_file(packing, plan);
  const std::string written = output_files(plan, options.output).back();
  ProgressBar bar("comparing", quiet);
  if (packing.source.artifact() != nullptr) {
    const Checkpoint output = Checkpoint::open_artifact(written, packing.codecs);
    const DiffReport report =
        diff(packing.source, output, packing.codecs, how_to_compare<DiffOptions>(options, bar));
    ErrorReport errors = report_of(report, packing.source, output);
    errors.subject.path = options.output;
    write_report(file, errors);
    if (!options.json) write_output(report_text(file));
    return {};
  }
  auto how = how_to_compare<VerifyOptions>(options, bar);
  how.against = &packing.source;
  const VerifyReport report = verify(written, packing.codecs, how);
  write_report(file, report_of(report, options.output, packing.source));
  if (!options.json) write_output(report_text(file));
  return report.problems;
}

}  // namespace synps::cli
