#include "synps/verify.h"

#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "compare_options.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "progress_bar.h"
#include "report_file.h"
#include "standard_streams.h"
#include "text.h"
#include "verify_output.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Checks every byte of the artifact. With --against also every value: that the lossless\n"
    "weights are equal bit for bit, and how far the others are off. Exits 5 for a problem.\n"
    "A GGUF file has no checksums: alone only its structure is checked; --against compares its\n"
    "key-values, too.\n"
    "\n"
    "Examples:\n"
    "  synps verify model.synps\n"
    "  synps verify model.synps --against model/ --json\n"
    "  synps verify model-Q8_0.gguf --against model-F16.gguf";

struct Options : CompareOptions {
  std::string artifact;
  std::string against;
};

/// No file where the artifact does not open: the page could then take the place of one of its
/// shards.
ReportFile report_file(const Options& options, const Checkpoint& checkpoint,
                       const CodecRegistry& codecs) {
  ReportFile file{options.report, options.force, checkpoint.inputs(), {}};
  const auto artifact = files_of(options.artifact);
  if (!artifact) {
    spdlog::warn("{}: no report is written of what does not open",
                 escape_for_display(options.artifact));
    return {};
  }
  for (const auto& more : {*artifact, package_files(codecs)})
    file.inputs.insert(file.inputs.end(), more.begin(), more.end());
  return file;
}

VerifyReport verify_with_progress(const Options& options, const CodecRegistry& codecs,
                                  const Checkpoint* checkpoint, bool quiet) {
  ProgressBar bar("verifying", quiet);
  VerifyOptions how;
  how.against = checkpoint;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  return verify(options.artifact, codecs, how);
}

/// Without a checkpoint nothing is decoded, and a codec may be missing.
void warn_of_missing_codecs(const std::string& artifact, const CodecRegistry& codecs) {
  try {
    log_missing_codecs(ArtifactSet(artifact), codecs);
  } catch (const Error&) {
    // What is wrong with it is in the report already.
  }
}

int run(const Options& options, const CommonOptions& common) {
  if (!options.report.empty() && options.against.empty())
    throw usage_error("a report is about errors: --report needs --against CHECKPOINT");
  const CodecRegistry codecs = registry_with(options.packages);
  std::optional<Checkpoint> checkpoint;
  ReportFile file;
  if (!options.against.empty()) {
    checkpoint.emplace(open_checkpoint(options.against));
    if (!options.report.empty()) file = report_file(options, *checkpoint, codecs);
    check_report(file);
  }
  const VerifyReport report =
      verify_with_progress(options, codecs, checkpoint ? &*checkpoint : nullptr, common.quiet);
  if (report.bytes == 0) file.path.clear();  // it does not open any more
  if (!file.path.empty()) write_report(file, report_of(report, options.artifact, *checkpoint));
  write_output(options.json ? verify_json(report)
                            : verify_text(report, options.artifact, options.against, options.all,
                                          output_width()) +
                                  report_text(file));
  if (options.against.empty()) warn_of_missing_codecs(options.artifact, codecs);
  if (report.ok()) return 0;
  write_error(error_lines(report.problems));
  return static_cast<int>(ErrorCode::artifact);
}

}  // namespace

Command make_verify(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "verify",
                  "Check an artifact or a GGUF file, alone or against its checkpoint", kFooter);
  add_argument(command, "ARTIFACT", options->artifact, "The artifact, or GGUF file, to check");
  add_text_option(command, "--against", options->against, "CHECKPOINT",
                  "The checkpoint that it was packed from");
  add_compare_options(command, *options);
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
