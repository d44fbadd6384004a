#pragma once

#include <string>

#include "synps/checkpoint.h"
#include "synps/plan.h"
#include "synps/policy.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// Options that several commands share.
void add_policy_option(CLI::App& command, std::string& policy);
void add_jobs_option(CLI::App& command, unsigned& jobs);
void add_json_option(CLI::App& command, bool& json);
void add_all_option(CLI::App& command, bool& all);

/// Whether `path` is a file that says it is an artifact. Throws Error(io) when there is no such
/// file.
bool is_artifact(const std::string& path);

/// Checkpoint::open, logged.
Checkpoint open_checkpoint(const std::string& path);

/// Loads the policy `given`, or `synps.toml` in the working folder when that is empty. Throws
/// Error(usage) when there is neither.
Policy load_policy(const std::string& given);

/// Logs what is allowed but most likely not meant about the weights of a checkpoint whose plan
/// has been made.
void log_warnings(const Plan& plan);

/// Which file `path` is, links followed. Throws Error(io).
FileIdentity identity_of(const std::string& path);

}  // namespace synps::cli
