#include "profile_entries.h"

#include <algorithm>
#include <set>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "synps/codec_registry.h"
#include "synps/profile.h"
#include "toml_reader.h"
#include "toml_text.h"

namespace synps {
namespace {

constexpr std::string_view kLocal = "local";
constexpr std::string_view kAuto = "auto";

const toml::table* find_table(const toml::table& table, std::string_view name) {
  return table[name].as_table();
}

/// A string and where it stands; "" when there is none.
std::pair<std::string, SourcePlace> text_of(const toml::table& table, std::string_view name) {
  const auto it = table.find(name);
  if (it == table.end() || !it->second.is_string()) return {};
  return {it->second.as_string()->get(), place_of(it->second.source())};
}

std::optional<std::uint64_t> bytes_of(const toml::table& table, std::string_view name) {
  const toml::node* node = table.get(name);
  return node == nullptr ? std::nullopt : byte_size_of(*node);
}

std::string field_of(std::string_view section, std::string_view name) {
  return fmt::format("{}.{}", section, toml_key_for_display(name));
}

bool is_built_in(std::string_view name) {
  return name == kAuto || builtin_profile(name).has_value();
}

bool is_known(const ProfileEntries& profiles, std::string_view name) {
  return builtin_profile(name).has_value() || profiles.find(name) != profiles.end();
}

void add_unknown(const ProfileEntries& profiles, const std::string& name, SourcePlace place,
                 std::string field, ProblemList& problems) {
  Problem problem{.what = "unknown profile", .field = std::move(field), .found = quote(name)};
  std::vector<std::string> known;
  for (const Profile& each : builtin_profiles()) known.push_back(each.name);
  for (const auto& [own, entry] : profiles) known.push_back(own);
  if (name == kAuto)
    problem.hint = "`auto` is for the command line: what a file says depends on no machine";
  else if (const auto near = nearest(name, known))
    problem.hint = fmt::format("did you mean `{}`?", *near);
  else
    problem.hint =
        fmt::format("built in are desktop, native, edge and mobile_2gb; others need [{}]",
                    field_of("profiles", name));
  problems.add(place, std::move(problem));
}

/// The circle that the profile is in, from itself to the one that extends it; empty for none.
std::vector<std::string> circle_of(const ProfileEntries& profiles, const std::string& name) {
  std::vector<std::string> chain{name};
  std::set<std::string, std::less<>> seen{name};
  for (auto at = profiles.find(name);;) {
    const std::string& next = at->second.extends;
    if (next == name) return chain;
    at = profiles.find(next);
    if (at == profiles.end() || !seen.insert(next).second) return {};
    chain.push_back(next);
  }
}

void check_circle(const ProfileEntries& profiles, const std::string& name, std::uint32_t source,
                  ProblemList& problems) {
  const std::vector<std::string> circle = circle_of(profiles, name);
  if (circle.empty()) return;
  // Once a circle: at the first by name that this file has.
  for (const std::string& other : circle)
    if (other < name && profiles.find(other)->second.place.source == source) return;
  std::string found;
  for (const std::string& each : circle) found += toml_key_for_display(each) + " extends ";
  found += toml_key_for_display(name);
  problems.add(profiles.find(name)->second.extends_place,
               {.what = "profiles that extend one another in a circle",
                .field = field_of("profiles", name) + ".extends",
                .found = std::move(found),
                .hint = "one of them must extend a built-in profile, or none"});
}

Profile resolved(const ProfileEntries& profiles, const std::string& name) {
  std::vector<const ProfileEntry*> chain;
  std::string_view base = name;
  for (auto at = profiles.find(name); at != profiles.end(); at = profiles.find(base)) {
    chain.push_back(&at->second);
    base = at->second.extends;
  }
  Profile profile = builtin_profile(base).value_or(Profile{});
  profile.name = name;
  for (auto each = chain.rbegin(); each != chain.rend(); ++each) {
    const ProfileEntry& entry = **each;
    if (entry.memory) profile.memory_bytes = entry.memory;
    profile.reserve_bytes = entry.reserve.value_or(profile.reserve_bytes);
    profile.residency = entry.residency.value_or(profile.residency);
    profile.strict = entry.strict.value_or(profile.strict);
  }
  return profile;
}

/// Whether the profile comes, base by base, to one that extends none.
bool has_end(const ProfileEntries& profiles, const std::string& name) {
  std::size_t bases = 0;
  for (auto at = profiles.find(name); at != profiles.end(); at = profiles.find(at->second.extends))
    if (++bases > profiles.size()) return false;
  return true;
}

/// A reserve that leaves nothing is a mistake of units, most likely.
void check_memory(const ProfileEntries& profiles, const std::string& name, ProblemList& problems) {
  if (!has_end(profiles, name)) return;
  const Profile profile = resolved(profiles, name);
  if (!profile.memory_bytes || profile.reserve_bytes <= *profile.memory_bytes) return;
  problems.add(profiles.find(name)->second.place,
               {.what = "the reserve of the profile is larger than its memory",
                .field = field_of("profiles", name) + ".reserve",
                .found = fmt::format("{} bytes", profile.reserve_bytes),
                .want = fmt::format("at most {} bytes", *profile.memory_bytes)});
}

}  // namespace

ProfileEntries read_profiles(const toml::table& root, ProblemList& problems) {
  ProfileEntries entries;
  const toml::table* profiles = find_table(root, "profiles");
  if (profiles == nullptr) return entries;
  for (const auto& [key, value] : *profiles) {
    const std::string name(key.str());
    const SourcePlace place = place_of(key.source());
    if (is_built_in(name))
      problems.add(place, {.what = fmt::format("profile `{}` is built in", name),
                           .field = field_of("profiles", name),
                           .hint = "give this profile another name; it may extend that one"});
    if (name.empty())
      problems.add(place, {.what = "a profile without a name", .field = "profiles.\"\""});
    const toml::table* table = value.as_table();
    if (table == nullptr || name.empty() || is_built_in(name)) continue;
    ProfileEntry& entry = entries[name];
    entry.place = place;
    std::tie(entry.extends, entry.extends_place) = text_of(*table, "extends");
    entry.memory = bytes_of(*table, "memory");
    entry.reserve = bytes_of(*table, "reserve");
    entry.residency = residency_from(text_of(*table, "residency").first);
    entry.strict = (*table)["strict"].value_exact<bool>();
  }
  return entries;
}

DeviceEntries read_devices(const toml::table& root, ProblemList& problems) {
  DeviceEntries entries;
  const toml::table* devices = find_table(root, "devices");
  if (devices == nullptr) return entries;
  for (const auto& [key, value] : *devices) {
    DeviceEntry& entry = entries[std::string(key.str())];
    entry.place = place_of(key.source());
    if (key.str() == kLocal)
      problems.add(entry.place, {.what = "device `local` is built in",
                                 .field = "devices.local",
                                 .hint = "give this device another name"});
    const toml::table* table = value.as_table();
    if (table == nullptr) continue;
    entry.target = target_request_from(text_of(*table, "target").first).value_or(entry.target);
    std::tie(entry.profile, entry.profile_place) = text_of(*table, "profile");
  }
  return entries;
}

void check_profiles(const ProfileEntries& profiles, const DeviceEntries& devices,
                    std::uint32_t source, ProblemList& problems) {
  for (const auto& [name, entry] : profiles) {
    if (entry.place.source != source) continue;
    check_memory(profiles, name, problems);
    if (entry.extends_place.line == 0) continue;
    if (!is_known(profiles, entry.extends))
      add_unknown(profiles, entry.extends, entry.extends_place,
                  field_of("profiles", name) + ".extends", problems);
    check_circle(profiles, name, source, problems);
  }
  for (const auto& [name, entry] : devices) {
    if (entry.place.source != source || entry.profile_place.line == 0) continue;
    if (!is_known(profiles, entry.profile))
      add_unknown(profiles, entry.profile, entry.profile_place,
                  field_of("devices", name) + ".profile", problems);
  }
}

std::vector<PolicyProfile> resolve_profiles(const ProfileEntries& profiles) {
  std::vector<PolicyProfile> found;
  for (const auto& [name, entry] : profiles)
    found.push_back({resolved(profiles, name), entry.extends, entry.place});
  return found;
}

}  // namespace synps
