#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "synps/policy.h"
#include "synps/profile.h"

namespace CLI {
class App;
}

namespace synps::cli {

/// What loading may take, and what it does about it.
struct ProfileOptions {
  std::string profile;                    ///< "" for none
  std::optional<std::uint64_t> budget{};  ///< bytes
  bool allow_over_budget = false;

  bool given() const noexcept { return !profile.empty() || budget || allow_over_budget; }
};

/// `--profile NAME`.
void add_profile_option(CLI::App& command, std::string& profile);
/// `--budget SIZE` and `--allow-over-budget`.
void add_budget_options(CLI::App& command, ProfileOptions& options);

/// The profile of that name: `auto` for this machine's, one of the policy's own (null: no policy),
/// or a built-in one. Nothing for "". Throws Error(usage) for another name, Error(io).
std::optional<Profile> chosen_profile(const std::string& name, const Policy* policy);

}  // namespace synps::cli
