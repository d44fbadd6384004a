#include "inputs.h"

#include <errno.h>
#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <charconv>
#include <map>
#include <set>
#include <string_view>

#include "byte_size.h"
#include "failures.h"
#include "synps/builtin_codecs.h"
#include "synps/codec_package.h"
#include "synps/file.h"
#include "synps/plan.h"
#include "synps/stored_codec.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kDefaultPolicy = "synps.toml";
constexpr unsigned kMaxJobs = 1024;

FileStatus status_of(const std::string& path) {
  FileStatus status;
  const int result = Os::posix().status(path, true, status);
  if (result == 0) return status;
  Problem problem;
  problem.code = ErrorCode::io;
  problem.file = path;
  problem.what = "cannot open the file";
  problem.found = errno_text(result);
  throw Error(std::move(problem));
}

/// What is wrong with a --jobs, or nothing.
std::string job_count_fault(const std::string& text) {
  unsigned jobs = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), jobs);
  if (error == std::errc() && end == text.data() + text.size() && jobs <= kMaxJobs) return {};
  return fmt::format("{} is not a whole number from 0 to {}", quote(text), kMaxJobs);
}

/// What is wrong with a --compress, or nothing.
std::string compress_fault(const std::string& text) {
  if (compress_request_from(text)) return {};
  return fmt::format("{} is not none, zstd, or zstd:LEVEL with a level from {} to {}", quote(text),
                     kMinZstdLevel, kMaxZstdLevel);
}

void add_size_option(CLI::App& command, const char* name, std::uint64_t& bytes,
                     const char* description) {
  command
      .add_option_function<std::string>(
          name, [&bytes](const std::string& text) { bytes = parse_byte_size(text).value_or(0); },
          description)
      ->check(CLI::Validator(byte_size_fault, ""))
      ->type_name("SIZE");
}

/// What is wrong with a --to, or nothing.
std::string output_kind_fault(const std::string& text) {
  if (output_kind_from(text)) return {};
  return fmt::format("{} is neither artifact nor gguf", quote(text));
}

}  // namespace

void add_policy_option(CLI::App& command, std::string& policy) {
  command.add_option("-p,--policy", policy, "The policy; synps.toml in this folder when not given")
      ->type_name("FILE");
}

void add_jobs_option(CLI::App& command, unsigned& jobs) {
  command
      .add_option("-j,--jobs", jobs, "Worker threads, 0 for one a core. Never changes the result")
      ->check(CLI::Validator(job_count_fault, ""))
      ->type_name("N");
}

void add_max_memory_option(CLI::App& command, std::uint64_t& bytes) {
  add_size_option(command, "--max-memory", bytes,
                  "The most memory to take, such as 512MiB; fewer workers are used, to fit");
}

void add_max_shard_option(CLI::App& command, std::uint64_t& bytes) {
  add_size_option(command, "--max-shard-size", bytes,
                  "The most bytes of a file, such as 5GB; what is larger is cut into shards");
}

void add_json_option(CLI::App& command, bool& json) {
  command.add_flag("--json", json, "Print JSON with stable keys, for programs");
}

void add_all_option(CLI::App& command, bool& all) {
  command.add_flag("-a,--all", all, "One row a weight, nothing folded");
}

void add_compress_option(CLI::App& command, std::string& compress) {
  command
      .add_option("--compress", compress,
                  "For weights for which no policy sets compress: none, zstd, zstd:LEVEL")
      ->check(CLI::Validator(compress_fault, ""))
      ->type_name("METHOD");
}

std::optional<CompressRequest> compress_request(const std::string& compress) {
  return compress.empty() ? std::nullopt : compress_request_from(compress);
}

void add_output_kind_option(CLI::App& command, std::string& to) {
  command.add_option("--to", to, "What packing makes: artifact, or gguf of a GGUF checkpoint")
      ->check(CLI::Validator(output_kind_fault, ""))
      ->type_name("KIND");
}

OutputKind output_kind(const std::string& to) {
  return output_kind_from(to).value_or(OutputKind::artifact);
}

OutputKind output_kind_for(const std::string& output, const std::string& to) {
  const OutputKind named = output_kind_of_path(output);
  if (to.empty() || output_kind(to) == named) return named;
  throw usage_error(
      fmt::format("a contradiction: --to {}, and the output is called {}", to, quote(output)),
      named == OutputKind::gguf ? "call an artifact something else, such as model.synps"
                                : "give it a name that ends in .gguf");
}

void check_compress(OutputKind kind, const std::string& compress) {
  const auto asked = compress_request(compress);
  if (kind == OutputKind::artifact || !asked || asked->method == Compression::none) return;
  throw usage_error("GGUF holds no compressed weights: --compress " + compress,
                    "leave out --compress, or pack an artifact");
}

void add_package_option(CLI::App& command, std::vector<std::string>& packages) {
  command.add_option("--package", packages, "A codec package: its name and its shared object")
      ->type_name("NAME=PATH")
      ->allow_extra_args(false);  // an argument that follows is not one more package
}

CodecRegistry registry_with(const std::vector<std::string>& packages) {
  CodecRegistry registry = make_builtin_registry();
  std::set<std::string_view> names;
  for (const std::string& package : packages) {
    const std::size_t equals = package.find('=');
    if (equals == 0 || equals == std::string::npos || equals + 1 == package.size())
      throw usage_error("--package needs a name and a file: found " + quote(package),
                        "such as --package q8_row=./q8_row.so");
    const std::string name = package.substr(0, equals);
    if (!names.insert(std::string_view(package).substr(0, equals)).second)
      throw usage_error("--package names " + quote(name) + " twice");
    add_codec_package(registry, name, package.substr(equals + 1));
  }
  return registry;
}

bool is_artifact(const std::string& path) {
  const FileStatus::Kind kind = status_of(path).kind;
  return (kind == FileStatus::Kind::regular || kind == FileStatus::Kind::directory) &&
         ArtifactSet::recognises(path);
}

Checkpoint open_checkpoint(const std::string& path) {
  Checkpoint checkpoint = Checkpoint::open(path);
  spdlog::info("{}: {}, {} of data in {}", escape_for_display(path),
               counted(checkpoint.tensors().size(), "tensor"), human_bytes(checkpoint.data_bytes()),
               counted(checkpoint.files().size(), "file"));
  return checkpoint;
}

Checkpoint open_source(const std::string& path, const CodecRegistry& codecs) {
  if (is_artifact(path)) return Checkpoint::open_artifact(path, codecs);
  try {
    return open_checkpoint(path);
  } catch (const Error& error) {
    if (error.code() != ErrorCode::checkpoint || !path.ends_with(".synps")) throw;
  }
  // It was to be an artifact, and is damaged: it says how.
  return Checkpoint::open_artifact(path, codecs);
}

Checkpoint open_checkpoint(const std::string& path, OutputKind kind) {
  // What unpacking writes is no GGUF checkpoint either.
  if (kind == OutputKind::gguf && is_artifact(path))
    throw Error({.code = ErrorCode::usage,
                 .file = path,
                 .what = "a GGUF file can only be made of a GGUF checkpoint",
                 .found = "an artifact of synps",
                 .hint = "use the GGUF checkpoint that it was packed from"});
  Checkpoint checkpoint = open_checkpoint(path);
  check_output_kind(checkpoint, kind);
  return checkpoint;
}

std::string policy_file(const std::string& given) {
  if (!given.empty()) return given;
  FileStatus status;
  if (Os::posix().status(kDefaultPolicy, true, status) == -ENOENT) {
    Problem problem;
    problem.code = ErrorCode::usage;
    problem.what = "no policy was named with -p, and there is no synps.toml in this folder";
    problem.hint = "name one, or write one: `synps init CHECKPOINT -o synps.toml`";
    throw Error(std::move(problem));
  }
  return kDefaultPolicy;
}

PolicyOptions policy_options(const CodecRegistry& codecs) {
  PolicyOptions options;
  std::vector<std::string>& given = options.given_packages;
  for (const Codec* codec : codecs.all()) {
    const CodecInfo& info = codec->info();
    if (!info.file.empty() && (given.empty() || given.back() != info.package))
      given.push_back(info.package);  // all() is in order of packages
  }
  return options;
}

Policy load_policy(const std::string& given, const CodecRegistry& codecs) {
  Policy policy = Policy::load(policy_file(given), codecs, policy_options(codecs));
  spdlog::info("{}: {}", escape_for_display(policy.file()),
               policy.entries().size() == 1 ? "1 policy"
                                            : fmt::format("{} policies", policy.entries().size()));
  return policy;
}

void log_missing_codecs(const ArtifactSet& artifact, const CodecRegistry& codecs) {
  for (const Problem& problem : missing_codecs(artifact.path(), artifact.index().weights, codecs))
    spdlog::warn("{}", to_string(problem));
}

void log_warnings(const Plan& plan) {
  std::map<std::string, std::vector<const std::string*>> paths;
  for (const PlannedWeight& planned : plan.weights)
    if (!planned.warning.empty())
      paths[planned.warning].push_back(&plan.stored(planned).weight.path);
  for (const auto& [warning, weights] : paths)
    spdlog::warn("{}, such as {}: {}", counted(weights.size(), "weight"), quote(*weights.front()),
                 escape_for_display(warning));
  for (const Problem& problem : plan.warnings) spdlog::warn("{}", to_string(problem));
}

FileIdentity identity_of(const std::string& path) {
  return status_of(path).identity;
}

std::optional<std::vector<FileIdentity>> files_of(const std::string& path) {
  status_of(path);
  try {
    return ArtifactSet(path).inputs();
  } catch (const Error&) {
    // May be a GGUF checkpoint.
  }
  try {
    return Checkpoint::open(path).inputs();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::vector<FileIdentity> package_files(const CodecRegistry& codecs) {
  std::vector<FileIdentity> files;
  for (const Codec* codec : codecs.all())
    if (!codec->info().file.empty()) files.push_back(identity_of(codec->info().file));
  return files;
}

}  // namespace synps::cli
