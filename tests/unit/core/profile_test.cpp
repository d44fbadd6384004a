#include <doctest/doctest.h>

#include <map>
#include <string>

#include "machine_memory.h"
#include "synps/error.h"
#include "synps/profile.h"

namespace synps::testing {
namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

using Files = std::map<std::string, std::string>;

MachineMemory memory_with(Files files) {
  return machine_memory([files = std::move(files)](const std::string& path) {
    const auto at = files.find(path);
    return at == files.end() ? std::nullopt : std::optional<std::string>(at->second);
  });
}

const std::string kMeminfo =
    "MemTotal:        8388608 kB\n"
    "MemFree:          100000 kB\n"
    "MemAvailable:    4194304 kB\n"
    "Buffers:               0 kB\n"
    "Cached:           200000 kB\n";

}  // namespace

TEST_CASE("built-in profiles are what DESIGN says") {
  const Profile desktop = profiles::desktop();
  CHECK(desktop.reserve_bytes == 700 * kMiB);
  CHECK(desktop.residency == Residency::heap);
  CHECK_FALSE(desktop.strict);
  CHECK_FALSE(desktop.memory_bytes.has_value());
  CHECK(profiles::native().reserve_bytes == 300 * kMiB);
  CHECK(profiles::native().residency == Residency::heap);
  CHECK(profiles::edge().reserve_bytes == 0);
  CHECK(profiles::edge().residency == Residency::mapped);
  const Profile mobile = profiles::mobile_2gb();
  CHECK(mobile.memory_bytes == 2 * kGiB);
  CHECK(mobile.reserve_bytes == 700 * kMiB);
  CHECK(mobile.residency == Residency::mapped);
  CHECK(mobile.strict);
  CHECK(builtin_profiles().size() == 4);
  for (const Profile& profile : builtin_profiles()) CHECK(builtin_profile(profile.name) == profile);
  CHECK_FALSE(builtin_profile("server").has_value());
  CHECK_FALSE(builtin_profile("").has_value());
}

TEST_CASE("a machine's memory chooses a profile, the bounds included") {
  CHECK(profile_for_memory(0).name == "mobile_2gb");
  CHECK(profile_for_memory(2 * kGiB).name == "mobile_2gb");
  CHECK(profile_for_memory(2 * kGiB + 1).name == "edge");
  CHECK(profile_for_memory(4 * kGiB).name == "edge");
  CHECK(profile_for_memory(4 * kGiB + 1).name == "native");
  CHECK(profile_for_memory(16 * kGiB).name == "native");
  CHECK(profile_for_memory(16 * kGiB + 1).name == "desktop");
  CHECK(profile_for_memory(~std::uint64_t{0}).name == "desktop");
}

TEST_CASE("the budget is what is available less the reserve") {
  CHECK(budget_of(profiles::desktop(), 1000 * kMiB) == 300 * kMiB);
  CHECK(budget_of(profiles::desktop(), 700 * kMiB) == 0);
  CHECK(budget_of(profiles::desktop(), 1) == 0);
  CHECK(budget_of(profiles::edge(), 5) == 5);
  // A device of its own memory, whatever this machine has.
  CHECK(budget_of(profiles::mobile_2gb(), 1) == (2048 - 700) * kMiB);
  Profile greedy = profiles::mobile_2gb();
  greedy.reserve_bytes = ~std::uint64_t{0};
  CHECK(budget_of(greedy, 7) == 0);
}

TEST_CASE("memory of a machine without control groups") {
  const MachineMemory memory = memory_with({{"/proc/meminfo", kMeminfo}});
  CHECK(memory.total == 8 * kGiB);
  CHECK(memory.available == 4 * kGiB);
  // Old kernels.
  const MachineMemory old =
      memory_with({{"/proc/meminfo",
                    "MemTotal: 1000 kB\nMemFree: 100 kB\nCached: 250 kB\nSwapCached: 9 kB\n"}});
  CHECK(old.total == 1000 * 1024);
  CHECK(old.available == 350 * 1024);
}

TEST_CASE("limits of control groups, version 2") {
  Files files{{"/proc/meminfo", kMeminfo},
              {"/proc/self/cgroup", "0::/app.slice/model.service\n"},
              {"/sys/fs/cgroup/app.slice/model.service/memory.max", "max\n"},
              {"/sys/fs/cgroup/app.slice/model.service/memory.current", "1000\n"}};
  CHECK(memory_with(files).total == 8 * kGiB);
  CHECK(memory_with(files).available == 4 * kGiB);
  // The group above limits, too.
  files["/sys/fs/cgroup/app.slice/memory.max"] = std::to_string(kGiB) + "\n";
  files["/sys/fs/cgroup/app.slice/memory.current"] = std::to_string(kGiB / 2) + "\n";
  CHECK(memory_with(files).total == kGiB);
  CHECK(memory_with(files).available == kGiB / 2);
  // Pages of files that nobody uses can go.
  files["/sys/fs/cgroup/app.slice/memory.stat"] = "anon 5\ninactive_file 1048576\nactive_file 7\n";
  CHECK(memory_with(files).available == kGiB / 2 + kMiB);
  files["/sys/fs/cgroup/app.slice/memory.current"] = std::to_string(2 * kGiB) + "\n";
  CHECK(memory_with(files).available == 0);
}

TEST_CASE("limits of control groups, version 1, and of the root of a container") {
  Files files{{"/proc/meminfo", kMeminfo},
              {"/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:hugetlb,memory:/docker/abc\n0::/\n"},
              {"/sys/fs/cgroup/memory/memory.limit_in_bytes", "3221225472\n"},
              {"/sys/fs/cgroup/memory/memory.usage_in_bytes", "1073741824\n"},
              {"/sys/fs/cgroup/memory/memory.stat", "inactive_file 3\ntotal_inactive_file 1024\n"}};
  CHECK(memory_with(files).total == 3 * kGiB);
  CHECK(memory_with(files).available == 2 * kGiB + 1024);
  files["/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes"] = "1000000";
  CHECK(memory_with(files).total == 1000000);
  // No limit is a number beyond every machine.
  files["/sys/fs/cgroup/memory/docker/abc/memory.limit_in_bytes"] = "9223372036854771712";
  CHECK(memory_with(files).total == 3 * kGiB);
}

TEST_CASE("odd texts limit nothing") {
  for (const char* cgroup : {"", "0:", "0::", "::", "memory", "1:name=systemd:/a", "\n\n0::///\n"})
    CHECK(memory_with({{"/proc/meminfo", kMeminfo},
                       {"/proc/self/cgroup", cgroup},
                       {"/sys/fs/cgroup/memory.max", "x"}})
              .total == 8 * kGiB);
}

TEST_CASE("a system that does not say what memory it has is an error") {
  for (const char* text : {"", "MemTotal:\n", "MemTotal: x kB\n", "MemTotalX: 5 kB\n",
                           "MemTotal: 5 kB\n", "MemTotal: 99999999999999999999 kB\n"}) {
    try {
      memory_with({{"/proc/meminfo", text}});
      FAIL("accepted " << text);
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::io);
      CHECK(error.problems()[0].file == "/proc/meminfo");
    }
  }
}

TEST_CASE("this machine says") {
  const MachineMemory memory = machine_memory();
  CHECK(memory.total > 0);
  CHECK(memory.available <= memory.total);
}

}  // namespace synps::testing
