#include "synps/profile.h"

#include <fmt/core.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "commands.h"
#include "failures.h"
#include "forms_table.h"
#include "inputs.h"
#include "load_report.h"
#include "options.h"
#include "standard_streams.h"
#include "synps/builtin_kernels.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

constexpr const char* kFooter =
    "Weights on the heap may take a profile's memory less its reserve. Own profiles stand in\n"
    "[profiles.NAME] of a policy.\n"
    "\n"
    "Examples:\n"
    "  synps profiles\n"
    "  synps profiles -p synps.toml     and the policy's own\n"
    "  synps profiles --forms           what each codec is loaded as, by target and profile";

struct Options {
  std::string policy;
  std::vector<std::string> packages;
  bool forms = false;
  bool json = false;
};

struct ListedProfile {
  Profile profile;
  std::string extends;
  bool built_in = true;
};

std::vector<ListedProfile> listed(const std::optional<Policy>& policy) {
  std::vector<ListedProfile> found;
  for (const Profile& profile : builtin_profiles()) found.push_back({profile, {}, true});
  if (policy)
    for (const PolicyProfile& own : policy->profiles())
      found.push_back({own.profile, own.extends, false});
  return found;
}

/// A machine that does not say what it has gets no `auto`.
std::optional<MachineMemory> this_machine() {
  try {
    return machine_memory();
  } catch (const Error&) {
    return std::nullopt;
  }
}

std::string profiles_text(const std::vector<ListedProfile>& profiles, std::size_t width) {
  using enum Table::Align;
  Table table({{"NAME", left},
               {"MEMORY", right},
               {"RESERVE", right},
               {"RESIDENCY", left},
               {"STRICT", left},
               {"EXTENDS", left}});
  for (const auto& [profile, extends, built_in] : profiles)
    table.add({escape_for_display(profile.name),
               profile.memory_bytes ? human_bytes(*profile.memory_bytes) : "available",
               human_bytes(profile.reserve_bytes), std::string(to_string(profile.residency)),
               profile.strict ? "yes" : "no",
               built_in ? "(built in)" : escape_for_display(extends)});
  std::string out = table.render(width);
  if (const auto memory = this_machine())
    out += fmt::format("\nauto is {} here: this machine has {}, of which {} are available\n",
                       profile_for_memory(memory->total).name, human_bytes(memory->total),
                       human_bytes(memory->available));
  return out;
}

std::string profiles_json(const std::vector<ListedProfile>& profiles) {
  JsonWriter json;
  json.begin_object().key("profiles").begin_array();
  for (const ListedProfile& each : profiles) {
    json.begin_object().key("profile");
    write_profile(json, each.profile);
    json.key("built_in").boolean(each.built_in).key("extends");
    each.extends.empty() ? json.null() : json.string(each.extends);
    json.end_object();
  }
  json.end_array();
  const auto memory = this_machine();
  json.key("auto");
  memory ? json.string(profile_for_memory(memory->total).name) : json.null();
  json.key("machine");
  if (memory)
    json.begin_object()
        .key("total_bytes")
        .integer(memory->total)
        .key("available_bytes")
        .integer(memory->available)
        .end_object();
  else
    json.null();
  json.end_object();
  return json.take() + "\n";
}

int run(const Options& options) {
  const CodecRegistry codecs = registry_with(options.packages);
  std::optional<Policy> policy;
  if (!options.policy.empty()) policy = load_policy(options.policy, codecs);
  if (options.forms) {
    if (options.json) throw usage_error("--forms has no JSON", "leave out --json");
    std::vector<Profile> profiles;
    for (const ListedProfile& each : listed(policy)) profiles.push_back(each.profile);
    write_output(forms_table(policy ? policy->codecs() : codecs, builtin_kernels(), profiles));
    return 0;
  }
  const auto profiles = listed(policy);
  write_output(options.json ? profiles_json(profiles) : profiles_text(profiles, output_width()));
  return 0;
}

}  // namespace

Command make_profiles(CLI::App& program, const CommonOptions&) {
  const auto options = std::make_shared<Options>();
  CLI::App& command =
      add_command(program, "profiles", "List the profiles of devices that there are", kFooter);
  add_text_option(command, "-p,--policy", options->policy, "FILE",
                  "A policy, whose own profiles are listed too");
  add_package_option(command, options->packages);
  add_flag(command, "--forms", options->forms,
           "The form of every codec by order, target and profile, as Markdown");
  add_json_option(command, options->json);
  return {&command, [options] { return run(*options); }};
}

}  // namespace synps::cli
