#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "explain_output.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "standard_streams.h"
#include "synps/codec_registry.h"
#include "synps/json_writer.h"
#include "target_options.h"
#include "text.h"
#include "why_not.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Without a checkpoint the path need not exist, and whether the codec supports the weight is\n"
    "not judged. --scope and --lifetime ask about values that are no weights: inputs, outputs,\n"
    "caches, activations.\n"
    "\n"
    "Examples:\n"
    "  synps explain model.layers.3.mlp.down_proj.weight -p synps.toml\n"
    "  synps explain lm_head.weight -p synps.toml -c model/ --json\n"
    "  synps explain lm_head.weight -c model/ --why-not q4_0\n"
    "  synps explain model.layers.0.self_attn.cache --scope internal --lifetime session";

struct Options {
  std::string path;
  std::string policy;
  std::vector<std::string> packages;
  std::string checkpoint;
  std::string scope;
  std::string lifetime;
  std::string why_not;
  std::string compress;
  std::string to;
  TargetOptions target;
  bool json = false;
};

Scope scope_of(const Options& options) {
  if (options.scope.empty()) return Scope::constant;
  const std::optional<Scope> scope = scope_from(options.scope);
  if (scope == Scope::any)
    throw usage_error("no value has the scope `any`", "schemes have it; name one of the scopes");
  if (scope) return *scope;
  throw usage_error("there is no scope " + quote(options.scope),
                    "the scopes are constant, input, output, internal");
}

Lifetime lifetime_of(const Options& options, Scope scope) {
  const bool constant = scope == Scope::constant;
  if (options.lifetime.empty()) return constant ? Lifetime::immutable : Lifetime::invocation;
  const std::optional<Lifetime> lifetime = lifetime_from(options.lifetime);
  if (!lifetime)
    throw usage_error("there is no lifetime " + quote(options.lifetime),
                      "the lifetimes are immutable, invocation, session");
  if (lifetime == Lifetime::any)
    throw usage_error("no value has the lifetime `any`",
                      "schemes have it; name one of the lifetimes");
  if (constant && lifetime != Lifetime::immutable)
    throw usage_error(fmt::format("a contradiction: constants are immutable, and --lifetime is {}",
                                  to_string(*lifetime)),
                      "name another --scope: input, output, internal");
  return *lifetime;
}

Value value_of(const Options& options) {
  if (!is_utf8(options.path))
    throw usage_error("PATH is not UTF-8: found " + quote(options.path), "paths of weights are");
  const Scope scope = scope_of(options);
  if (scope != Scope::constant && !options.checkpoint.empty())
    throw usage_error(
        fmt::format("a checkpoint holds constants: it says nothing of scope {}", to_string(scope)),
        "leave out --checkpoint, or --scope");
  return {options.path, scope, lifetime_of(options, scope)};
}

/// Without a checkpoint nothing tells that there is no such weight.
void warn_of_pattern(const Options& options) {
  if (options.checkpoint.empty() && options.path.find_first_of("*?{") != std::string::npos)
    spdlog::warn("{} is taken as a path, not as a pattern", quote(options.path));
}

/// No policy can give a GGUF file what it has no tensor type for.
void check_why_not(const std::string& format, OutputKind kind, const CodecRegistry& codecs) {
  const Codec* codec = codecs.resolve(format);
  if (kind != OutputKind::gguf || codec == nullptr) return;
  if (gguf_type_of_codec(codec->info().id()) != nullptr) return;
  throw usage_error("GGUF has no tensor type for " + quote(format) + ", whatever a policy says",
                    "leave out --to gguf, or name another format");
}

int run(const Options& options) {
  Value value = value_of(options);
  const OutputKind kind = output_kind(options.to);
  check_compress(kind, options.compress);
  warn_of_pattern(options);
  const CodecRegistry codecs = registry_with(options.packages);
  check_why_not(options.why_not, kind, codecs);
  const Policy policy = load_policy(options.policy, codecs);
  std::optional<Checkpoint> checkpoint;
  if (!options.checkpoint.empty()) checkpoint = open_checkpoint(options.checkpoint, kind);
  const Checkpoint* opened = checkpoint ? &*checkpoint : nullptr;
  const PackTargets target = pack_targets(options.target, {}, &policy);
  const Explanation explanation = explain_value(
      policy, std::move(value), opened, {compress_request(options.compress), kind, &target});
  std::optional<WhyNot> answer;
  if (!options.why_not.empty())
    answer = why_not(explanation, options.why_not, opened, {&codecs, policy_options(codecs)});
  const WhyNot* asked = answer ? &*answer : nullptr;
  write_output(options.json ? explain_json(explanation, asked)
                            : explain_text(explanation, asked, output_width()));
  return 0;
}

}  // namespace

Command make_explain(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command = add_command(program, "explain",
                                  "Show which policies decide about a weight, and how", kFooter);
  add_argument(command, "PATH", options->path, "The weight's graph path");
  add_policy_option(command, options->policy);
  add_package_option(command, options->packages);
  add_text_option(command, "-c,--checkpoint", options->checkpoint, "CHECKPOINT",
                  "A checkpoint that has the weight: adds support, form and bytes");
  add_text_option(command, "--scope", options->scope, "SCOPE",
                  "Of the value: constant (as weights are), input, output, internal");
  add_text_option(command, "--lifetime", options->lifetime, "LIFETIME",
                  "Of the value: immutable, invocation, session (default by scope)");
  add_text_option(command, "--why-not", options->why_not, "FORMAT",
                  "Say what keeps it from this format, and what to write to get it");
  add_compress_option(command, options->compress);
  add_output_kind_option(command, options->to);
  add_target_options(command, options->target);
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
