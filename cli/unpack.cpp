#include "synps/unpack.h"

#include <fmt/core.h>

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "inputs.h"
#include "options.h"
#include "path_folding.h"
#include "progress_bar.h"
#include "standard_streams.h"
#include "synps/json_writer.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Weights come back in the source's dtype where the stored encoding holds it without loss,\n"
    "else as f32. Nothing is rounded.\n"
    "\n"
    "Examples:\n"
    "  synps unpack model.synps -o model.safetensors";

struct Options {
  std::string artifact;
  std::string output;
  std::vector<std::string> packages;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;
  bool force = false;
  bool json = false;
};

std::string unpacked_text(const UnpackReport& report, const Options& options) {
  std::string out = fmt::format("unpacked {} into {}\n  {}\n", escape_for_display(options.artifact),
                                escape_for_display(options.output), exact_bytes(report.bytes));
  if (report.widened.empty()) return out;
  std::vector<FoldItem> items;
  for (const std::string& path : report.widened) items.push_back({path, ""});
  out += fmt::format("  {} written as f32: the source dtype does not hold what is decoded\n",
                     counted(report.widened.size(), "weight"));
  for (const FoldedRow& row : fold_paths(items))
    out += "    " + escape_for_display(row.pattern) + "\n";
  return out;
}

std::string unpacked_json(const UnpackReport& report) {
  JsonWriter json;
  json.begin_object().key("bytes").integer(report.bytes).key("widened").begin_array();
  for (const std::string& path : report.widened) json.string(path);
  json.end_array().end_object();
  return json.take() + "\n";
}

UnpackReport unpack_with_progress(const Options& options, const CodecRegistry& codecs, bool quiet) {
  const GracefulStop graceful;
  ProgressBar bar("unpacking", quiet);
  UnpackOptions how;
  how.replace = options.force;
  how.jobs = options.jobs;
  how.max_memory = options.max_memory;
  how.progress = [&bar](std::uint64_t done, std::uint64_t total) {
    return bar.update(done, total);
  };
  how.protected_files = package_files(codecs);
  return unpack(options.artifact, options.output, codecs, how);
}

int run(const Options& options, const CommonOptions& common) {
  const CodecRegistry codecs = registry_with(options.packages);
  const UnpackReport report = unpack_with_progress(options, codecs, common.quiet);
  write_output(options.json ? unpacked_json(report) : unpacked_text(report, options));
  return 0;
}

}  // namespace

Command make_unpack(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "unpack", "Write an artifact's weights as plain safetensors", kFooter);
  add_argument(command, "ARTIFACT", options->artifact, "The artifact to unpack");
  add_text_option(command, "-o,--output", options->output, "FILE", "The safetensors file to write",
                  Need::required);
  add_flag(command, "-f,--force", options->force, "Replace an output that exists");
  add_package_option(command, options->packages);
  add_jobs_option(command, options->jobs);
  add_max_memory_option(command, options->max_memory);
  add_json_option(command, options->json);
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
