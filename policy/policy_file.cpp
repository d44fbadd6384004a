#include "policy_file.h"

#include <algorithm>

#include <fmt/format.h>

#include "format_names.h"
#include "policy_schema.h"
#include "scheme_rules.h"
#include "toml_reader.h"

namespace synps {
namespace {

constexpr std::string_view kLocal = "local";

// A key's name and value as they stand in the file.
struct FoundText {
  std::string text;
  SourcePlace key;
  SourcePlace value;
};

// The key's value when it is text that the schema takes; nothing when it is missing or a problem
// that check_schema has reported.
std::optional<FoundText> find_text(const toml::table& table, Section section,
                                   std::string_view name) {
  const auto it = table.find(name);
  if (it == table.end() || !it->second.is_string()) return std::nullopt;
  const KeySpec& spec = *find_key(section, name);
  FoundText found{it->second.as_string()->get(), place_of(it->first.source()),
                  place_of(it->second.source())};
  if (spec.choices.empty()) return found;
  const Choice* choice = find_choice(spec, found.text);
  if (choice == nullptr || !choice->not_yet.empty()) return std::nullopt;
  return found;
}

std::optional<bool> find_boolean(const toml::table& table, std::string_view name) {
  return table[name].value_exact<bool>();
}

const toml::table* find_table(const toml::table& table, std::string_view name) {
  return table[name].as_table();
}

class FileReader {
 public:
  FileReader(const PolicySource& source, const PolicyFileContext& context, ProblemList& problems)
      : root_(source.root), lines_(source.lines), context_(context), problems_(problems) {}

  PolicyFile read() {
    file_.devices = read_devices(root_, problems_);
    file_.profiles = read_profiles(root_, problems_);
    read_source_formats();
    read_policies();
    file_.groups = read_groups(root_, lines_, problems_);
    stamp();
    return std::move(file_);
  }

 private:
  void read_source_formats() {
    const toml::table* myelin = find_table(root_, "myelin");
    if (myelin == nullptr) return;
    const toml::array* formats = (*myelin)["formats"].as_array();
    if (formats == nullptr) return;
    for (const toml::node& item : *formats)
      if (const auto* name = item.as_string())
        read_source_format(name->get(), place_of(item.source()));
  }

  void read_source_format(const std::string& name, SourcePlace place) {
    EncodingName encoding = resolve_encoding(name, *context_.codecs);
    if (encoding.name.empty()) {
      if (context_.packages_missing) return;
      encoding.problem.field = "myelin.formats";
      problems_.add(place, std::move(encoding.problem));
    } else if (std::find(file_.source_formats.begin(), file_.source_formats.end(), encoding.name) ==
               file_.source_formats.end()) {
      file_.source_formats.push_back(std::move(encoding.name));
      file_.source_format_places.push_back(place);
    }
  }

  void read_policies() {
    const toml::table* policies = find_table(root_, "policies");
    if (policies == nullptr) return;
    for (const auto& [key, value] : *policies) read_policy(key, value);
  }

  // Every policy is read in full, whatever is wrong with its pattern or others hide.
  void read_policy(const toml::key& key, const toml::node& value) {
    FileEntry read;
    PolicyEntry& entry = read.entry;
    entry.place = place_of(key.source());
    field_ = fmt::format("policies.{}", toml_key_for_display(key.str()));
    const std::optional<PathPattern> pattern =
        read_pattern(key.str(), entry.place, field_, lines_, problems_);
    const toml::table* table = value.as_table();
    if (table == nullptr) return;
    read.optional = find_boolean(*table, "optional");
    read_keys(*table, entry.keys);
    read_schemes(*table, entry.schemes);
    if (!pattern) return;
    entry.pattern = *pattern;
    file_.entries.push_back(std::move(read));
  }

  void read_keys(const toml::table& policy, std::vector<PolicyKey>& keys) {
    static const toml::table kNone;
    const auto inner = [&](std::string_view name) -> const toml::table& {
      const toml::table* table = find_table(policy, name);
      return table == nullptr ? kNone : *table;
    };
    read_device(inner("backend"), keys);
    read_plain_key(policy, Section::policy, "dtype", "dtype", keys);
    read_fallback(policy, keys);
    read_compress(inner("form"), keys);
    for (const std::string_view name : {"order", "orientation", "residency"})
      read_plain_key(inner("form"), Section::form, name, fmt::format("form.{}", name), keys);
  }

  static void read_plain_key(const toml::table& table, Section section, std::string_view name,
                             std::string full_name, std::vector<PolicyKey>& keys) {
    if (const auto found = find_text(table, section, name))
      keys.push_back({std::move(full_name), found->text, found->key});
  }

  // With its level, so that `zstd` and `zstd:3` are seen to be the same.
  static void read_compress(const toml::table& form, std::vector<PolicyKey>& keys) {
    const auto found = find_text(form, Section::form, "compress");
    const auto request = found ? compress_request_from(found->text) : std::nullopt;
    if (request) keys.push_back({"form.compress", to_string(*request), found->key});
  }

  void read_device(const toml::table& backend, std::vector<PolicyKey>& keys) {
    const auto found = find_text(backend, Section::backend, "device");
    if (!found) return;
    keys.push_back({"backend.device", found->text, found->key});
    if (found->text == kLocal || file_.devices.count(found->text) != 0) return;
    if (context_.devices.count(found->text) != 0) return;
    Problem problem{
        .what = "unknown device", .field = field_ + ".backend.device", .found = quote(found->text)};
    std::vector<std::string> known(context_.devices.begin(), context_.devices.end());
    for (const auto& [name, device] : file_.devices) known.push_back(name);
    known.emplace_back(kLocal);
    if (const auto near = nearest(found->text, known))
      problem.hint = fmt::format("did you mean `{}`?", *near);
    else
      problem.hint = fmt::format("`local` is built in; others need [devices.{}]",
                                 toml_key_for_display(found->text));
    problems_.add(found->value, std::move(problem));
  }

  void read_fallback(const toml::table& policy, std::vector<PolicyKey>& keys) {
    const auto found = find_text(policy, Section::policy, "fallback");
    if (!found) return;
    std::string name = read_format(*found, field_ + ".fallback");
    if (!name.empty()) keys.push_back({"fallback", std::move(name), found->key});
  }

  // The format's full name; empty when there is a problem.
  std::string read_format(const FoundText& found, const std::string& field) {
    FormatName format = resolve_format(found.text, *context_.codecs);
    if (format.name.empty()) {
      format.problem.field = field;
      if (!context_.packages_missing) problems_.add(found.value, std::move(format.problem));
    }
    return format.name;
  }

  void read_schemes(const toml::table& policy, std::vector<PolicyScheme>& schemes) {
    const toml::array* list = policy["schemes"].as_array();
    if (list == nullptr) return;
    for (const toml::node& item : *list)
      if (const toml::table* table = item.as_table()) read_scheme(*table, schemes);
  }

  void read_scheme(const toml::table& table, std::vector<PolicyScheme>& schemes) {
    const SourcePlace place = place_of(table.source());
    SchemeFields fields;
    bool sound = true;
    const auto choice = [&](std::string_view name, auto from_name, auto& field) {
      if (const auto found = find_text(table, Section::scheme, name))
        field = from_name(found->text);
      sound = sound && field.has_value() == table.contains(name);
    };
    choice("scope", scope_from, fields.scope);
    choice("lifetime", lifetime_from, fields.lifetime);
    choice("update", update_from, fields.update);
    fields.is_volatile = find_boolean(table, "volatile");
    if (const auto format = find_text(table, Section::scheme, "format"))
      fields.format = read_format(*format, field_ + ".schemes.format");
    if (!sound) return;
    const Scheme scheme = complete(fields);
    for (const Contradiction& contradiction : contradictions(scheme))
      add_contradiction(contradiction, table, scheme);
    schemes.push_back({scheme, place});
  }

  void add_contradiction(const Contradiction& contradiction, const toml::table& table,
                         const Scheme& scheme) {
    problems_.add(place_of(table.find(contradiction.key)->second.source()),
                  {.what = fmt::format("a contradiction with scope {}", to_string(scheme.scope)),
                   .field = fmt::format("{}.schemes.{}", field_, contradiction.key),
                   .found = std::string(contradiction.found),
                   .want = std::string(contradiction.want)});
  }

  // Puts the file's number into every place.
  void stamp() {
    const auto put = [this](SourcePlace& place) { place.source = context_.source; };
    for (FileEntry& each : file_.entries) {
      put(each.entry.place);
      for (PolicyKey& key : each.entry.keys) put(key.place);
      for (PolicyScheme& scheme : each.entry.schemes) put(scheme.place);
    }
    for (PolicyGroup& group : file_.groups) {
      put(group.place);
      put(group.paths_place);
    }
    for (SourcePlace& place : file_.source_format_places) put(place);
    for (auto& [name, device] : file_.devices) {
      put(device.place);
      put(device.profile_place);
    }
    for (auto& [name, profile] : file_.profiles) {
      put(profile.place);
      put(profile.extends_place);
    }
  }

  const toml::table& root_;
  const TomlText& lines_;
  const PolicyFileContext& context_;
  ProblemList& problems_;
  PolicyFile file_;
  std::string field_;  // the policy being read, for messages
};

// Where column `column` of a pattern stands in the file. Of a text with escapes, where it starts.
SourcePlace place_in_pattern(std::string_view text, SourcePlace key, std::uint32_t column,
                             const TomlText& lines) {
  if (column == 0) return key;
  std::string_view raw = lines.from(key);
  if (raw.starts_with('"') || raw.starts_with('\'')) {
    raw.remove_prefix(1);
    ++key.column;
  }
  if (!raw.starts_with(text)) {
    --key.column;
    return key;
  }
  key.column += column - 1;
  return key;
}

}  // namespace

PolicyFile read_policy_file(const PolicySource& source, const PolicyFileContext& context,
                            ProblemList& problems) {
  return FileReader(source, context, problems).read();
}

std::optional<PathPattern> read_pattern(std::string_view text, SourcePlace place,
                                        const std::string& field, const TomlText& lines,
                                        ProblemList& problems) {
  try {
    return PathPattern::parse(text);
  } catch (const Error& error) {
    for (Problem problem : error.problems()) {
      problem.field = field;
      problems.add(place_in_pattern(text, place, problem.column, lines), problem, problem.code);
    }
    return std::nullopt;
  }
}

}  // namespace synps
