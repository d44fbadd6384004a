#include <algorithm>

#include <fmt/format.h>

#include "pattern_syntax.h"
#include "policy_file.h"
#include "policy_schema.h"
#include "toml_reader.h"

namespace synps {
namespace {

bool has_wildcard(const pattern::Glob& glob, bool inside_braces) {
  return std::any_of(glob.begin(), glob.end(), [&](const pattern::GlobNode& node) {
    using Kind = pattern::GlobNode::Kind;
    if (inside_braces && (node.kind == Kind::any_one || node.kind == Kind::any_run)) return true;
    return std::any_of(node.alternatives.begin(), node.alternatives.end(),
                       [](const pattern::Glob& each) { return has_wildcard(each, true); });
  });
}

bool has_wildcard_in_braces(std::string_view pattern) {
  const std::vector<pattern::SegmentPattern> segments = pattern::parse_pattern(pattern);
  return std::any_of(segments.begin(), segments.end(), [](const pattern::SegmentPattern& segment) {
    return has_wildcard(segment.glob, false);
  });
}

std::optional<PathPattern> read_paths(const toml::table& table, const std::string& field,
                                      const TomlText& lines, ProblemList& problems) {
  const toml::node* node = table.get("paths");
  if (node == nullptr || !node->is_string()) return std::nullopt;  // the schema's to report
  const std::string& text = node->as_string()->get();
  const SourcePlace place = place_of(node->source());
  const std::string paths_field = field + ".paths";
  std::optional<PathPattern> pattern = read_pattern(text, place, paths_field, lines, problems);
  if (!pattern || !has_wildcard_in_braces(text)) return pattern;
  problems.add(place, {.what = "a wildcard inside the braces of a group",
                       .field = paths_field,
                       .found = quote(text),
                       .want = "braces that choose between names",
                       .hint = "members differ in the braces and agree on the wildcards, which "
                               "stand outside"});
  return std::nullopt;
}

std::vector<std::string> read_same(const toml::table& table, SourcePlace name_place,
                                   const std::string& field, ProblemList& problems) {
  const toml::node* node = table.get("same");
  if (node == nullptr) return {"form", "format"};
  std::vector<std::string> same;
  const toml::array* list = node->as_array();
  if (list == nullptr) return {};
  const KeySpec& spec = *find_key(Section::group, "same");
  for (const toml::node& item : *list) {
    const auto* text = item.as_string();
    if (text != nullptr && find_choice(spec, text->get()) != nullptr) same.push_back(text->get());
  }
  std::sort(same.begin(), same.end());
  same.erase(std::unique(same.begin(), same.end()), same.end());
  if (list->empty()) {
    const SourcePlace place = place_of(node->source());
    problems.add(place.line != 0 ? place : name_place,
                 {.what = "a group that asks for nothing",
                  .field = field + ".same",
                  .found = "an empty array",
                  .hint = "name what its members must share, or leave `same` out"});
  }
  return same;
}

}  // namespace

std::vector<PolicyGroup> read_groups(const toml::table& root, const TomlText& lines,
                                     ProblemList& problems) {
  std::vector<PolicyGroup> groups;
  const toml::table* tables = root["groups"].as_table();
  if (tables == nullptr) return groups;
  for (const auto& [key, value] : *tables) {
    const toml::table* table = value.as_table();
    if (table == nullptr) continue;
    PolicyGroup group;
    group.name = key.str();
    group.place = place_of(key.source());
    const std::string field = fmt::format("groups.{}", toml_key_for_display(group.name));
    group.same = read_same(*table, group.place, field, problems);
    group.optional = (*table)["optional"].value_exact<bool>().value_or(false);
    const std::optional<PathPattern> paths = read_paths(*table, field, lines, problems);
    if (!paths) continue;
    group.paths = *paths;
    group.paths_place = place_of(table->get("paths")->source());
    groups.push_back(std::move(group));
  }
  return groups;
}

}  // namespace synps
