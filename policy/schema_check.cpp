#include "schema_check.h"

#include <optional>
#include <string>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "policy_schema.h"
#include "synps/codec_registry.h"
#include "synps/form.h"
#include "toml_reader.h"
#include "toml_text.h"

namespace synps {
namespace {

std::string join(const std::string& field, std::string_view key) {
  const bool bare = !key.empty() && key.find_first_not_of(
                                        "abcdefghijklmnopqrstuvwxyz"
                                        "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                        "0123456789_-") == std::string_view::npos;
  const std::string name =
      bare && code_points(key) <= 120 ? std::string(key) : toml_key_for_display(key);
  return field.empty() ? name : fmt::format("{}.{}", field, name);
}

std::vector<std::string> keys_of(Section section) {
  std::vector<std::string> names;
  for (const KeySpec& key : policy_schema())
    if (key.section == section) names.emplace_back(key.name);
  return names;
}

std::vector<std::string> available_keys(Section section) {
  std::vector<std::string> names;
  for (const KeySpec& key : policy_schema())
    if (key.section == section && key.not_yet.empty()) names.emplace_back(key.name);
  return names;
}

const KeySpec* find_elsewhere(std::string_view name) {
  for (const KeySpec& key : policy_schema())
    if (key.name == name) return &key;
  return nullptr;
}

std::vector<std::string> values_of(const KeySpec& key) {
  std::vector<std::string> values;
  for (const Choice& choice : key.choices)
    if (choice.not_yet.empty()) values.emplace_back(choice.value);
  return values;
}

// A policy's unknown key that holds a table is most likely a pattern whose dots were not quoted:
// `[policies.model.layers.form]`. Returns the header that was meant, the pattern joined along the
// tables that hold nothing else.
std::string unquoted_header(std::string_view first, std::string_view second,
                            const toml::node& value) {
  std::string pattern = fmt::format("{}.{}", first, second);
  std::string inner;
  bool list = false;
  const toml::table* table = value.as_table();
  while (table != nullptr && table->size() == 1) {
    const auto only = table->begin();  // toml++ iterators own the pair they give
    const std::string_view key = only->first.str();
    if (const KeySpec* known = find_key(Section::policy, key)) {
      if (known->type == KeyType::table || known->type == KeyType::table_list)
        inner = fmt::format(".{}", key);
      list = known->type == KeyType::table_list;
      break;
    }
    table = only->second.as_table();
    if (table != nullptr) pattern += fmt::format(".{}", key);
  }
  return fmt::format("{}policies.{}{}{}", list ? "[[" : "[", toml_key_for_display(pattern), inner,
                     list ? "]]" : "]");
}

// The nearest by spelling, else one that begins alike: `policy` for `policies`.
std::optional<std::string> nearest_key(std::string_view key,
                                       const std::vector<std::string>& known) {
  constexpr std::size_t kAlike = 5;
  if (const auto near = nearest(key, known)) return near;
  for (const std::string& each : known)
    if (key.size() >= kAlike && each.substr(0, kAlike) == key.substr(0, kAlike)) return each;
  return std::nullopt;
}

// How the table is written that `field` wants.
std::string header_of(const KeySpec& spec, const std::string& field) {
  return spec.type == KeyType::table_list ? fmt::format("write [[{}]]", field)
                                          : fmt::format("write [{}]", field);
}

bool may_be_pattern(Section section, const toml::node& value) {
  return section == Section::policy && (value.is_table() || value.is_array_of_tables());
}

// What is wrong with a level that is none.
std::string level_hint(std::string_view value) {
  const std::string_view level = value.substr(value.find(':') + 1);
  const std::string_view digits = level.starts_with('-') ? level.substr(1) : level;
  const bool number =
      !digits.empty() && digits.find_first_not_of("0123456789") == std::string_view::npos;
  if (!number)
    return fmt::format("a level is a whole number; `zstd` alone is zstd:{}", kDefaultZstdLevel);
  if (level.starts_with('-')) return "negative levels of zstd hardly compress; use zstd:1, or none";
  if (level.starts_with('0')) return "levels start at 1 and have no leading zeros";
  return fmt::format(
      "levels above {} of zstd differ only by a window larger than a chunk; use "
      "zstd:{}",
      kMaxZstdLevel, kMaxZstdLevel);
}

class SchemaCheck {
 public:
  explicit SchemaCheck(ProblemList& problems) : problems_(problems) {}

  void table(const toml::table& table, Section section, const std::string& field,
             std::string_view name) {
    for (const auto& [key, value] : table) {
      const SourcePlace place = place_of(key.source());
      const std::string inner = join(field, key.str());
      const KeySpec* spec = find_key(section, key.str());
      if (spec == nullptr) {
        unknown(section, name, key.str(), value, place, inner);
      } else if (!spec->not_yet.empty()) {
        problems_.add(
            place,
            {.what = "not yet available", .field = inner, .hint = std::string(spec->not_yet)});
      } else {
        this->value(*spec, value, inner);
      }
    }
    missing(table, section, field);
  }

 private:
  void unknown(Section section, std::string_view name, std::string_view key,
               const toml::node& value, SourcePlace place, const std::string& field) {
    Problem problem{.what = "unknown key", .field = field};
    const std::vector<std::string> known = keys_of(section);
    std::vector<std::string> hints;
    if (may_be_pattern(section, value))
      hints.push_back(fmt::format("a pattern with dots is one quoted key: {}",
                                  unquoted_header(name, key, value)));
    if (const auto near = nearest_key(key, known))
      hints.push_back(fmt::format("did you mean `{}`?", *near));
    if (const KeySpec* other = find_elsewhere(key))
      hints.push_back(
          fmt::format("`{}` belongs to {}{}", key, section_header(other->section),
                      other->section == Section::root ? ": move it above the first table" : ""));
    if (section == Section::scheme && hints.empty())
      hints.emplace_back("a codec has no parameters: its name says all");
    if (hints.empty() || section == Section::scheme)
      problem.want = fmt::format("one of {}", fmt::join(available_keys(section), ", "));
    if (hints.size() == 1 || section == Section::scheme)
      problem.hint = hints.empty() ? "" : hints.front();
    else
      problem.hint = fmt::format("{}", fmt::join(hints, " Or else: "));
    problems_.add(place, std::move(problem));
  }

  void missing(const toml::table& table, Section section, const std::string& field) {
    for (const KeySpec& spec : policy_schema()) {
      if (spec.section != section || !spec.required || table.contains(spec.name)) continue;
      problems_.add(place_of(table.source()),
                    {.what = "a key is missing",
                     .field = join(field, spec.name),
                     .hint = fmt::format("it is required here: {}", spec.doc)});
    }
  }

  void value(const KeySpec& spec, const toml::node& value, const std::string& field) {
    switch (spec.type) {
      case KeyType::text:
        return text(spec, value, field);
      case KeyType::boolean:
        if (!value.is_boolean()) wrong_type(spec.type, value, field);
        return;
      case KeyType::byte_size:
        return byte_size(value, field);
      case KeyType::text_list:
        return text_list(spec, value, field);
      case KeyType::table:
        if (const toml::table* inner = value.as_table())
          return table(*inner, spec.inner, field, {});
        return wrong_type(spec.type, value, field, header_of(spec, field));
      case KeyType::table_list:
        return table_list(spec, value, field);
      case KeyType::named:
        return named(spec, value, field);
    }
  }

  void text(const KeySpec& spec, const toml::node& value, const std::string& field) {
    const auto* string = value.as_string();
    if (string == nullptr && spec.name == "extends" && value.is_array()) {
      const std::string_view kind = spec.section == Section::root ? "file" : "profile";
      return wrong_type(KeyType::text, value, field,
                        fmt::format("one {0} is extended; that {0} may extend another", kind));
    }
    if (string == nullptr) return wrong_type(KeyType::text, value, field);
    if (spec.choices.empty()) return;
    const Choice* choice = find_choice(spec, string->get());
    if (choice != nullptr && choice->value.ends_with(":LEVEL"))
      return level(string->get(), place_of(value.source()), field);
    if (choice != nullptr && choice->not_yet.empty()) return;
    Problem problem{.field = field, .found = quote(string->get())};
    if (choice != nullptr) {
      problem.what = "not yet available";
      problem.hint = choice->not_yet;
    } else {
      const std::vector<std::string> allowed = values_of(spec);
      problem.what = "unknown value";
      problem.want = allowed.size() == 1 ? allowed.front()
                                         : fmt::format("one of {}", fmt::join(allowed, ", "));
      if (const auto near = nearest(string->get(), allowed))
        problem.hint = fmt::format("did you mean `{}`?", *near);
    }
    problems_.add(place_of(value.source()), std::move(problem));
  }

  void byte_size(const toml::node& value, const std::string& field) {
    if (!value.is_integer() && !value.is_string())
      return wrong_type(KeyType::byte_size, value, field);
    if (byte_size_of(value)) return;
    const auto* text = value.as_string();
    problems_.add(place_of(value.source()),
                  {.what = "not a size in bytes",
                   .field = field,
                   .found = text != nullptr ? quote(text->get())
                                            : fmt::format("{}", value.as_integer()->get()),
                   .want = "a whole number, or one with a unit: \"700MiB\", \"2GB\""});
  }

  void level(const std::string& value, SourcePlace place, const std::string& field) {
    if (compress_request_from(value)) return;
    problems_.add(place, {.what = "unknown compression level",
                          .field = field,
                          .found = quote(value),
                          .want = fmt::format("zstd:{} to zstd:{}", kMinZstdLevel, kMaxZstdLevel),
                          .hint = level_hint(value)});
  }

  void text_list(const KeySpec& spec, const toml::node& value, const std::string& field) {
    const toml::array* list = value.as_array();
    if (list == nullptr) return wrong_type(KeyType::text_list, value, field);
    for (const toml::node& item : *list) text(spec, item, field);
  }

  void table_list(const KeySpec& spec, const toml::node& value, const std::string& field) {
    const toml::array* list = value.as_array();
    if (list == nullptr || !(list->empty() || value.is_array_of_tables()))
      return wrong_type(spec.type, value, field, header_of(spec, field));
    for (const toml::node& item : *list) table(*item.as_table(), spec.inner, field, {});
  }

  void named(const KeySpec& spec, const toml::node& value, const std::string& field) {
    const toml::table* tables = value.as_table();
    if (tables == nullptr) return wrong_type(spec.type, value, field);
    for (const auto& [key, inner] : *tables) {
      const std::string inner_field = join(field, key.str());
      if (const toml::table* inner_table = inner.as_table())
        table(*inner_table, spec.inner, inner_field, key.str());
      else if (spec.inner == Section::package && inner.is_string())
        wrong_type(KeyType::table, inner, inner_field, "write { path = \"…\" }");
      else
        wrong_type(KeyType::table, inner, inner_field);
    }
  }

  void wrong_type(KeyType wanted, const toml::node& value, const std::string& field,
                  std::string hint = {}) {
    problems_.add(place_of(value.source()), {.what = "wrong type",
                                             .field = field,
                                             .found = std::string(type_found(value)),
                                             .want = std::string(type_wanted(wanted)),
                                             .hint = std::move(hint)});
  }

  ProblemList& problems_;
};

}  // namespace

void check_schema(const toml::table& root, ProblemList& problems) {
  SchemaCheck(problems).table(root, Section::root, {}, {});
}

}  // namespace synps
