#include "packing.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <utility>

#include "device_profiles.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "packing_report.h"
#include "plan_output.h"
#include "profile_options.h"
#include "progress_bar.h"
#include "report_file.h"
#include "shard_list.h"
#include "standard_streams.h"
#include "synps/memory_plan.h"
#include "text.h"
#include "trace_file.h"

namespace synps::cli {
namespace {

/// Inputs besides the source, which the output must not replace.
std::vector<FileIdentity> protected_files(const Packing& packing) {
  std::vector<FileIdentity> files = package_files(packing.codecs);
  if (packing.policy == nullptr) return files;
  for (const std::string& file : packing.policy->files()) files.push_back(identity_of(file));
  for (const PolicyPackage& package :
       packing.policy->packages()) {  // also those that the command line hides
    FileStatus status;
    if (Os::posix().status(package.path, true, status) == 0) files.push_back(status.identity);
  }
  return files;
}

PackOptions pack_options(const Packing& packing) {
  const PackingOptions& options = packing.options;
  PackOptions how;
  how.replace = options.force;
  how.allow_overflow = options.allow_overflow;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.protected_files = protected_files(packing);
  return how;
}

void log_earlier_files(const std::vector<std::string>& earlier) {
  for (const std::string& file : earlier)
    spdlog::warn("{}: left from another artifact of this name", escape_for_display(file));
}

TraceFile trace_file(const Packing& packing, const Plan& plan) {
  TraceFile trace{packing.options.trace, packing.options.force, packing_inputs(packing)};
  trace.outputs = output_files(plan, packing.options.output);
  return trace;
}

PackReport pack_with_progress(const Packing& packing, const Plan& plan, bool quiet) {
  const std::unique_ptr<ChromeTraceSink> trace = open_trace(trace_file(packing, plan));
  const GracefulStop graceful;
  ProgressBar bar(packing.doing, quiet);
  PackOptions how = pack_options(packing);
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  how.trace = trace.get();
  PackReport report = pack(packing.source, plan, packing.options.output, how);
  if (trace != nullptr) trace->close();
  return report;
}

/// The plan, after the checks that packing would make of its output and of its memory.
int dry_run(const Packing& packing, const Plan& plan) {
  const PackingOptions& options = packing.options;
  log_earlier_files(check_output(packing.source, plan, options.output, pack_options(packing)));
  check_trace(trace_file(packing, plan));
  WeightReport report = report_plan(plan, packing.policy, packing.source);
  report.pack_memory = pack_memory(packing.source, plan);
  workers_within(*report.pack_memory, 1, options.max_memory, packing.source.path());
  if (!plan.gguf) {
    LoadOptions how;
    how.profile = chosen_profile(options.profile, packing.policy);
    report.load = report_load_for(plan, packing.codecs, packing.targets, std::move(how));
  }
  write_output(options.json ? plan_json(report)
                            : plan_text(report, options.input, options.all, output_width()));
  if (!plan.gguf) check_device_profiles(plan, packing.codecs, packing.targets, options.input);
  return 0;
}

}  // namespace

void add_packing_options(CLI::App& command, PackingOptions& options) {
  add_flag(command, "-f,--force", options.force, "Replace an output that exists");
  add_jobs_option(command, options.jobs);
  add_max_memory_option(command, options.max_memory);
  add_max_shard_option(command, options.max_shard);
  add_trace_option(command, options.trace);
  add_report_option(command, options.report);
  add_flag(command, "-n,--dry-run", options.dry_run, "Only show the plan; write nothing");
  add_flag(command, "--allow-overflow", options.allow_overflow,
           "Values too large for their codec may become infinite");
  add_flag(command, "-a,--all", options.all, "With --dry-run: one row a weight; all shards");
  add_json_option(command, options.json);
}

std::vector<FileIdentity> packing_inputs(const Packing& packing) {
  std::vector<FileIdentity> inputs = packing.source.inputs();
  for (const FileIdentity& file : protected_files(packing)) inputs.push_back(file);
  return inputs;
}

PlanOptions plan_options(const PackingOptions& options, PackTargets targets) {
  PlanOptions how;
  how.max_shard_bytes = options.max_shard;
  how.target = std::move(targets);
  how.name = options.output.substr(options.output.rfind('/') + 1);
  return how;
}

int run_packing(const Packing& packing, const Plan& plan, const CommonOptions& common) {
  const PackingOptions& options = packing.options;
  if (options.dry_run && !options.report.empty())
    throw usage_error("a dry run writes nothing that a report could be about",
                      "leave out --report, or --dry-run");
  log_warnings(plan);
  log_large_shards(plan, options.max_shard);
  if (options.dry_run) return dry_run(packing, plan);
  if (!plan.gguf) check_device_profiles(plan, packing.codecs, packing.targets, options.input);

  spdlog::info("{}: writing {}{}", escape_for_display(options.output),
               plan.layout.has_bounds ? "at most " : "", exact_bytes(plan.artifact_bytes));
  check_packing_report(packing, plan);
  const PackReport packed = pack_with_progress(packing, plan, common.quiet);
  log_earlier_files(packed.earlier);
  WeightReport report = report_plan(plan, packing.policy, packing.source);
  if (packed.layout) set_true_sizes(report, *packed.layout);
  set_true_sizes(report, packed.files);
  const std::string heading =
      fmt::format("{} {} into {}", packing.done, escape_for_display(options.input),
                  escape_for_display(options.output));
  write_output(options.json ? packed_json(report, packed)
                            : packed_text(heading, report, packed, options.all, output_width()));
  const std::vector<Problem> problems = report_packing(packing, plan, common.quiet);
  if (problems.empty()) return 0;
  write_error(error_lines(problems));
  return static_cast<int>(ErrorCode::artifact);
}

}  // namespace synps::cli
