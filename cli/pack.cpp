#include "synps/pack.h"

#include <memory>
#include <string>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "packing.h"
#include "profile_options.h"
#include "target_options.h"

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

struct Options {
  PackingOptions packing;
  std::string policy;
  std::vector<std::string> packages;
  std::string compress;
  std::string to;
  TargetOptions target;
  bool allow_unmatched = false;
};

int run(const Options& options, const CommonOptions& common) {
  const PackingOptions& packing = options.packing;
  const OutputKind kind = output_kind_for(packing.output, options.to);
  check_compress(kind, options.compress);
  if (kind == OutputKind::gguf && (!packing.profile.empty() || options.target.given()))
    throw usage_error("whoever loads a GGUF file decides how",
                      "leave out --profile, --target and --kernels");
  const Checkpoint checkpoint = open_checkpoint(packing.input, kind);
  const CodecRegistry codecs = registry_with(options.packages);
  const Policy policy = load_policy(options.policy, codecs);
  PlanOptions how = plan_options(packing, pack_targets(options.target, packing.profile, &policy));
  how.allow_unmatched = options.allow_unmatched;
  how.compress = compress_request(options.compress);
  how.output = kind;
  const Plan plan = make_plan(checkpoint, policy, how);
  return run_packing(
      {checkpoint, policy.codecs(), &policy, how.target, packing, "packed", "packing"}, plan,
      common);
}

}  // namespace

Command make_pack(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  PackingOptions& packing = options->packing;
  CLI::App& command =
      add_command(program, "pack", "Make an artifact, or a GGUF file, of a checkpoint", kFooter);
  add_argument(command, "CHECKPOINT", packing.input, "The checkpoint to pack");
  add_text_option(command, "-o,--output", packing.output, "FILE",
                  "The artifact to write, or NAME.gguf", Need::required);
  add_policy_option(command, options->policy);
  add_package_option(command, options->packages);
  add_compress_option(command, options->compress);
  add_output_kind_option(command, options->to);
  add_target_options(command, options->target);
  add_profile_option(command, packing.profile);
  add_packing_options(command, packing);
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
