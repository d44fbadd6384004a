#include "target_options.h"

#include <fmt/core.h>

#include <CLI/App.hpp>
#include <CLI/Config.hpp>
#include <CLI/Formatter.hpp>

#include "profile_options.h"
#include "synps/builtin_kernels.h"
#include "synps/error.h"

namespace synps::cli {
namespace {

/// What is wrong with a --target, or nothing.
std::string target_fault(const std::string& text) {
  if (target_request_from(text)) return {};
  return fmt::format("{} is none of cpu, cpu-portable, cpu-avx2, cpu-neon, native", quote(text));
}

/// What is wrong with a --kernels, or nothing.
std::string kernels_fault(const std::string& text) {
  if (text == "all" || text == "dense" || text == "none") return {};
  return fmt::format("{} is none of all, dense, none", quote(text));
}

}  // namespace

void add_target_options(CLI::App& command, TargetOptions& options) {
  command
      .add_option("--target", options.target,
                  "Whose kernels: cpu (any), cpu-portable, cpu-avx2, cpu-neon, native")
      ->check(CLI::Validator(target_fault, ""))
      ->type_name("TARGET");
  command
      .add_option("--kernels", options.kernels,
                  "Only some kernels: dense (none for packed codecs), none; all when not given")
      ->check(CLI::Validator(kernels_fault, ""))
      ->type_name("KERNELS");
}

TargetRequest target_request(const TargetOptions& options, TargetRequest otherwise) {
  return options.target.empty() ? otherwise
                                : target_request_from(options.target).value_or(otherwise);
}

KernelRegistry kernels_for(const TargetOptions& options) {
  if (options.kernels == "none") return {};
  if (options.kernels == "dense") return builtin_kernels().only(is_dense);
  return builtin_kernels();
}

Capabilities capabilities_for(const TargetOptions& options, TargetRequest otherwise) {
  return kernels_for(options).capabilities(target_request(options, otherwise));
}

std::string target_name(const TargetOptions& options, TargetRequest otherwise) {
  const std::string_view target = to_string(target_request(options, otherwise));
  if (options.kernels.empty() || options.kernels == "all") return std::string(target);
  return fmt::format("{} (--kernels {})", target, options.kernels);
}

PackTarget pack_target(const TargetOptions& options) {
  PackTarget target;
  target.capabilities = capabilities_for(options, TargetRequest::cpu);
  target.name = target_name(options, TargetRequest::cpu);
  return target;
}

PackTargets pack_targets(const TargetOptions& options, const std::string& profile,
                         const Policy* policy) {
  PackTarget all = pack_target(options);
  all.profile = chosen_profile(profile, policy);
  PackTargets targets(all);
  if (policy == nullptr) return targets;
  for (const PolicyDevice& device : policy->devices()) {
    TargetOptions of_device = options;
    if (options.target.empty()) of_device.target = to_string(device.target);
    PackTarget target = pack_target(of_device);
    target.profile = profile.empty() ? device.profile : all.profile;
    targets.set(device.name, std::move(target));
  }
  return targets;
}

}  // namespace synps::cli
