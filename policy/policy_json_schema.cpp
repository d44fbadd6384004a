#include "policy_json_schema.h"

#include <algorithm>
#include <string_view>

#include <fmt/format.h>

#include "synps/byte_size.h"
#include "synps/json_writer.h"
#include "synps/policy_json_schema.h"

namespace synps {
namespace {

constexpr std::string_view kParameter = ":LEVEL";  // of a choice: a level of zstd, 1 to 19

bool is_available(const Choice& choice) noexcept {
  return choice.not_yet.empty();
}

bool has_parameter(const Choice& choice) noexcept {
  return choice.value.ends_with(kParameter);
}

// Whether `inferred` is the value itself, and not a sentence about what it depends on.
bool is_one_value(const KeySpec& key) noexcept {
  return !key.inferred.empty() &&
         (key.type == KeyType::text_list || key.inferred.find(' ') == std::string_view::npos);
}

// "clean host pages may be …" as "Clean host pages may be …."
std::string sentence(std::string_view text) {
  std::string out(text);
  if (!out.empty() && out.front() >= 'a' && out.front() <= 'z')
    out.front() = static_cast<char>(out.front() - 'a' + 'A');
  return out + ".";
}

std::string description_of(const KeySpec& key) {
  std::string text = sentence(key.doc);
  if (!key.inferred.empty() && !is_one_value(key))
    text += fmt::format(" When omitted: {}.", key.inferred);
  return text;
}

// Every key of the language stands in one section, and every section under one key: the tables are
// written where they stand.
class SchemaWriter {
 public:
  explicit SchemaWriter(std::span<const KeySpec> keys) : keys_(keys) {}

  std::string write() {
    json_.begin_object();
    member("$schema", "http://json-schema.org/draft-07/schema#");
    member("title", "synps.toml");
    member("description", "A policy of synps: how every weight of a checkpoint is stored.");
    table_members(Section::root);
    json_.end_object();
    return json_.take();
  }

 private:
  void member(std::string_view name, std::string_view value) { json_.key(name).string(value); }

  void table_members(Section section) {
    member("type", "object");
    json_.key("additionalProperties").boolean(false);
    json_.key("properties").begin_object();
    for (const KeySpec& key : keys_)
      if (key.section == section && key.not_yet.empty()) property(key);
    json_.end_object();
    required(section);
  }

  void required(Section section) {
    const auto needed = [section](const KeySpec& key) {
      return key.section == section && key.required && key.not_yet.empty();
    };
    if (std::none_of(keys_.begin(), keys_.end(), needed)) return;
    json_.key("required").begin_array();
    for (const KeySpec& key : keys_)
      if (needed(key)) json_.string(key.name);
    json_.end_array();
  }

  void property(const KeySpec& key) {
    json_.key(key.name).begin_object();
    member("description", description_of(key));
    value_members(key);
    default_member(key);
    json_.end_object();
  }

  void value_members(const KeySpec& key) {
    switch (key.type) {
      case KeyType::text:
        return text_members(key);
      case KeyType::boolean:
        return member("type", "boolean");
      case KeyType::byte_size:
        json_.key("type").begin_array().string("integer").string("string").end_array();
        json_.key("minimum").integer(0);
        return member("pattern", "^[0-9]+( ?([KkMmGgTt][Ii]?)?[Bb])?$");
      case KeyType::text_list:
        member("type", "array");
        if (key.not_empty) json_.key("minItems").integer(1);
        json_.key("items").begin_object();
        text_members(key);
        json_.end_object();
        return;
      case KeyType::table:
        return table_members(key.inner);
      case KeyType::table_list:
        member("type", "array");
        json_.key("items").begin_object();
        table_members(key.inner);
        json_.end_object();
        return;
      case KeyType::named:
        member("type", "object");
        if (key.inner == Section::policy)  // a pattern is never empty
          json_.key("propertyNames").begin_object().key("minLength").integer(1).end_object();
        json_.key("additionalProperties").begin_object();
        table_members(key.inner);
        json_.end_object();
        return;
    }
  }

  void text_members(const KeySpec& key) {
    member("type", "string");
    if (key.choices.empty()) return;
    const bool any_parameter = std::any_of(
        key.choices.begin(), key.choices.end(),
        [](const Choice& choice) { return is_available(choice) && has_parameter(choice); });
    if (!any_parameter) return enum_member(key);
    json_.key("anyOf").begin_array().begin_object();
    enum_member(key);
    json_.end_object();
    for (const Choice& choice : key.choices)
      if (is_available(choice) && has_parameter(choice)) pattern_object(choice);
    json_.end_array();
  }

  void enum_member(const KeySpec& key) {
    json_.key("enum").begin_array();
    for (const Choice& choice : key.choices)
      if (is_available(choice) && !has_parameter(choice)) json_.string(choice.value);
    json_.end_array();
  }

  void pattern_object(const Choice& choice) {
    const std::string_view name = choice.value.substr(0, choice.value.size() - kParameter.size());
    json_.begin_object();
    member("pattern", fmt::format("^{}:(1[0-9]|[1-9])$", name));
    json_.end_object();
  }

  void default_member(const KeySpec& key) {
    if (!is_one_value(key)) return;
    json_.key("default");
    if (key.type == KeyType::boolean)
      json_.boolean(key.inferred == "true");
    else if (key.type == KeyType::byte_size)
      json_.integer(*parse_byte_size(key.inferred));
    else if (key.type == KeyType::text_list)
      text_list(key.inferred);
    else
      json_.string(key.inferred);
  }

  // `["a", "b"]`, as the table of keys writes lists.
  void text_list(std::string_view list) {
    json_.begin_array();
    for (std::size_t at = list.find('"'); at != std::string_view::npos;) {
      const std::size_t end = list.find('"', at + 1);
      if (end == std::string_view::npos) break;
      json_.string(list.substr(at + 1, end - at - 1));
      at = list.find('"', end + 1);
    }
    json_.end_array();
  }

  std::span<const KeySpec> keys_;
  JsonWriter json_;
};

// Compact JSON with one member or element a line.
std::string indented(std::string_view json) {
  std::string out;
  std::size_t depth = 0;
  bool in_string = false;
  const auto new_line = [&] { out.append(1, '\n').append(2 * depth, ' '); };
  for (std::size_t i = 0; i < json.size(); ++i) {
    const char c = json[i];
    if (in_string || c == '"') {
      out += c;
      if (c == '\\') out += json[++i];
      if (c == '"') in_string = !in_string;
    } else if (c == '{' || c == '[') {
      out += c;
      ++depth;
      new_line();
    } else if (c == '}' || c == ']') {
      --depth;
      new_line();
      out += c;
    } else {
      out += c;
      if (c == ',') new_line();
      if (c == ':') out += ' ';
    }
  }
  return out + "\n";
}

}  // namespace

std::string json_schema_of(std::span<const KeySpec> keys) {
  return indented(SchemaWriter(keys).write());
}

std::string policy_json_schema() {
  return json_schema_of(policy_schema());
}

}  // namespace synps
