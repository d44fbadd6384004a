#pragma once

#include <cstdint>
#include <span>
#include <string_view>

namespace synps {

/// The tables of synps.toml.
enum class Section : std::uint8_t {
  root,
  myelin,
  policy,
  backend,
  scheme,
  form,
  device,
  package,
  group,
  profile,
};

enum class KeyType : std::uint8_t {
  text,
  boolean,
  byte_size,  ///< an integer, or a string such as "700MiB"
  text_list,
  table,       ///< one table, of section `inner`
  table_list,  ///< [[…]]: an array of tables, each of section `inner`
  named,       ///< a table whose keys are the user's own names, each a table of section `inner`
};

/// A value that a key of type text may have.
struct Choice {
  std::string_view value;
  std::string_view not_yet = {};  ///< what is missing, when this version does not take the value
};

/// One key of the language. Parser, suggestions and documentation tests all read this table.
struct KeySpec {
  Section section = Section::root;
  std::string_view name;
  KeyType type = KeyType::text;
  std::span<const Choice> choices = {};  ///< text, text_list: all allowed values; empty: any text
  Section inner = Section::root;         ///< for the three table types
  std::string_view inferred = {};        ///< what holds when the key is omitted; "" for nothing
  bool required = false;                 ///< its table needs it
  bool not_empty = false;                ///< text_list: at least one
  std::string_view not_yet = {};         ///< what is missing, when this version refuses the key
  std::string_view doc = {};             ///< one line
};

/// Every key, section by section.
std::span<const KeySpec> policy_schema() noexcept;

/// The key of that name, or null.
const KeySpec* find_key(Section section, std::string_view name) noexcept;

/// The choice that `value` is, or null. `zstd:LEVEL` stands for every text that starts `zstd:`;
/// whether what follows is a level is for compress_request_from() to say.
const Choice* find_choice(const KeySpec& key, std::string_view value) noexcept;

/// How an error speaks of a section: `[policies."PATTERN".form]`.
std::string_view section_header(Section section) noexcept;

/// "a string", "an array of tables": what a key of this type wants.
std::string_view type_wanted(KeyType type) noexcept;

}  // namespace synps
