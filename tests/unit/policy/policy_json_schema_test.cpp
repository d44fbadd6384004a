// The JSON Schema of synps.toml, held against the table of keys and the file that editors take.
// tests/cli/test_policy_schema.py holds it against an independent validator and the parser.
#include "policy_json_schema.h"

#include <doctest/doctest.h>
#include <simdjson.h>

#include <array>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "synps/policy_json_schema.h"
#include "temp_dir.h"

using namespace synps;
using namespace synps::testing;

namespace {

// Where the schema has the keys of a section, as a JSON pointer.
std::string pointer_to(Section section) {
  for (const KeySpec& key : policy_schema()) {
    const bool holds =
        key.type == KeyType::table || key.type == KeyType::table_list || key.type == KeyType::named;
    if (!holds || !key.not_yet.empty() || key.inner != section) continue;
    std::string at = fmt::format("{}/{}", pointer_to(key.section), key.name);
    if (key.type == KeyType::table_list) at += "/items";
    if (key.type == KeyType::named) at += "/additionalProperties";
    return at + "/properties";
  }
  return "/properties";
}

std::vector<std::string> texts(simdjson::dom::element list) {
  std::vector<std::string> out;
  const simdjson::dom::array items = list.get_array().value();
  for (const simdjson::dom::element item : items) out.emplace_back(item.get_string().value());
  return out;
}

}  // namespace

TEST_CASE("docs/synps.schema.json is the schema of this version") {
  const std::string file = read_file(std::string(SYNPS_SOURCE_DIR) + "/docs/synps.schema.json");
  INFO("`synps schema > docs/synps.schema.json` writes it");
  CHECK(file == policy_json_schema());
}

TEST_CASE("the schema has every key that is available, with its type, values, default and need") {
  const std::string text = policy_json_schema();
  simdjson::dom::parser parser;
  const simdjson::dom::element schema = parser.parse(text);
  for (const KeySpec& key : policy_schema()) {
    CAPTURE(std::string(key.name));
    const std::string section = pointer_to(key.section);
    simdjson::dom::element property;
    const bool found = schema.at_pointer(fmt::format("{}/{}", section, key.name)).get(property) ==
                       simdjson::SUCCESS;
    REQUIRE(found == key.not_yet.empty());
    if (!found) continue;
    const std::string description(property["description"].get_string().value());
    CHECK(contains(description, key.doc.substr(1)));
    if (key.type == KeyType::byte_size) {
      CHECK(texts(property["type"]) == std::vector<std::string>{"integer", "string"});
      CHECK(property["minimum"].get_int64().value() == 0);
      CHECK(contains(property["pattern"].get_string().value(), "[0-9]+"));
      continue;
    }
    const std::string type(property["type"].get_string().value());
    const bool list = key.type == KeyType::text_list || key.type == KeyType::table_list;
    const bool table = key.type == KeyType::table || key.type == KeyType::named;
    CHECK(type == (list                           ? "array"
                   : table                        ? "object"
                   : key.type == KeyType::boolean ? "boolean"
                                                  : "string"));
    if (!key.choices.empty()) {
      std::vector<std::string> values;
      for (const Choice& choice : key.choices)
        if (choice.not_yet.empty() && !choice.value.ends_with(":LEVEL"))
          values.emplace_back(choice.value);
      simdjson::dom::element any;
      const bool parameter = property["anyOf"].get(any) == simdjson::SUCCESS;
      CHECK(parameter == (key.name == "compress"));
      const simdjson::dom::element of = parameter ? any.at(0).value() : property;
      CHECK(texts(list ? of["items"]["enum"] : of["enum"]) == values);
    }
    if (!key.inferred.empty()) {
      simdjson::dom::element value;
      if (property["default"].get(value) == simdjson::SUCCESS) {
        const std::string written = simdjson::minify(value);
        std::string inferred(key.inferred);
        std::erase(inferred, ' ');
        CHECK(written == (type == "string" ? "\"" + inferred + "\"" : inferred));
      } else {
        CHECK(contains(description, key.inferred));
      }
    }
    simdjson::dom::element required;
    const std::string holder = section.substr(0, section.rfind('/'));
    const std::vector<std::string> needed =
        schema.at_pointer(holder + "/required").get(required) == simdjson::SUCCESS
            ? texts(required)
            : std::vector<std::string>();
    CHECK((std::find(needed.begin(), needed.end(), key.name) != needed.end()) == key.required);
    CHECK(schema.at_pointer(holder + "/additionalProperties").get_bool().value() == false);
  }
}

TEST_CASE("a value with a parameter is a pattern, and what is not yet available is left out") {
  static constexpr std::array kCompressions{Choice{"none"}, Choice{"zstd:LEVEL"},
                                            Choice{"brotli", "later"}};
  static constexpr std::array kKeys{
      KeySpec{.section = Section::root,
              .name = "compress",
              .choices = kCompressions,
              .inferred = "none",
              .required = true,
              .doc = "say \"how\""},
      KeySpec{.section = Section::root, .name = "profiles", .not_yet = "later", .doc = "no"},
      KeySpec{.section = Section::root,
              .name = "same",
              .type = KeyType::text_list,
              .inferred = "[\"a\", \"b\"]",
              .doc = "what is alike"},
  };
  CHECK(json_schema_of(kKeys) == R"({
  "$schema": "http://json-schema.org/draft-07/schema#",
  "title": "synps.toml",
  "description": "A policy of synps: how every weight of a checkpoint is stored.",
  "type": "object",
  "additionalProperties": false,
  "properties": {
    "compress": {
      "description": "Say \"how\".",
      "type": "string",
      "anyOf": [
        {
          "enum": [
            "none"
          ]
        },
        {
          "pattern": "^zstd:(1[0-9]|[1-9])$"
        }
      ],
      "default": "none"
    },
    "same": {
      "description": "What is alike.",
      "type": "array",
      "items": {
        "type": "string"
      },
      "default": [
        "a",
        "b"
      ]
    }
  },
  "required": [
    "compress"
  ]
}
)");
}
