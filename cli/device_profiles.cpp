#include "device_profiles.h"

#include <fmt/core.h>
#include <spdlog/spdlog.h>

#include <map>
#include <utility>
#include <vector>

#include "synps/stored_codec.h"
#include "text.h"

namespace synps::cli {
namespace {

/// The one target that all weights are packed for, or null.
const PackTarget* common_target(const Plan& plan, const PackTargets& targets) {
  const PackTarget* common = nullptr;
  for (const StoredWeight& weight : plan.layout.index.weights) {
    const PackTarget& target = targets.of(weight.device);
    if (common != nullptr && common->name != target.name) return nullptr;
    common = &target;
  }
  return common;
}

/// Weights of one device, under its profile.
struct DeviceWeights {
  Profile profile{};
  std::vector<PlannedLoad> loads{};
};

std::map<std::string, DeviceWeights> by_device(const Plan& plan, const CodecRegistry& codecs,
                                               const PackTargets& targets) {
  std::map<std::string, DeviceWeights> devices;
  for (const StoredWeight& weight : plan.layout.index.weights) {
    const PackTarget& target = targets.of(weight.device);
    if (!target.profile) continue;
    LoadOptions how;
    how.profile = target.profile;
    how.capabilities = target.capabilities;
    DeviceWeights& device = devices[weight.device];
    device.profile = *target.profile;
    device.loads.push_back(planned_load(weight, stored_codec(codecs, weight), how));
  }
  return devices;
}

/// The profile, called after its device where that is not this machine.
std::string name_for(const Profile& profile, const std::string& device) {
  return device == "local" ? profile.name
                           : fmt::format("{} of the device {}", profile.name, quote(device));
}

}  // namespace

LoadReport report_load_for(const Plan& plan, const CodecRegistry& codecs,
                           const PackTargets& targets, LoadOptions how) {
  const PackTarget* target = common_target(plan, targets);
  if (target == nullptr) target = &targets.of("local");
  if (how.profile) how.capabilities = target->capabilities;
  return report_load(plan.layout.index, codecs, how, target->name);
}

void check_device_profiles(const Plan& plan, const CodecRegistry& codecs,
                           const PackTargets& targets, const std::string& file) {
  for (auto& [name, device] : by_device(plan, codecs, targets)) {
    Profile profile = device.profile;
    profile.name = name_for(profile, name);
    const bool own_memory = profile.memory_bytes.has_value();
    if (!profile.strict && !own_memory) continue;
    const MemoryPlan loads =
        resolve_plan(std::move(device.loads), budget_here(profile), profile.strict);
    if (profile.strict)
      check_fits(loads, profile, file, false, "take another profile");
    else if (!loads.fits)
      spdlog::warn(
          "{}: loading does not fit the budget of the profile {}: `synps plan --profile "
          "{}` shows why",
          escape_for_display(file), profile.name, escape_for_display(device.profile.name));
  }
}

}  // namespace synps::cli
