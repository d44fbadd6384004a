#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <algorithm>
#include <memory>
#include <string>

#include "commands.h"
#include "explain_output.h"
#include "failures.h"
#include "inputs.h"
#include "standard_streams.h"
#include "synps/artifact_layout.h"
#include "synps/checked.h"
#include "synps/codec_registry.h"
#include "synps/json_writer.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Without a checkpoint the path need not exist, and whether the codec supports the weight is\n"
    "not judged.\n"
    "\n"
    "Examples:\n"
    "  synps explain model.layers.3.mlp.down_proj.weight -p synps.toml\n"
    "  synps explain lm_head.weight -p synps.toml -c model/ --json";

struct Options {
  std::string path;
  std::string policy;
  std::string checkpoint;
  bool json = false;
};

const SourceTensor& tensor_of(const Checkpoint& checkpoint, const std::string& path) {
  std::vector<std::string> paths;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    if (tensor.weight.path == path) return tensor;
    paths.push_back(tensor.weight.path);
  }
  Problem problem;
  problem.code = ErrorCode::usage;
  problem.file = checkpoint.path();
  problem.what = "there is no weight " + quote(path);
  if (const auto near = nearest(path, paths)) problem.hint = "did you mean " + quote(*near) + "?";
  throw Error(std::move(problem));
}

/// Bytes that the weight's entries take in an artifact: packed components are padded.
std::uint64_t artifact_bytes(const WeightResolution& resolution, const SourceTensor& tensor,
                             bool copied) {
  if (copied || resolution.codec->info().dense) {
    if (copied) return tensor.bytes;
    return resolution.codec->components(tensor.weight).front().bytes;
  }
  const bool is_volatile = resolution.scheme && resolution.scheme->is_volatile;
  std::uint64_t sum = 0;
  for (const Component& component : resolution.codec->components(tensor.weight)) {
    const auto padded =
        checked_round_up(component.bytes, is_volatile ? kPageAlignment : kPackedAlignment);
    const auto next = padded ? checked_add(sum, *padded) : std::nullopt;
    if (!next) throw usage_error("the weight " + quote(tensor.weight.path) + " is too large");
    sum = *next;
  }
  return sum;
}

/// What becomes of the weight, as far as its own policy decides it.
void add_weight(Explanation& explanation, const SourceTensor& tensor, const Policy& policy) {
  const WeightResolution& resolution = explanation.resolution;
  explanation.source_bytes = tensor.bytes;
  const Codec* source = policy.codecs().for_dtype(tensor.weight.dtype);
  const bool empty = tensor.weight.shape.elements() == 0;
  const bool copied = empty || resolution.keep || resolution.codec == source;
  if (!resolution.keep && resolution.codec == nullptr) return;
  const Codec* codec = copied ? source : resolution.codec;
  explanation.stored_codec = codec != nullptr ? codec->info().id() : CodecRef::keep().id();
  explanation.bytes = artifact_bytes(resolution, tensor, copied);
  explanation.form = resolve_packed_form(resolution.form, !copied,
                                         copied ? std::string() : resolution.codec->info().id());
}

int run(const Options& options) {
  if (!is_utf8(options.path))
    throw usage_error("PATH is not UTF-8: found " + quote(options.path), "paths of weights are");
  const Policy policy = load_policy(options.policy);
  Explanation explanation;
  explanation.path = options.path;
  explanation.policy_file = policy.file();
  if (options.checkpoint.empty()) {
    explanation.resolution = policy.explain(options.path);
  } else {
    const Checkpoint checkpoint = open_checkpoint(options.checkpoint);
    const SourceTensor& tensor = tensor_of(checkpoint, options.path);
    explanation.facts = {tensor.weight, std::string(encoding_name(tensor.weight.dtype))};
    explanation.resolution = policy.explain(options.path, &*explanation.facts);
    add_weight(explanation, tensor, policy);
  }
  write_output(options.json ? explain_json(explanation)
                            : explain_text(explanation, output_width()));
  return 0;
}

}  // namespace

Command make_explain(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App* command =
      program.add_subcommand("explain", "Show which policies decide about a weight, and how");
  command->footer(kFooter);
  command->add_option("PATH", options->path, "The weight's graph path")->type_name("")->required();
  add_policy_option(*command, options->policy);
  command
      ->add_option("-c,--checkpoint", options->checkpoint,
                   "A checkpoint that has the weight: adds support, form and bytes")
      ->type_name("CHECKPOINT");
  add_json_option(*command, options->json);
  return {command, [options] { return run(*options); }};
}

}  // namespace synps::cli
