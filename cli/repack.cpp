#include "synps/reencode.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "packing.h"
#include "profile_options.h"
#include "synps/artifact_set.h"
#include "synps/artifact_shards.h"
#include "synps/format_name.h"
#include "synps/shard_name.h"
#include "target_options.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kRepackFooter =
    "Never changes a value: what would round is an error, and `synps requantize` does it. Without\n"
    "--to, encodings stay, and order, orientation or compression change. What nobody asks to "
    "change\n"
    "stays as it is stored.\n"
    "\n"
    "Examples:\n"
    "  synps repack model.synps -o small.synps --compress zstd:9\n"
    "  synps repack model.synps -o relaid.synps --order rows8\n"
    "  synps repack model.synps -o wide.synps --to f32 --only '**.norm.weight'\n"
    "  synps repack model.synps -o shards.synps --max-shard-size 5GB\n"
    "  synps repack shards/ -o model.synps               one file of several";

constexpr const char* kRequantizeFooter =
    "May round, and says of which weights. A weight that is stored in the wanted codec already is\n"
    "copied; one in another packed codec is decoded to f32 first, and the artifact records that it "
    "was\n"
    "rounded before. With -p, the policy decides of every weight, as for packing; what it does "
    "not\n"
    "say of device, dtype and form stays.\n"
    "\n"
    "Examples:\n"
    "  synps requantize model.synps -o small.synps --to q4_0 --only '**.mlp'\n"
    "  synps requantize model.synps -o small.synps -p synps.toml --dry-run";

/// What a command is called, and what it may do.
struct Verb {
  const char* name;
  const char* done;
  const char* doing;
  Rounding rounding;
};
constexpr Verb kRepack{"repack", "repacked", "repacking", Rounding::refused};
constexpr Verb kRequantize{"requantize", "requantized", "requantizing", Rounding::allowed};

struct Options {
  PackingOptions packing;
  std::string policy;
  std::vector<std::string> packages;
  std::string to;
  std::string only;
  std::string order;
  std::string orientation;
  std::string compress;
  TargetOptions target;
  bool allow_unmatched = false;
};

/// Whether it opens as a checkpoint. What does not may be a damaged artifact, and is told as one.
bool is_checkpoint(const std::string& path) {
  try {
    Checkpoint::open(path);
    return true;
  } catch (const Error&) {
    return false;
  }
}

/// A problem that an option's value has, as a usage error.
Error option_error(const char* option, const Problem& problem) {
  Problem told = problem;
  told.code = ErrorCode::usage;
  told.what = fmt::format("{}: {}", option, problem.what);
  return Error(std::move(told));
}

const Codec* codec_of(const std::string& to, const CodecRegistry& codecs) {
  if (to.empty()) return nullptr;
  const FormatName format = resolve_format(to, codecs);
  if (format.codec != nullptr) return format.codec;
  if (format.name.empty()) {
    Problem problem = format.problem;
    if (!problem.want.empty()) problem.want = "a codec that encodes";  // keep changes nothing
    throw option_error("--to", problem);
  }
  throw usage_error("--to keep changes nothing", "leave out --to");
}

std::optional<PathPattern> pattern_of(const std::string& only) {
  if (only.empty()) return std::nullopt;
  try {
    return PathPattern::parse(only);
  } catch (const Error& error) {
    throw option_error("--only", error.problems().front());
  }
}

template <typename T>
std::optional<T> named(const char* option, const std::string& text,
                       std::optional<T> (*parse)(std::string_view) noexcept, const char* names) {
  if (text.empty()) return std::nullopt;
  if (std::optional<T> value = parse(text)) return value;
  throw usage_error(fmt::format("{} is neither {}: found {}", option, names, quote(text)));
}

ReencodeRequest request_of(const Options& options, const CodecRegistry& codecs) {
  ReencodeRequest request;
  request.codec = codec_of(options.to, codecs);
  request.only = pattern_of(options.only);
  request.order = named<Order>("--order", options.order, order_from, "rows1 nor rows8");
  request.orientation = named<Orientation>("--orientation", options.orientation, orientation_from,
                                           "out_in nor in_out");
  request.compress = compress_request(options.compress);
  return request;
}

void check_options(const Verb& verb, const Options& options) {
  const bool asked = !options.to.empty() || !options.order.empty() || !options.orientation.empty();
  if (!options.policy.empty()) {
    if (asked || !options.only.empty())
      throw usage_error("a contradiction: a policy decides of every weight",
                        "leave out --policy, or --to, --only, --order and --orientation");
    return;
  }
  if (options.target.given() || !options.packing.profile.empty() || options.allow_unmatched)
    throw usage_error("targets and profiles decide what a policy leaves open",
                      "name a policy with -p, or leave out --target, --kernels, --profile and "
                      "--allow-unmatched");
  if (verb.rounding == Rounding::allowed && options.to.empty())
    throw usage_error("nothing says what to store the weights in",
                      "give --to CODEC, or a policy with -p; `synps repack` changes order and "
                      "compression alone");
}

/// Without anything to change, shards still become one file.
void check_change(const Options& options, const ArtifactSet& artifact) {
  if (!options.to.empty() || !options.order.empty() || !options.orientation.empty() ||
      !options.policy.empty() || !options.compress.empty() || options.packing.max_shard != 0 ||
      artifact.is_sharded())
    return;
  throw usage_error("nothing is to be changed",
                    "give --to, --order, --orientation, --compress or --max-shard-size, or a "
                    "policy with -p");
}

/// A shard by itself is an artifact of its own weights, which may not be what was meant.
void warn_of_shard(const ArtifactSet& artifact) {
  const auto shard = parse_shard_name(artifact.path());
  if (artifact.is_sharded() || !shard || shard->count == 1) return;
  spdlog::warn(
      "{}: this is shard {} of {}, and only its weights are taken; for all of them name {}",
      escape_for_display(artifact.path()), shard->number, shard->count,
      quote(shard_index_name(shard->artifact)));
}

void check_files(const Verb& verb, const Options& options) {
  if (output_kind_of_path(options.packing.output) == OutputKind::gguf)
    throw usage_error(fmt::format("{} writes artifacts, and the output is called {}", verb.name,
                                  quote(options.packing.output)),
                      "a GGUF file is made of a GGUF checkpoint, by `synps pack`");
  if (is_artifact(options.packing.input) || !is_checkpoint(options.packing.input)) return;
  throw Error({.code = ErrorCode::usage,
               .file = options.packing.input,
               .what = fmt::format("{} takes an artifact of synps", verb.name),
               .found = "a checkpoint",
               .hint = "make an artifact of it with `synps pack`"});
}

int run(const Verb& verb, const Options& options, const CommonOptions& common) {
  check_options(verb, options);
  check_files(verb, options);
  const PackingOptions& packing = options.packing;
  const CodecRegistry codecs = registry_with(options.packages);
  std::optional<Policy> policy;
  if (!options.policy.empty()) policy = load_policy(options.policy, codecs);
  const CodecRegistry& known = policy ? policy->codecs() : codecs;
  const ReencodeRequest request = request_of(options, known);
  const Checkpoint artifact = Checkpoint::open_artifact(packing.input, known);
  check_change(options, *artifact.artifact());
  warn_of_shard(*artifact.artifact());
  PlanOptions how = plan_options(
      packing, pack_targets(options.target, packing.profile, policy ? &*policy : nullptr));
  how.allow_unmatched = options.allow_unmatched;
  how.compress = request.compress;
  how.order_for_target = options.target.given();
  const Plan plan = policy ? plan_reencode(artifact, *policy, verb.rounding, how)
                           : plan_reencode(artifact, request, known, verb.rounding, how);
  return run_packing(
      {artifact, known, policy ? &*policy : nullptr, how.target, packing, verb.done, verb.doing},
      plan, common);
}

Command make(CLI::App& program, const CommonOptions& common, const Verb& verb,
             const char* description, const char* footer) {
  const auto options = std::make_shared<Options>();
  PackingOptions& packing = options->packing;
  CLI::App& command = add_command(program, verb.name, description, footer);
  add_argument(command, "ARTIFACT", packing.input, "The artifact to make another of");
  add_text_option(command, "-o,--output", packing.output, "FILE", "The artifact to write",
                  Need::required);
  add_text_option(command, "--to", options->to, "CODEC", "What weights are stored in");
  add_text_option(command, "--only", options->only, "PATTERN",
                  "Changes weights alone that this covers, as a policy's pattern does");
  add_text_option(command, "--order", options->order, "ORDER",
                  "rows1, or rows8 where a weight can have it");
  add_text_option(command, "--orientation", options->orientation, "LABEL", "out_in or in_out");
  add_compress_option(command, options->compress);
  add_text_option(command, "-p,--policy", options->policy, "FILE",
                  "A policy that decides of every weight");
  add_package_option(command, options->packages);
  add_target_options(command, options->target);
  add_profile_option(command, packing.profile);
  add_packing_options(command, packing);
  add_flag(command, "--allow-unmatched", options->allow_unmatched, "Policies may match no weight");
  return {&command, [&verb, options, &common] { return run(verb, *options, common); }};
}

}  // namespace

Command make_repack(CLI::App& program, const CommonOptions& common) {
  return make(program, common, kRepack, "Make another artifact of one, without changing a value",
              kRepackFooter);
}

Command make_requantize(CLI::App& program, const CommonOptions& common) {
  return make(program, common, kRequantize,
              "Make another artifact of one, in other codecs, which may round", kRequantizeFooter);
}

}  // namespace synps::cli
