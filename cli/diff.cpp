#include "synps/diff.h"

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "compare_options.h"
#include "diff_output.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "progress_bar.h"
#include "report_file.h"
#include "standard_streams.h"
#include "suggested_policy.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "A and B are artifacts or checkpoints, in any mix: safetensors, shards, folders, GGUF. "
    "Weights\n"
    "are compared by name, and in value, however they are stored; errors are those of B against "
    "A.\n"
    "Exits 0 when all are equal (with --forms: and stored alike), 1 when something differs.\n"
    "\n"
    "Examples:\n"
    "  synps diff model/ model.synps\n"
    "  synps diff old.synps new.synps --forms\n"
    "  synps diff model.safetensors model.synps --report diff.html\n"
    "  synps diff f16.synps q4.synps --suggest-policy 3 > synps.toml\n"
    "                        a policy that makes q4.synps of f16.synps, but for the worst 3 "
    "weights";

/// The exit code where something differs: DESIGN's, and diff(1)'s.
constexpr int kDifferent = 1;

struct Options : CompareOptions {
  std::string a;
  std::string b;
  std::string suggest;
  bool forms = false;
};

void check_options(const Options& options) {
  if (options.suggest.empty()) return;
  if (options.json || options.all || options.forms)
    throw usage_error("--suggest-policy prints a policy and nothing else",
                      "leave out --json, --all and --forms");
}

ReportFile report_file(const Options& options, const Checkpoint& a, const Checkpoint& b,
                       const CodecRegistry& codecs) {
  ReportFile file{options.report, options.force, a.inputs(), {}};
  for (const auto& more : {b.inputs(), package_files(codecs)})
    file.inputs.insert(file.inputs.end(), more.begin(), more.end());
  return file;
}

DiffReport diff_with_progress(const Options& options, const Checkpoint& a, const Checkpoint& b,
                              const CodecRegistry& codecs, bool quiet) {
  ProgressBar bar("comparing", quiet);
  DiffOptions how;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  return diff(a, b, codecs, how);
}

int run(const Options& options, const CommonOptions& common) {
  check_options(options);
  std::optional<std::size_t> suggest;
  if (!options.suggest.empty()) suggest = worst_count(options.suggest);
  const CodecRegistry codecs = registry_with(options.packages);
  const Checkpoint a = open_source(options.a, codecs);
  const Checkpoint b = open_source(options.b, codecs);
  const ReportFile file = report_file(options, a, b, codecs);
  check_report(file);
  const DiffReport report = diff_with_progress(options, a, b, codecs, common.quiet);
  std::string policy;
  if (suggest) policy = suggested_policy(report, a, b, codecs, *suggest);
  if (!file.path.empty()) write_report(file, report_of(report, a, b));
  if (suggest) {
    write_output(policy);
    return 0;
  }
  const DiffOutput output{summarize(a), summarize(b), &report, options.forms, options.all};
  write_output(options.json ? diff_json(output)
                            : diff_text(output, output_width()) + report_text(file));
  return output.equal() ? 0 : kDifferent;
}

}  // namespace

Command make_diff(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(
      program, "diff", "Compare two artifacts or checkpoints, weight by weight", kFooter);
  add_argument(command, "A", options->a, "An artifact or a checkpoint: the reference");
  add_argument(command, "B", options->b, "An artifact or a checkpoint");
  add_flag(command, "--forms", options->forms, "Also compare how the weights are stored");
  add_text_option(command, "--suggest-policy", options->suggest, "N",
                  "Print a policy that makes B of A, but for the N worst weights, which stay");
  add_compare_options(command, *options);
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
