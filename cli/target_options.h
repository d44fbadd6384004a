#pragma once

#include <string>

#include "synps/kernel.h"
#include "synps/packed_form.h"
#include "synps/policy.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// The machine, and the kernels that it has, for which a form is decided.
struct TargetOptions {
  std::string target;   ///< "" for the command's own
  std::string kernels;  ///< "" for all

  bool given() const noexcept { return !target.empty() || !kernels.empty(); }
};

/// `--target TARGET` and `--kernels KERNELS`.
void add_target_options(CLI::App& command, TargetOptions& options);

/// What `--target` asks for, else `otherwise`.
TargetRequest target_request(const TargetOptions& options, TargetRequest otherwise);
/// The built-in kernels that `--kernels` leaves.
KernelRegistry kernels_for(const TargetOptions& options);
/// What these kernels of that target feed on.
Capabilities capabilities_for(const TargetOptions& options, TargetRequest otherwise);

/// What it is called: "cpu-avx2", "native (--kernels dense)".
std::string target_name(const TargetOptions& options, TargetRequest otherwise);

/// What packing is for: the kernels of all CPUs, unless the options say something else, so that the
/// bytes do not depend on this machine.
PackTarget pack_target(const TargetOptions& options);
/// What it is for by device: what the options say, else what the policy, if there is one, says of
/// the device. The profile is `profile` (chosen_profile()), or the device's.
PackTargets pack_targets(const TargetOptions& options, const std::string& profile,
                         const Policy* policy);

}  // namespace synps::cli
