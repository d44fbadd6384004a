#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/artifact_set.h"
#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/plan.h"
#include "synps/policy.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// Options that several commands share.
void add_policy_option(CLI::App& command, std::string& policy);
void add_jobs_option(CLI::App& command, unsigned& jobs);
/// `--max-memory SIZE`; 0 stays where it is not given.
void add_max_memory_option(CLI::App& command, std::uint64_t& bytes);
/// `--max-shard-size SIZE`; 0 stays where it is not given.
void add_max_shard_option(CLI::App& command, std::uint64_t& bytes);
void add_json_option(CLI::App& command, bool& json);
void add_all_option(CLI::App& command, bool& all);
/// `--compress METHOD`: for compress_request().
void add_compress_option(CLI::App& command, std::string& compress);
/// What the option asks for; nothing when it was not given.
std::optional<CompressRequest> compress_request(const std::string& compress);
/// `--to KIND`: for output_kind().
void add_output_kind_option(CLI::App& command, std::string& to);
/// What the option asks for; an artifact when it was not given.
OutputKind output_kind(const std::string& to);
/// What pack makes: what the option asks for, which the output's name must not contradict, or what
/// that name asks for. Throws Error(usage).
OutputKind output_kind_for(const std::string& output, const std::string& to);
/// Throws Error(usage) for a --compress that an output of this kind cannot have.
void check_compress(OutputKind kind, const std::string& compress);

/// `--package NAME=PATH`, any number of times. For registry_with().
void add_package_option(CLI::App& command, std::vector<std::string>& packages);

/// The built-in codecs and those of `packages`, each NAME=PATH. Whatever uses codecs of the
/// registry (a Policy, a Plan, an Artifact) must not outlive it. Throws Error(usage) for one that
/// is not NAME=PATH or a name given twice, Error(package) for a package that cannot be used.
CodecRegistry registry_with(const std::vector<std::string>& packages);

/// Whether `path` says that it is an artifact (ArtifactSet::recognises). Throws Error(io) when
/// there is no such file.
bool is_artifact(const std::string& path);

/// Checkpoint::open, logged.
Checkpoint open_checkpoint(const std::string& path);
/// A checkpoint or an artifact, as a source of weights.
Checkpoint open_source(const std::string& path, const CodecRegistry& codecs);
/// The same for packing into an output of this kind. Throws also what check_output_kind() throws.
Checkpoint open_checkpoint(const std::string& path, OutputKind kind);

/// The policy file `given`, or `synps.toml` in the working folder when that is empty. Throws
/// Error(usage) when there is neither.
std::string policy_file(const std::string& given);

/// How policies are read with registry_with()'s codecs: packages of the command line win over those
/// of the same name in the file.
PolicyOptions policy_options(const CodecRegistry& codecs);

/// Loads the policy `given`, or `synps.toml` in the working folder when that is empty. `codecs` is
/// registry_with() the command line's packages; the policy may name more. Throws Error(usage) when
/// there is neither file.
Policy load_policy(const std::string& given, const CodecRegistry& codecs);

/// Warns of codecs that the weights of an artifact need and `codecs` has not: what is about to be
/// shown or checked does not need them, but loading the artifact does.
void log_missing_codecs(const ArtifactSet& artifact, const CodecRegistry& codecs);

/// Logs what is allowed but most likely not meant about the weights of a checkpoint whose plan
/// has been made.
void log_warnings(const Plan& plan);

/// Which file `path` is, links followed. Throws Error(io).
FileIdentity identity_of(const std::string& path);

/// All files of an artifact or a checkpoint; nothing where it opens as neither, for then nobody
/// knows which files belong to it. Throws Error(io).
std::optional<std::vector<FileIdentity>> files_of(const std::string& path);

/// The shared objects of a registry's codec packages: inputs that no output may replace.
std::vector<FileIdentity> package_files(const CodecRegistry& codecs);

}  // namespace synps::cli
