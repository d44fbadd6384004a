#include <algorithm>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "check_output.h"
#include "commands.h"
#include "device_profiles.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "standard_streams.h"
#include "synps/checkpoint_findings.h"
#include "target_options.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Prints all that is wrong with a policy at once. With a checkpoint also patterns that match\n"
    "nothing, weights that no scheme covers, and codecs that do not fit. Reads headers only.\n"
    "\n"
    "Exit code: 0 when nothing is wrong, also with warnings; 7 when something is, and with\n"
    "--strict for warnings too; 3 for the checkpoint, 6 for a limit, 9 for a codec package.\n"
    "\n"
    "Examples:\n"
    "  synps check                          synps.toml by itself\n"
    "  synps check model/ -p synps.toml --strict";

struct Options {
  std::string checkpoint;
  std::string policy;
  std::string to;
  std::vector<std::string> packages;
  TargetOptions target;
  bool strict = false;
  bool allow_unmatched = false;
  bool all = false;
  bool json = false;
};

std::optional<Checkpoint> open_if_named(const Options& options, OutputKind kind) {
  if (options.checkpoint.empty()) return std::nullopt;
  if (is_artifact(options.checkpoint))
    throw usage_error(quote(options.checkpoint) + " is an artifact, whose policy is decided",
                      "name the checkpoint; `synps verify` checks artifacts");
  return open_checkpoint(options.checkpoint, kind);
}

/// What weights are packed for. A policy that cannot be read is a finding, later.
PackTargets targets_under(const std::string& file, const CodecRegistry& codecs,
                          const Options& options) {
  try {
    const Policy policy = load_policy(file, codecs);
    return pack_targets(options.target, {}, &policy);
  } catch (const Error&) {
    return pack_target(options.target);
  }
}

PolicyCheck checked(const std::string& file, const CodecRegistry& codecs,
                    const std::vector<WeightFacts>* weights, const Options& options) {
  const PackTargets target = targets_under(file, codecs, options);
  ResolveOptions how{.allow_unmatched = options.allow_unmatched};
  how.output = output_kind(options.to);
  how.target = &target;
  try {
    return PolicyCheck::run(file, codecs, weights, how, policy_options(codecs));
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    PolicyCheck check;  // a file that is too large, say, is a finding like any other
    check.problems = error.problems();
    return check;
  }
}

/// What the checkpoint has against the policy: its faults before the policy's, which may come of
/// them.
void add_findings(const Checkpoint& checkpoint, PolicyCheck& check) {
  if (check.resolutions.empty()) return;
  std::vector<Problem> problems = faults_left(checkpoint, check.resolutions);
  for (Problem& problem : check.problems) problems.push_back(std::move(problem));
  check.problems = std::move(problems);
  for (Problem& warning : scale_warnings(checkpoint, check.resolutions))
    check.warnings.push_back(std::move(warning));
}

/// The plan; nothing where the policy or the checkpoint is not sound. What only the layout finds is
/// the checkpoint's fault, such as names that collide.
std::optional<Plan> plan_or_problems(const Checkpoint& checkpoint, PolicyCheck& check,
                                     const PlanOptions& options) {
  if (!check.problems.empty()) return std::nullopt;
  try {
    Plan plan = make_plan(checkpoint, *check.policy, options);
    if (!plan.gguf)
      check_device_profiles(plan, check.policy->codecs(), options.target, checkpoint.path());
    return plan;
  } catch (const Error& error) {
    if (error.code() == ErrorCode::io) throw;
    check.problems = error.problems();
    return std::nullopt;
  }
}

int run(const Options& options) {
  const std::string file = policy_file(options.policy);
  const OutputKind kind = output_kind(options.to);
  const std::optional<Checkpoint> checkpoint = open_if_named(options, kind);
  const CodecRegistry codecs = registry_with(options.packages);
  std::vector<WeightFacts> weights;
  if (checkpoint) weights = weight_facts(*checkpoint);
  PolicyCheck check = checked(file, codecs, checkpoint ? &weights : nullptr, options);
  CheckReport report;
  report.file = file;
  report.checkpoint = options.checkpoint;
  report.strict = options.strict;
  report.check = &check;
  std::optional<Plan> plan;
  if (checkpoint && check.policy) {
    add_findings(*checkpoint, check);
    report.weights = stored_weights(weights, check);
    report.encodings = source_encodings(weights, check);
    if (kind == OutputKind::gguf) {  // arrays are key-values again
      *report.weights -= static_cast<std::uint64_t>(std::count_if(
          weights.begin(), weights.end(),
          [](const WeightFacts& facts) { return is_key_value_encoding(facts.encoding); }));
      report.encodings.erase(
          std::remove_if(report.encodings.begin(), report.encodings.end(),
                         [](const auto& each) { return is_key_value_encoding(each.name); }),
          report.encodings.end());
    }
    report.fallbacks = fallback_groups(weights, check);
    PlanOptions how{.allow_unmatched = options.allow_unmatched, .output = kind};
    how.target = pack_targets(options.target, {}, &*check.policy);
    plan = plan_or_problems(*checkpoint, check, how);
    if (plan) report.plan = report_plan(*plan, &*check.policy, *checkpoint);
    if (plan) report.weights = plan->weights.size();
  }
  write_output(options.json ? check_json(report) : check_text(report, options.all, output_width()));
  return report.code();
}

}  // namespace

Command make_check(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(program, "check", "Say all that is wrong with a policy", kFooter);
  add_argument(command, "CHECKPOINT", options->checkpoint, "Checks the policy against it, too",
               Need::optional);
  add_policy_option(command, options->policy);
  add_package_option(command, options->packages);
  add_output_kind_option(command, options->to);
  add_target_options(command, options->target);
  add_flag(command, "--strict", options->strict, "Warnings are errors");
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  add_flag(command, "-a,--all", options->all, "Show every problem, not only the first 50");
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
