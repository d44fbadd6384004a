#include "policy_document.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include <fmt/format.h>

#include "format_names.h"
#include "policy_file.h"
#include "policy_merge.h"
#include "policy_sources.h"
#include "problem_list.h"
#include "schema_check.h"
#include "scheme_rules.h"
#include "synps/codec_package.h"
#include "toml_reader.h"
#include "toml_text.h"
#include "value_policies.h"

namespace synps {
namespace {

bool before(const SourcePlace& a, const SourcePlace& b) noexcept {
  return std::tie(a.source, a.line, a.column) < std::tie(b.source, b.line, b.column);
}

struct TableLimit {
  std::string_view name;
  std::size_t most;
  std::string_view hint;
};
constexpr TableLimit kTableLimits[] = {
    {"policies", kMaxPolicies, "one pattern can stand for many paths: \"model.layers.*.mlp\""},
    {"groups", kMaxGroups, "one group stands for every layer: \"model.layers.*.{q,k,v}_proj\""},
    {"profiles", kMaxProfiles, "a device has one profile"},
    {"packages", kMaxPackages, "one package can export many codecs"},
};

// More than these, in all files, would be parsed and filed in vain; it comes alone.
void check_counts(const PolicySources& sources, ProblemList& problems) {
  for (const TableLimit& limit : kTableLimits) {
    std::size_t count = 0;
    std::vector<SourcePlace> places;
    for (const auto& source : sources.files) {
      const auto number = static_cast<std::uint32_t>(&source - sources.files.data());
      const toml::table* table = source->root[limit.name].as_table();
      if (table == nullptr) continue;
      count += table->size();
      for (const auto& [key, value] : *table) {
        SourcePlace& place = places.emplace_back(place_of(key.source()));
        place.source = number;
      }
    }
    if (count <= limit.most) continue;
    std::sort(places.begin(), places.end(), before);
    problems.add(places[limit.most],
                 {.what = fmt::format("too many {}", limit.name),
                  .found = fmt::format("{} {}", count, limit.name),
                  .want = fmt::format("at most {}", limit.most),
                  .hint = std::string(limit.hint)},
                 ErrorCode::limit);
    problems.throw_all();
  }
}

// The packages that the files name, the outermost file's word for each.
std::vector<PolicyPackage> find_packages(const PolicySources& sources,
                                         const PolicyOptions& options) {
  std::vector<PolicyPackage> packages;
  const auto known = [&](std::string_view name) {
    return std::any_of(packages.begin(), packages.end(),
                       [&](const PolicyPackage& each) { return each.name == name; });
  };
  for (std::uint32_t number = 0; number < sources.files.size(); ++number) {
    const PolicySource& source = *sources.files[number];
    const toml::table* tables = source.root["packages"].as_table();
    if (tables == nullptr) continue;
    for (const auto& [key, value] : *tables) {
      const toml::table* table = value.as_table();
      const auto path = table == nullptr ? std::optional<std::string>()
                                         : (*table)["path"].value_exact<std::string>();
      if (!path || known(key.str())) continue;
      PolicyPackage package;
      package.name = key.str();
      package.path = path->empty() ? *path : path_beside(source.file, *path);
      package.place = place_of(key.source());
      package.place.source = number;
      const std::vector<std::string>& given = options.given_packages;
      package.overridden = std::find(given.begin(), given.end(), package.name) != given.end();
      packages.push_back(std::move(package));
    }
  }
  std::sort(packages.begin(), packages.end(),
            [](const PolicyPackage& a, const PolicyPackage& b) { return a.name < b.name; });
  return packages;
}

// Puts a problem with a package where the policy names it.
void add_package_problems(const Error& error, const PolicyPackage& package, ProblemList& problems) {
  for (Problem problem : error.problems()) {
    const std::string file = escape_for_display(problem.file.empty() ? package.path : problem.file);
    if (problem.field.empty())
      problem.field = fmt::format("packages.{}", toml_key_for_display(package.name));
    problem.what = fmt::format("{}: {}", file, problem.what);
    problem.offset.reset();
    problems.add(package.place, std::move(problem), ErrorCode::package);
  }
}

// Whether no package of the files is needed: the caller has brought all of them.
bool all_given(const std::vector<PolicyPackage>& packages) {
  return std::all_of(packages.begin(), packages.end(),
                     [](const PolicyPackage& package) { return package.overridden; });
}

// False when a package could not be had.
bool load_packages(const std::vector<PolicyPackage>& packages, const PolicyOptions& options,
                   CodecRegistry& registry, ProblemList& problems) {
  bool complete = true;
  for (const PolicyPackage& package : packages) {
    if (package.overridden) continue;
    try {
      if (options.load_package)
        for (auto& codec : options.load_package(package.name, package.path))
          registry.add(std::move(codec));
      else
        add_codec_package(registry, package.name, package.path);
    } catch (const Error& error) {
      add_package_problems(error, package, problems);
      complete = false;
    }
  }
  return complete;
}

// Two schemes of one policy that claim the same values, from one file or, if `across`, from two.
void check_schemes(const PolicyEntry& entry, bool across, ProblemList& problems) {
  for (const auto& [first, second] : undecided_pairs(entry.schemes)) {
    const SourcePlace& a = entry.schemes[first].place;
    const SourcePlace& b = entry.schemes[second].place;
    if ((a.source != b.source) != across) continue;
    const bool in_order = before(a, b);
    problems.add(
        in_order ? b : a,
        {.what = "ambiguous schemes: two of one policy claim the same values, and neither is more "
                 "specific",
         .field = fmt::format("policies.{}.schemes", toml_key_for_display(entry.pattern.text())),
         .found = a.source == b.source
                      ? fmt::format("lines {} and {}", std::min(a.line, b.line),
                                    std::max(a.line, b.line))
                      : fmt::format("lines {} and {} of two files", (in_order ? a : b).line,
                                    (in_order ? b : a).line),
         .hint = "remove one, or give one a more specific scope or lifetime"});
  }
}

std::vector<std::string> file_names(const PolicySources& sources) {
  std::vector<std::string> names;
  for (const auto& source : sources.files) names.push_back(source->file);
  return names;
}

// Source encodings that what holds in the end names; what was replaced names nothing.
void declare(PolicyDocument& document) {
  document.declared = {"f32"};
  document.declared.insert(document.source_formats.begin(), document.source_formats.end());
  const auto add = [&](const std::string& format) {
    if (const Codec* codec = document.codecs->resolve(format))
      document.declared.insert(encoding_of(codec->info()));
  };
  for (const PolicyEntry& entry : document.entries) {
    for (const PolicyScheme& each : entry.schemes) add(each.scheme.format);
    for (const PolicyKey& key : entry.keys)
      if (key.name == "fallback") add(key.value);
  }
}

// Reads the files from the last base on, so that each knows what its bases declare.
void read_files(const PolicySources& sources, bool packages_missing, PolicyDocument& document,
                ProblemList& problems) {
  for (std::size_t i = sources.files.size(); i-- > 0;) {
    const auto number = static_cast<std::uint32_t>(i);
    problems.set_source(number);
    PolicyFileContext context{number, document.codecs.get(), {}, packages_missing};
    for (const auto& [name, device] : document.devices) context.devices.insert(name);
    PolicyFile file = read_policy_file(*sources.files[i], context, problems);
    // By itself: a file that extends this one could replace one of the two.
    for (const FileEntry& each : file.entries) check_schemes(each.entry, false, problems);
    merge_into(document, std::move(file));
    check_profiles(document.profile_entries, document.devices, number, problems);
  }
  problems.set_source(0);
  for (PolicyEntry& entry : document.entries) {
    std::sort(
        entry.schemes.begin(), entry.schemes.end(),
        [](const PolicyScheme& a, const PolicyScheme& b) { return before(a.place, b.place); });
    check_schemes(entry, true, problems);
  }
  std::sort(document.entries.begin(), document.entries.end(),
            [](const PolicyEntry& a, const PolicyEntry& b) { return before(a.place, b.place); });
  std::sort(document.groups.begin(), document.groups.end(),
            [](const PolicyGroup& a, const PolicyGroup& b) { return before(a.place, b.place); });
}

}  // namespace

std::string line_text(const PolicyDocument& document, const SourcePlace& place) {
  if (document.files.size() == 1) return fmt::format("line {}", place.line);
  return fmt::format("line {} of {}", place.line, escape_for_display(document.files[place.source]));
}

ParsedPolicy parse_policy(std::string text, const std::string& file, const CodecRegistry& codecs,
                          const PolicyOptions& options) {
  Os& os = options.os != nullptr ? *options.os : Os::posix();
  PolicySources sources = read_policy_sources(std::move(text), file, os);
  ParsedPolicy parsed;
  PolicyDocument& document = parsed.document;
  document.files = file_names(sources);
  ProblemList problems(document.files);
  check_counts(sources, problems);
  for (std::size_t i = 0; i < sources.files.size(); ++i) {
    problems.set_source(static_cast<std::uint32_t>(i));
    check_schema(sources.files[i]->root, problems);
  }
  problems.set_source(0);
  const auto registry = std::make_shared<CodecRegistry>(codecs);
  document.packages = find_packages(sources, options);
  // A package is a program: none runs for a policy that is refused anyway.
  const bool sound = problems.empty() && sources.problems.empty();
  const bool complete = sound ? load_packages(document.packages, options, *registry, problems)
                              : all_given(document.packages);
  document.codecs = registry;
  read_files(sources, !complete, document, problems);
  declare(document);
  if (problems.empty()) document.profiles = resolve_profiles(document.profile_entries);
  if (problems.empty() && sources.problems.empty()) check_value_policies(document, problems);
  parsed.problems = problems.take();
  // A base that cannot be had is named first: others may follow from it.
  parsed.problems.insert(parsed.problems.begin(), sources.problems.begin(), sources.problems.end());
  return parsed;
}

}  // namespace synps
