#include "profile_options.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>
#include <vector>

#include "byte_size.h"
#include "failures.h"

namespace synps::cli {
namespace {

constexpr std::string_view kAuto = "auto";

Error unknown_profile(const std::string& name, const Policy* policy) {
  std::vector<std::string> known;
  for (const Profile& profile : builtin_profiles()) known.push_back(profile.name);
  if (policy != nullptr)
    for (const PolicyProfile& own : policy->profiles()) known.push_back(own.profile.name);
  known.emplace_back(kAuto);
  const auto near = nearest(name, known);
  std::string hint = near ? fmt::format("did you mean `{}`?", *near)
                          : std::string("`synps profiles -p FILE` lists those that there are");
  if (!near && policy == nullptr) hint += "; -p names the policy that has own ones";
  return usage_error("unknown profile " + quote(name), std::move(hint));
}

}  // namespace

void add_profile_option(CLI::App& command, std::string& profile) {
  command
      .add_option(
          "--profile", profile,
          "What the device affords: desktop, native, edge, mobile_2gb, one of the policy's, "
          "auto")
      ->type_name("NAME");
}

void add_budget_options(CLI::App& command, ProfileOptions& options) {
  command
      .add_option_function<std::string>(
          "--budget",
          [&options](const std::string& text) { options.budget = parse_byte_size(text); },
          "Memory that weights on the heap may take, such as 512MiB; not the profile's")
      ->check(CLI::Validator(byte_count_fault, ""))
      ->type_name("SIZE");
  command.add_flag("--allow-over-budget", options.allow_over_budget,
                   "What does not fit the budget is no error");
}

std::optional<Profile> chosen_profile(const std::string& name, const Policy* policy) {
  if (name.empty()) return std::nullopt;
  if (name == kAuto) return profile_for_memory(machine_memory().total);
  const auto profile = policy != nullptr ? policy->profile(name) : builtin_profile(name);
  if (!profile) throw unknown_profile(name, policy);
  return profile;
}

}  // namespace synps::cli
