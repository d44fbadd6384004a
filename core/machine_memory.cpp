#include "machine_memory.h"

#include <algorithm>
#include <charconv>
#include <fstream>
#include <string_view>

#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

constexpr std::size_t kMostText = 1u << 20;  // none of these files comes near it

std::optional<std::string> read_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) return std::nullopt;
  std::string text;
  char piece[4096];
  while (text.size() < kMostText && (file.read(piece, sizeof piece), file.gcount() > 0))
    text.append(piece, static_cast<std::size_t>(file.gcount()));
  return text;
}

std::string_view next_line(std::string_view& text) {
  const std::size_t end = std::min(text.find('\n'), text.size());
  const std::string_view line = text.substr(0, end);
  text.remove_prefix(std::min(end + 1, text.size()));
  return line;
}

/// The number that `text` begins with, after spaces.
std::optional<std::uint64_t> number_at(std::string_view text) {
  text.remove_prefix(std::min(text.find_first_not_of(" \t"), text.size()));
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc()) return std::nullopt;
  return value;
}

/// The number behind `key` and `separator` at the start of a line.
std::optional<std::uint64_t> number_of(std::string_view text, std::string_view key,
                                       char separator) {
  while (!text.empty()) {
    const std::string_view line = next_line(text);
    if (line.size() > key.size() && line.starts_with(key) && line[key.size()] == separator)
      return number_at(line.substr(key.size() + 1));
  }
  return std::nullopt;
}

/// A field of /proc/meminfo in bytes; the file counts in KiB.
std::optional<std::uint64_t> meminfo(std::string_view text, std::string_view key) {
  const auto kib = number_of(text, key, ':');
  return kib ? checked_mul(*kib, 1024) : std::nullopt;
}

/// Kernels before 3.14 have no MemAvailable: then what is free or caches files.
std::optional<std::uint64_t> available_of(std::string_view text) {
  if (const auto available = meminfo(text, "MemAvailable")) return available;
  const auto free = meminfo(text, "MemFree");
  if (!free) return std::nullopt;
  return saturating_add(*free, meminfo(text, "Cached").value_or(0));
}

/// The names of a version of the control groups' files.
struct GroupFiles {
  std::string_view root;
  std::string_view limit;
  std::string_view usage;
  std::string_view reclaimable;  ///< key in memory.stat
};
constexpr GroupFiles kVersion2{"/sys/fs/cgroup", "memory.max", "memory.current", "inactive_file"};
constexpr GroupFiles kVersion1{"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                               "memory.usage_in_bytes", "total_inactive_file"};

/// The limit of one group; a group without one has "max", or a number beyond every machine.
void limit_by_group(const ReadText& read, const GroupFiles& files, const std::string& folder,
                    MachineMemory& memory) {
  const auto path = [&](std::string_view name) { return folder + "/" + std::string(name); };
  const auto limit = number_at(read(path(files.limit)).value_or(""));
  if (!limit) return;
  memory.total = std::min(memory.total, *limit);
  const auto usage = number_at(read(path(files.usage)).value_or(""));
  if (!usage) return;
  const std::string stat = read(path("memory.stat")).value_or("");
  const std::uint64_t reclaimable =
      std::min(*usage, number_of(stat, files.reclaimable, ' ').value_or(0));
  const std::uint64_t held = *usage - reclaimable;
  memory.available = std::min(memory.available, held < *limit ? *limit - held : 0);
}

/// A group is bound by its own limit and by that of every group it is in.
void limit_by_groups(const ReadText& read, const GroupFiles& files, std::string_view group,
                     MachineMemory& memory) {
  // Inside a container the path may be that of the host, where nothing is: the root is tried, too.
  while (true) {
    while (group.ends_with('/')) group.remove_suffix(1);
    limit_by_group(read, files, std::string(files.root) + std::string(group), memory);
    if (group.empty()) return;
    const std::size_t slash = group.rfind('/');
    group = group.substr(0, slash == std::string_view::npos ? 0 : slash);
  }
}

bool names_memory(std::string_view controllers) {
  while (!controllers.empty()) {
    const std::size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "memory") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

/// Lines of /proc/self/cgroup: "0::PATH" of version 2, "NUMBER:CONTROLLERS:PATH" of version 1.
void limit_by_cgroups(const ReadText& read, MachineMemory& memory) {
  const std::string text = read("/proc/self/cgroup").value_or("");
  std::string_view rest = text;
  while (!rest.empty()) {
    const std::string_view line = next_line(rest);
    const std::size_t first = line.find(':');
    const std::size_t second = first == line.npos ? first : line.find(':', first + 1);
    if (second == line.npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string_view group = line.substr(second + 1);
    if (controllers.empty() && line.starts_with("0:"))
      limit_by_groups(read, kVersion2, group, memory);
    else if (names_memory(controllers))
      limit_by_groups(read, kVersion1, group, memory);
  }
}

}  // namespace

MachineMemory machine_memory(const ReadText& read) {
  constexpr std::string_view kFile = "/proc/meminfo";
  const std::string text = read(std::string(kFile)).value_or("");
  const auto total = meminfo(text, "MemTotal");
  const auto available = available_of(text);
  if (!total || !available) {
    Problem problem{.code = ErrorCode::io, .file = std::string(kFile)};
    problem.what = "the system does not say how much memory it has";
    problem.field = total ? "MemAvailable" : "MemTotal";
    problem.hint = "give --budget";
    throw Error(std::move(problem));
  }
  MachineMemory memory{*total, std::min(*total, *available)};
  limit_by_cgroups(read, memory);
  return memory;
}

MachineMemory machine_memory() {
  return machine_memory(read_file);
}

}  // namespace synps
