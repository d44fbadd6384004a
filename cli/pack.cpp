#include "synps/pack.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "device_profiles.h"
#include "failures.h"
#include "gguf_report.h"
#include "inputs.h"
#include "options.h"
#include "plan_output.h"
#include "profile_options.h"
#include "progress_bar.h"
#include "report_file.h"
#include "scale_notes.h"
#include "shard_list.h"
#include "standard_streams.h"
#include "synps/json_writer.h"
#include "synps/memory_plan.h"
#include "synps/verify.h"
#include "target_options.h"
#include "text.h"
#include "trace_file.h"
#include "weight_summary.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "CHECKPOINT is a .safetensors file, a shard index, a Hugging Face folder, or a GGUF file. The\n"
    "output appears complete or not at all, and never in place of an input. One whose name ends "
    "in\n"
    ".gguf is a GGUF file, which takes a GGUF checkpoint.\n"
    "\n"
    "Examples:\n"
    "  synps pack model/ -p synps.toml -o model.synps\n"
    "  synps pack model/ -o model.synps --dry-run     as `synps plan`; also checks the output\n"
    "  synps pack model-F16.gguf -o model-Q8_0.gguf   a GGUF file of a GGUF checkpoint\n"
    "  synps pack model/ -o model.synps --force       replaces an earlier model.synps\n"
    "  synps pack model/ -o model.synps --target cpu-avx2 --trace pack.json\n"
    "                                                 in the order such machines read fastest\n"
    "  synps pack model/ -o model.synps --max-shard-size 5GB\n"
    "                                                 model-00001-of-00003.synps, ...";

/// Weights that a note about values names before it only counts the rest.
constexpr std::size_t kShownFindings = 10;

struct Options {
  std::string checkpoint;
  std::string output;
  std::string policy;
  std::vector<std::string> packages;
  std::string compress;
  std::string to;
  std::string trace;
  std::string report;
  TargetOptions target;
  std::string profile;
  bool force = false;
  bool dry_run = false;
  bool allow_overflow = false;
  bool allow_unmatched = false;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;
  std::uint64_t max_shard = 0;
  bool all = false;
  bool json = false;
};

/// A kind of finding in the values of weights: underflow or overflow.
struct FindingKind {
  ValueReport::Finding ValueReport::*member;
  const char* name;
  const char* what;  ///< after "15 values "
};
constexpr FindingKind kFindingKinds[] = {
    {&ValueReport::underflow, "underflow", "too small for their codec became zero"},
    {&ValueReport::overflow, "overflow", "too large for their codec became infinite"},
};

std::string findings_text(const PackReport& packed, const FindingKind& kind, std::size_t width) {
  std::uint64_t weights = 0;
  std::uint64_t values = 0;
  std::string lines;
  for (const PackedWeightReport& report : packed.findings) {
    const ValueReport::Finding& finding = report.values.*kind.member;
    if (finding.count == 0) continue;
    values += finding.count;
    if (++weights > kShownFindings) continue;
    lines += fmt::format("    {}: {}, first {} at element {}\n", escape_for_display(report.path),
                         grouped(finding.count), brief_number(finding.first_value),
                         grouped(finding.first_index));
  }
  if (weights == 0) return {};
  if (weights > kShownFindings)
    lines += fmt::format("    ... and {}\n", counted(weights - kShownFindings, "more weight"));
  return wrapped(fmt::format("{}: {} {} in {}", kind.name, counted(values, "value"), kind.what,
                             counted(weights, "weight")),
                 width, 4) +
         "\n" + lines;
}

std::string packed_text(const WeightReport& report, const PackReport& packed,
                        const Options& options, std::size_t width) {
  std::string out = fmt::format("packed {} into {}\n", escape_for_display(options.checkpoint),
                                escape_for_display(options.output));
  out += sizes_text(report) + compression_text(report) + "\n";
  if (const std::string shards = shards_text(report, options.all, width); !shards.empty())
    out += shards + "\n";
  out += codec_totals_text(report, width);
  if (const std::string fallbacks = fallbacks_text(report, width); !fallbacks.empty())
    out += "\n" + fallbacks;
  if (const std::string scales = scales_text(report, width); !scales.empty()) out += "\n" + scales;
  out += gguf_text(report);
  for (const FindingKind& kind : kFindingKinds)
    if (const std::string text = findings_text(packed, kind, width); !text.empty())
      out += "\n" + text;
  return out;
}

void write_findings(JsonWriter& json, const PackReport& packed, const FindingKind& kind) {
  json.begin_array();
  for (const PackedWeightReport& report : packed.findings) {
    const ValueReport::Finding& finding = report.values.*kind.member;
    if (finding.count == 0) continue;
    json.begin_object().key("path").string(report.path);
    json.key("count").integer(finding.count);
    json.key("first_index").integer(finding.first_index);
    json.key("first_value").number(finding.first_value);
    json.end_object();
  }
  json.end_array();
}

std::string packed_json(const WeightReport& report, const PackReport& packed) {
  JsonWriter json;
  json.begin_object();
  json.key("artifact_bytes").integer(packed.artifact_bytes);
  json.key("source_bytes").integer(report.source_bytes);
  json.key("weights").integer(report.weights.size());
  json.key("compressed");
  write_compression(json, report);
  write_shards(json, report);
  json.key("codecs");
  write_codec_totals(json, report);
  json.key("fallbacks");
  write_fallbacks(json, report);
  write_folded_scales(json, report);
  for (const FindingKind& kind : kFindingKinds) {
    json.key(kind.name);
    write_findings(json, packed, kind);
  }
  if (report.gguf != nullptr) {
    json.key("gguf");
    write_gguf(json, report);
  }
  json.end_object();
  return json.take() + "\n";
}

/// Inputs besides the checkpoint, which the output must not replace.
std::vector<FileIdentity> protected_files(const Policy& policy) {
  std::vector<FileIdentity> files = package_files(policy.codecs());
  for (const std::string& file : policy.files()) files.push_back(identity_of(file));
  for (const PolicyPackage& package :
       policy.packages()) {  // also those that the command line hides
    FileStatus status;
    if (Os::posix().status(package.path, true, status) == 0) files.push_back(status.identity);
  }
  return files;
}

PackOptions pack_options(const Policy& policy, const Options& options) {
  PackOptions how;
  how.replace = options.force;
  how.allow_overflow = options.allow_overflow;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.protected_files = protected_files(policy);
  return how;
}

void log_earlier_files(const std::vector<std::string>& earlier) {
  for (const std::string& file : earlier)
    spdlog::warn("{}: left from another artifact of this name", escape_for_display(file));
}

/// The files that the trace or the report must not replace.
std::vector<FileIdentity> inputs_of(const Checkpoint& checkpoint, const Policy& policy) {
  std::vector<FileIdentity> inputs = checkpoint.inputs();
  for (const FileIdentity& file : protected_files(policy)) inputs.push_back(file);
  return inputs;
}

ReportFile report_file(const Checkpoint& checkpoint, const Plan& plan, const Policy& policy,
                       const Options& options) {
  ReportFile file{options.report, options.force, inputs_of(checkpoint, policy), {}};
  file.outputs = output_files(plan, options.output);
  if (!options.trace.empty()) file.outputs.push_back(options.trace);
  return file;
}

/// Compares what was written with the checkpoint, and says so on a page. Returns what is wrong.
std::vector<Problem> report_errors(const Checkpoint& checkpoint, const Plan& plan,
                                   const Policy& policy, const Options& options, bool quiet) {
  const std::string written = output_files(plan, options.output).back();
  ProgressBar bar("verifying", quiet);
  VerifyOptions how;
  how.against = &checkpoint;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  const VerifyReport report = verify(written, policy.codecs(), how);
  write_report(report_file(checkpoint, plan, policy, options),
               report_of(report, options.output, checkpoint));
  return report.problems;
}

TraceFile trace_file(const Checkpoint& checkpoint, const Plan& plan, const Policy& policy,
                     const Options& options) {
  TraceFile trace{options.trace, options.force, inputs_of(checkpoint, policy)};
  trace.outputs = output_files(plan, options.output);
  return trace;
}

PackReport pack_with_progress(const Checkpoint& checkpoint, const Plan& plan, const Policy& policy,
                              const Options& options, bool quiet) {
  const std::unique_ptr<ChromeTraceSink> trace =
      open_trace(trace_file(checkpoint, plan, policy, options));
  const GracefulStop graceful;
  ProgressBar bar("packing", quiet);
  PackOptions how = pack_options(policy, options);
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  how.trace = trace.get();
  PackReport report = pack(checkpoint, plan, options.output, how);
  if (trace != nullptr) trace->close();
  return report;
}

/// The plan, after the checks that packing would make of its output and of its memory.
int dry_run(const Checkpoint& checkpoint, const Plan& plan, const Policy& policy,
            const PackTargets& targets, const Options& options) {
  log_earlier_files(check_output(checkpoint, plan, options.output, pack_options(policy, options)));
  check_trace(trace_file(checkpoint, plan, policy, options));
  WeightReport report = report_plan(plan, policy, checkpoint);
  report.pack_memory = pack_memory(checkpoint, plan);
  workers_within(*report.pack_memory, 1, options.max_memory, checkpoint.path());
  if (!plan.gguf) {
    LoadOptions how;
    how.profile = chosen_profile(options.profile, &policy);
    report.load = report_load_for(plan, policy.codecs(), targets, std::move(how));
  }
  write_output(options.json ? plan_json(report)
                            : plan_text(report, options.checkpoint, options.all, output_width()));
  if (!plan.gguf) check_device_profiles(plan, policy.codecs(), targets, options.checkpoint);
  return 0;
}

int run(const Options& options, const CommonOptions& common) {
  if (options.dry_run && !options.report.empty())
    throw usage_error("a dry run writes nothing that a report could be about",
                      "leave out --report, or --dry-run");
  const OutputKind kind = output_kind_for(options.output, options.to);
  check_compress(kind, options.compress);
  if (kind == OutputKind::gguf && (!options.profile.empty() || options.target.given()))
    throw usage_error("whoever loads a GGUF file decides how",
                      "leave out --profile, --target and --kernels");
  const Checkpoint checkpoint = open_checkpoint(options.checkpoint, kind);
  const CodecRegistry codecs = registry_with(options.packages);
  const Policy policy = load_policy(options.policy, codecs);
  PlanOptions how{options.allow_unmatched, compress_request(options.compress), kind};
  how.max_shard_bytes = options.max_shard;
  how.target = pack_targets(options.target, options.profile, policy);
  how.name = options.output.substr(options.output.rfind('/') + 1);
  const Plan plan = make_plan(checkpoint, policy, how);
  log_warnings(plan);
  log_large_shards(plan, options.max_shard);
  if (options.dry_run) return dry_run(checkpoint, plan, policy, how.target, options);
  if (!plan.gguf) check_device_profiles(plan, policy.codecs(), how.target, options.checkpoint);

  spdlog::info("{}: writing {}{}", escape_for_display(options.output),
               plan.layout.has_bounds ? "at most " : "", exact_bytes(plan.artifact_bytes));
  if (!options.report.empty()) check_report(report_file(checkpoint, plan, policy, options));
  const PackReport packed = pack_with_progress(checkpoint, plan, policy, options, common.quiet);
  log_earlier_files(packed.earlier);
  WeightReport report = report_plan(plan, policy, checkpoint);
  if (packed.layout) set_true_sizes(report, *packed.layout);
  set_true_sizes(report, packed.files);
  write_output(options.json ? packed_json(report, packed)
                            : packed_text(report, packed, options, output_width()));
  if (options.report.empty()) return 0;
  const std::vector<Problem> problems =
      report_errors(checkpoint, plan, policy, options, common.quiet);
  if (problems.empty()) return 0;
  write_error(error_lines(problems));
  return static_cast<int>(ErrorCode::artifact);
}

}  // namespace

Command make_pack(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "pack", "Make an artifact, or a GGUF file, of a checkpoint", kFooter);
  add_argument(command, "CHECKPOINT", options->checkpoint, "The checkpoint to pack");
  add_text_option(command, "-o,--output", options->output, "FILE",
                  "The artifact to write, or NAME.gguf", Need::required);
  add_policy_option(command, options->policy);
  add_package_option(command, options->packages);
  add_flag(command, "-f,--force", options->force, "Replace an output that exists");
  add_compress_option(command, options->compress);
  add_output_kind_option(command, options->to);
  add_target_options(command, options->target);
  add_profile_option(command, options->profile);
  add_jobs_option(command, options->jobs);
  add_max_memory_option(command, options->max_memory);
  add_max_shard_option(command, options->max_shard);
  add_trace_option(command, options->trace);
  add_report_option(command, options->report);
  add_flag(command, "-n,--dry-run", options->dry_run, "Only show the plan; write nothing");
  add_flag(command, "--allow-overflow", options->allow_overflow,
           "Values too large for their codec may become infinite");
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  add_flag(command, "-a,--all", options->all, "With --dry-run: one row a weight; all shards");
  add_json_option(command, options->json);
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
