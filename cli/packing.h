#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "commands.h"
#include "packed_output.h"
#include "synps/checkpoint.h"
#include "synps/pack.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "target_options.h"

namespace synps::cli {

/// Options of the commands that write an artifact by a plan.
struct PackingOptions {
  std::string input;
  std::string output;
  std::string trace;
  std::string report;
  std::string profile;
  bool force = false;
  bool dry_run = false;
  bool allow_overflow = false;
  unsigned jobs = 0;
  std::uint64_t max_memory = 0;
  std::uint64_t max_shard = 0;
  bool all = false;
  bool json = false;
};

/// `-o`, `--force`, `--dry-run`, `--trace`, `--report`, `--allow-overflow` and what is about how to
/// work.
void add_packing_options(CLI::App& command, PackingOptions& options);

/// A command that writes an artifact by a plan.
struct Packing {
  const Checkpoint& source;
  const CodecRegistry& codecs;
  const Policy* policy = nullptr;  ///< null: none decided
  const PackTargets& targets;
  const PackingOptions& options;
  const char* done;   ///< "packed", of the text
  const char* doing;  ///< "packing", of the progress bar
};

/// Files that nothing may replace: the source, the policy, codec packages.
std::vector<FileIdentity> packing_inputs(const Packing& packing);

/// What planning needs of the options.
PlanOptions plan_options(const PackingOptions& options, PackTargets targets);

/// Writes what is planned, or with --dry-run shows it, and prints what there is to say. Returns the
/// exit code.
int run_packing(const Packing& packing, const Plan& plan, const CommonOptions& common);

}  // namespace synps::cli
