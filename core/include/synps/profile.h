#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

#include "synps/form.h"

namespace synps {

/// What the target device affords.
struct Profile {
  std::string name{};
  /// Memory of the device in bytes; none: what the machine that loads has available.
  std::optional<std::uint64_t> memory_bytes{};
  std::uint64_t reserve_bytes = 0;        ///< left to everything else
  Residency residency = Residency::heap;  ///< where neither policy nor caller asks for another
  bool strict = false;  ///< conversions at load that raise resident bytes are refused

  bool operator==(const Profile&) const = default;
};

namespace profiles {
Profile desktop();     ///< 700 MiB reserve, heap
Profile native();      ///< 300 MiB reserve, heap
Profile edge();        ///< no reserve, mapped
Profile mobile_2gb();  ///< a device of 2 GiB, 700 MiB reserve, mapped, strict
}  // namespace profiles

/// By name.
std::span<const Profile> builtin_profiles();
std::optional<Profile> builtin_profile(std::string_view name);
/// The built-in profile for a machine of that much memory: up to 2 GiB mobile_2gb, up to 4 GiB
/// edge, up to 16 GiB native, above desktop.
Profile profile_for_memory(std::uint64_t total_bytes);

/// Bytes; of this machine, or of the control groups that the process is in, whichever is less.
struct MachineMemory {
  std::uint64_t total = 0;
  std::uint64_t available = 0;  ///< that could be taken now, without swapping
};
/// Throws Error(io) when the system does not say.
MachineMemory machine_memory();

/// Bytes that weights may take on the heap: the profile's memory, or where it names none what is
/// available, less the reserve; not below 0.
std::uint64_t budget_of(const Profile& profile, std::uint64_t available_bytes) noexcept;

}  // namespace synps
