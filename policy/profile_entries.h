#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <toml++/toml.h>

#include "problem_list.h"
#include "synps/form.h"
#include "synps/kernel.h"
#include "synps/policy.h"

namespace synps {

/// `[profiles.NAME]`, as written.
struct ProfileEntry {
  SourcePlace place;    ///< of the name
  std::string extends;  ///< "" for none
  SourcePlace extends_place;
  std::optional<std::uint64_t> memory;
  std::optional<std::uint64_t> reserve;
  std::optional<Residency> residency;
  std::optional<bool> strict;
};

/// `[devices.NAME]`, as written.
struct DeviceEntry {
  SourcePlace place;  ///< of the name
  TargetRequest target = TargetRequest::cpu;
  std::string profile;  ///< "" for none
  SourcePlace profile_place;
};

using ProfileEntries = std::map<std::string, ProfileEntry, std::less<>>;
using DeviceEntries = std::map<std::string, DeviceEntry, std::less<>>;

/// What a file says, as far as check_schema took no exception to it. A name that is built in is a
/// problem.
ProfileEntries read_profiles(const toml::table& root, ProblemList& problems);
DeviceEntries read_devices(const toml::table& root, ProblemList& problems);

/// The problems of what file `source` says: profiles that it extends or gives to devices and that
/// neither it nor its bases have, and circles. `profiles` are those of the file and its bases.
void check_profiles(const ProfileEntries& profiles, const DeviceEntries& devices,
                    std::uint32_t source, ProblemList& problems);

/// Every profile with what it extends. Only of what check_profiles had no problem with.
std::vector<PolicyProfile> resolve_profiles(const ProfileEntries& profiles);

}  // namespace synps
