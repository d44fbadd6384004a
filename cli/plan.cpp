#include "synps/plan.h"

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "plan_output.h"
#include "shard_list.h"
#include "standard_streams.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Reads headers only, and writes nothing. The artifact's size is exact; where components are\n"
    "compressed, it is the most that it can be.\n"
    "For an artifact, shows what loading it does.\n"
    "\n"
    "Examples:\n"
    "  synps plan model/ -p synps.toml\n"
    "  synps plan model.gguf --to gguf      of what `synps pack -o out.gguf` would write\n"
    "  synps plan model/ --all              every weight on its own row\n"
    "  synps plan model.synps --json";

struct Options {
  std::string input;
  std::string policy;
  std::vector<std::string> packages;
  std::string compress;
  std::uint64_t max_shard = 0;
  std::string to;
  bool allow_unmatched = false;
  bool all = false;
  bool json = false;
};

void print(const WeightReport& report, const Options& options) {
  write_output(options.json ? plan_json(report)
                            : plan_text(report, options.input, options.all, output_width()));
}

int run(const Options& options) {
  const CodecRegistry codecs = registry_with(options.packages);
  if (is_artifact(options.input)) {
    if (!options.policy.empty() || options.allow_unmatched || !options.compress.empty() ||
        options.max_shard != 0 || !options.to.empty())
      throw usage_error("a policy has no say in how an artifact loads",
                        "leave out --policy, --compress, --max-shard-size, --to and "
                        "--allow-unmatched, or name a checkpoint");
    const ArtifactSet artifact(options.input);
    print(report_artifact(artifact, codecs), options);
    log_missing_codecs(artifact, codecs);
    return 0;
  }
  const OutputKind kind = output_kind(options.to);
  check_compress(kind, options.compress);
  const Checkpoint checkpoint = open_checkpoint(options.input, kind);
  const Policy policy = load_policy(options.policy, codecs);
  PlanOptions how{options.allow_unmatched, compress_request(options.compress), kind};
  how.max_shard_bytes = options.max_shard;
  if (kind == OutputKind::gguf) how.name = "model.gguf";
  const Plan plan = make_plan(checkpoint, policy, how);
  log_warnings(plan);
  log_large_shards(plan, options.max_shard);
  WeightReport report = report_plan(plan, policy, checkpoint);
  report.pack_memory = pack_memory(checkpoint, plan);
  print(report, options);
  return 0;
}

}  // namespace

Command make_plan_command(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "plan", "Show what packing or loading does, in bytes", kFooter);
  add_argument(command, "INPUT", options->input, "A checkpoint, or an artifact");
  add_policy_option(command, options->policy);
  add_package_option(command, options->packages);
  add_compress_option(command, options->compress);
  add_max_shard_option(command, options->max_shard);
  add_output_kind_option(command, options->to);
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  add_all_option(command, options->all);
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
