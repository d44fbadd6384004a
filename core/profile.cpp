#include "synps/profile.h"

#include <algorithm>
#include <array>

namespace synps {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

}  // namespace

namespace profiles {

Profile desktop() {
  return {.name = "desktop", .reserve_bytes = 700 * kMiB};
}
Profile native() {
  return {.name = "native", .reserve_bytes = 300 * kMiB};
}
Profile edge() {
  return {.name = "edge", .residency = Residency::mapped};
}
Profile mobile_2gb() {
  return {.name = "mobile_2gb",
          .memory_bytes = 2 * kGiB,
          .reserve_bytes = 700 * kMiB,
          .residency = Residency::mapped,
          .strict = true};
}

}  // namespace profiles

std::span<const Profile> builtin_profiles() {
  static const std::array<Profile, 4> kProfiles{profiles::desktop(), profiles::native(),
                                                profiles::edge(), profiles::mobile_2gb()};
  return kProfiles;
}

std::optional<Profile> builtin_profile(std::string_view name) {
  for (const Profile& profile : builtin_profiles())
    if (profile.name == name) return profile;
  return std::nullopt;
}

// Machines report less than their memory chips hold, never more: the bounds are in.
Profile profile_for_memory(std::uint64_t total_bytes) {
  if (total_bytes <= 2 * kGiB) return profiles::mobile_2gb();
  if (total_bytes <= 4 * kGiB) return profiles::edge();
  if (total_bytes <= 16 * kGiB) return profiles::native();
  return profiles::desktop();
}

std::uint64_t budget_of(const Profile& profile, std::uint64_t available_bytes) noexcept {
  const std::uint64_t memory = profile.memory_bytes.value_or(available_bytes);
  return memory - std::min(memory, profile.reserve_bytes);
}

}  // namespace synps
