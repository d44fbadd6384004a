#include "synps/plan.h"

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "device_profiles.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "plan_output.h"
#include "profile_options.h"
#include "shard_list.h"
#include "standard_streams.h"
#include "target_options.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Reads headers only, and writes nothing. The artifact's size is exact; where components are\n"
    "compressed, it is the most that it can be.\n"
    "With --profile, shows what loading the artifact does under that profile: every weight's "
    "form,\n"
    "why, and its bytes. What does not fit the budget, or is refused, exits 6 after the plan.\n"
    "For an artifact, -p names a policy that has the profile.\n"
    "\n"
    "Examples:\n"
    "  synps plan model/ -p synps.toml\n"
    "  synps plan model.gguf --to gguf      of what `synps pack -o out.gguf` would write\n"
    "  synps plan model/ --all              every weight on its own row\n"
    "  synps plan model/ --target cpu-avx2  as such machines read it fastest\n"
    "  synps plan model.synps --json\n"
    "  synps plan model.synps --profile mobile_2gb --target cpu-neon\n"
    "  synps plan model.synps --profile desktop --budget 2GiB";

struct Options {
  std::string input;
  std::string policy;
  std::vector<std::string> packages;
  std::string compress;
  std::uint64_t max_shard = 0;
  std::string to;
  TargetOptions target;
  ProfileOptions load;
  bool allow_unmatched = false;
  bool all = false;
  bool json = false;
};

void print(const WeightReport& report, const Options& options) {
  write_output(options.json ? plan_json(report)
                            : plan_text(report, options.input, options.all, output_width()));
}

LoadOptions load_options(const Options& options, std::optional<Profile> profile) {
  LoadOptions how;
  how.profile = std::move(profile);
  how.budget = options.load.budget;
  return how;
}

/// How an artifact is loaded: by this machine's kernels, unless the options say something else.
LoadReport load_report(const ArtifactIndex& index, const CodecRegistry& codecs,
                       const Options& options, std::optional<Profile> profile) {
  LoadOptions how = load_options(options, std::move(profile));
  if (how.profile) how.capabilities = capabilities_for(options.target, TargetRequest::native);
  return report_load(index, codecs, how, target_name(options.target, TargetRequest::native));
}

void check_artifact_options(const Options& options) {
  if (options.allow_unmatched || !options.compress.empty() || options.max_shard != 0 ||
      !options.to.empty() || (!options.policy.empty() && options.load.profile.empty()))
    throw usage_error("a policy has no say in how an artifact loads",
                      "leave out --policy, --compress, --max-shard-size, --to and "
                      "--allow-unmatched, or name a checkpoint; --policy can name a file that has "
                      "the --profile");
  if (options.load.profile.empty() && options.target.given())
    throw usage_error("kernels have no say in how an artifact loads as packed",
                      "leave out --target and --kernels, or give a --profile");
}

int run_artifact(const Options& options, const CodecRegistry& codecs) {
  check_artifact_options(options);
  std::optional<Policy> policy;
  if (!options.policy.empty()) policy = load_policy(options.policy, codecs);
  const auto profile = chosen_profile(options.load.profile, policy ? &*policy : nullptr);
  const ArtifactSet artifact(options.input);
  WeightReport report = report_artifact(artifact, codecs);
  report.load = load_report(artifact.index(), codecs, options, profile);
  print(report, options);
  log_missing_codecs(artifact, codecs);
  check_load(*report.load, options.input, options.load.allow_over_budget);
  return 0;
}

int run(const Options& options) {
  const CodecRegistry codecs = registry_with(options.packages);
  if (is_artifact(options.input)) return run_artifact(options, codecs);
  const OutputKind kind = output_kind(options.to);
  check_compress(kind, options.compress);
  if (kind == OutputKind::gguf && (options.load.given() || options.target.given()))
    throw usage_error("whoever loads a GGUF file decides how",
                      "leave out --profile, --budget, --allow-over-budget, --target and --kernels");
  const Checkpoint checkpoint = open_checkpoint(options.input, kind);
  const Policy policy = load_policy(options.policy, codecs);
  PlanOptions how{options.allow_unmatched, compress_request(options.compress), kind};
  how.max_shard_bytes = options.max_shard;
  how.target = pack_targets(options.target, options.load.profile, &policy);
  if (kind == OutputKind::gguf) how.name = "model.gguf";
  const Plan plan = make_plan(checkpoint, policy, how);
  log_warnings(plan);
  log_large_shards(plan, options.max_shard);
  WeightReport report = report_plan(plan, &policy, checkpoint);
  report.pack_memory = pack_memory(checkpoint, plan);
  if (kind == OutputKind::gguf) {
    print(report, options);
    return 0;
  }
  report.load =
      report_load_for(plan, policy.codecs(), how.target,
                      load_options(options, chosen_profile(options.load.profile, &policy)));
  print(report, options);
  check_load(*report.load, options.input, options.load.allow_over_budget);
  // Those that pack would look at, too.
  if (options.load.profile.empty())
    check_device_profiles(plan, policy.codecs(), how.target, options.input);
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
  add_target_options(command, options->target);
  add_profile_option(command, options->load.profile);
  add_budget_options(command, options->load);
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  add_all_option(command, options->all);
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
