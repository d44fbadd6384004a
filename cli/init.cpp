#include <fmt/core.h>

#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "inputs.h"
#include "options.h"
#include "standard_streams.h"
#include "starter_policy.h"
#include "starter_text.h"
#include "synps/builtin_codecs.h"
#include "synps/file.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Reads headers only. The policy names every group of weights that it converts, keeps the "
    "rest,\n"
    "and says why in comments. It is a place to start from, to be read and changed.\n"
    "\n"
    "What the big matrices get:\n"
    "  f16      16 bits a weight: nothing gained where the source has 16, and bf16 is rounded\n"
    "  q8_0     8.5 bits\n"
    "  q4_0     4.5 bits; embeddings and the output head 8.5\n"
    "  ternary  2 bits and a little; embeddings and the output head 8.5. For models that were\n"
    "           trained to have ternary weights; others lose much of what they know\n"
    "\n"
    "Examples:\n"
    "  synps init model/ > synps.toml\n"
    "  synps init model/ --preset q4_0 -o synps.toml";

struct Options {
  std::string checkpoint;
  std::string output;
  std::string preset = "q8_0";
  bool force = false;
};

/// The last part of a path, for a comment: "" where that says nothing.
std::string base_name(std::string path) {
  while (!path.empty() && path.back() == '/') path.pop_back();
  path.erase(0, path.rfind('/') + 1);
  if (path == "." || path == "..") return {};
  constexpr std::size_t kLongest = 60;
  return path.size() > kLongest ? std::string() : escape_for_display(path);
}

void refuse_artifact(const std::string& path) {
  if (!is_artifact(path)) return;
  throw usage_error(quote(path) + " is an artifact: its weights are packed already",
                    "name the checkpoint that it was made of; `synps inspect` shows which policies "
                    "decided");
}

void write_file(const std::string& text, const Checkpoint& checkpoint, const Options& options) {
  AtomicFile::Options how;
  how.replace = options.force;
  how.inputs = checkpoint.inputs();
  AtomicFile file(Os::posix(), options.output, how);
  file.allocate(text.size());
  file.write(0, std::as_bytes(std::span(text)));
  file.commit();
}

/// A word that a shell takes as it is.
std::string shell_word(const std::string& text) {
  const bool plain = text.find_first_not_of(
                         "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"
                         "_-./+,:=@%") == std::string::npos;
  if (plain && text.front() != '-') return text;
  std::string out = "'";
  for (const char c : text) out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return escape_for_display(out + "'");
}

std::string next_steps(const Options& options, bool is_gguf) {
  const std::string policy = shell_word(options.output);
  const std::string checkpoint = shell_word(options.checkpoint);
  std::string out = fmt::format(
      "wrote {}; read it, then\n"
      "  synps check {} -p {}\n"
      "  synps plan {} -p {}\n",
      escape_for_display(options.output), checkpoint, policy, checkpoint, policy);
  if (is_gguf) out += "both with --to gguf when a GGUF file is to be packed (-o NAME.gguf)\n";
  return out;
}

const Preset& preset_named(const std::string& name) {
  if (const Preset* preset = find_preset(name)) return *preset;
  std::vector<std::string> names;
  std::string list;
  for (const Preset& preset : presets()) {
    names.emplace_back(preset.name);
    list += fmt::format("{}{}", list.empty() ? "" : ", ", preset.name);
  }
  const std::optional<std::string> near = nearest(name, names);
  throw usage_error(
      "unknown preset " + quote(name),
      near ? fmt::format("did you mean '{}'? There are {}", *near, list) : "there are " + list);
}

int run(const Options& options, const CommonOptions& common) {
  const Preset& preset = preset_named(options.preset);
  refuse_artifact(options.checkpoint);
  const Checkpoint checkpoint = open_checkpoint(options.checkpoint);
  const std::vector<WeightFacts> weights = weight_facts(checkpoint);
  const CodecRegistry& codecs = builtin_registry();
  const std::string text = starter_text(make_starter_policy(weights, preset, codecs), weights,
                                        base_name(options.checkpoint), codecs);
  if (options.output.empty()) {
    write_output(text);
    return 0;
  }
  write_file(text, checkpoint, options);
  if (!common.quiet) write_error(next_steps(options, checkpoint.gguf_version() != 0));
  return 0;
}

}  // namespace

Command make_init(CLI::App& program, const CommonOptions& common) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "init", "Write a starter synps.toml for a checkpoint", kFooter);
  add_argument(command, "CHECKPOINT", options->checkpoint, "The checkpoint to be packed");
  add_text_option(command, "-o,--output", options->output, "FILE",
                  "The file to write; standard output if none");
  add_flag(command, "-f,--force", options->force, "Replace an output that exists");
  add_text_option(command, "--preset", options->preset, "f16|q8_0|q4_0|ternary",
                  "What the big matrices get; q8_0 if not given");
  return {&command, [options, &common] { return run(*options, common); }};
}

}  // namespace synps::cli
