#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "inputs.h"
#include "inspect_output.h"
#include "options.h"
#include "standard_streams.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Reads headers and the index only: `synps verify` looks at the bytes.\n"
    "\n"
    "Examples:\n"
    "  synps inspect model.synps\n"
    "  synps inspect model/ --all         every weight on its own row";

struct Options {
  std::string input;
  std::vector<std::string> packages;
  bool all = false;
  bool json = false;
};

int run(const Options& options) {
  const CodecRegistry codecs = registry_with(options.packages);
  if (is_artifact(options.input)) {
    const ArtifactSet artifact(options.input);
    write_output(options.json ? inspect_json(artifact, codecs)
                              : inspect_text(artifact, codecs, options.all, output_width()));
    log_missing_codecs(artifact, codecs);
  } else {
    const Checkpoint checkpoint = open_checkpoint(options.input);
    write_output(options.json ? inspect_json(checkpoint)
                              : inspect_text(checkpoint, options.all, output_width()));
  }
  return 0;
}

}  // namespace

Command make_inspect(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "inspect", "Show what is in an artifact or a checkpoint", kFooter);
  add_argument(command, "INPUT", options->input, "An artifact, or a checkpoint");
  add_package_option(command, options->packages);
  add_all_option(command, options->all);
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
