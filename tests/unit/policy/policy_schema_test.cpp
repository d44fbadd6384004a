// Keys, types and values of synps.toml, each checked against the one schema table.
#include "policy_schema.h"

#include <doctest/doctest.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>

#include "policy_fixture.h"

using namespace synps;
using namespace synps::testing;

namespace {

// A header under which keys of the section stand, with what the section needs besides.
std::string header(Section section) {
  switch (section) {
    case Section::root:
      return "";
    case Section::myelin:
      return "[myelin]\n";
    case Section::policy:
      return "[policies.\"*\"]\n";
    case Section::backend:
      return "[policies.\"*\".backend]\n";
    case Section::scheme:
      return "[[policies.\"*\".schemes]]\n";
    case Section::form:
      return "[policies.\"*\".form]\n";
    case Section::device:
      return "[devices.board]\n";
    case Section::package:
      return "[packages.none]\n";
    case Section::group:
      return "[groups.board]\n";
    case Section::profile:
      return "[profiles.board]\n";
  }
  return "";
}

// What the section needs besides the key looked at.
std::string rest(const KeySpec& key) {
  std::string text;
  for (const KeySpec& other : policy_schema())
    if (other.section == key.section && other.required && other.name != key.name)
      text += fmt::format("{} = \"{}\"\n", other.name, other.name == "paths" ? "*" : "f16");
  return text;
}

// Parses without files: no base can be read, and every package is an empty one.
class NoFiles : public Os {
 public:
  int open(const std::string&, Open) override { return -ENOENT; }
};

std::vector<Problem> problems_without_files(const std::string& text) {
  NoFiles no_files;
  PolicyOptions options;
  options.os = &no_files;
  options.load_package = [](const std::string&, const std::string&) {
    return std::vector<std::shared_ptr<const Codec>>();
  };
  return problems_of([&] { Policy::parse(text, "synps.toml", facts_registry(), options); });
}

std::string with(const KeySpec& key, std::string_view value) {
  return fmt::format("{}{} = {}\n{}", header(key.section), key.name, value, rest(key));
}

std::size_t key_line(const KeySpec& key) {
  return key.section == Section::root ? 1 : 2;
}

const Problem* find(const std::vector<Problem>& problems, std::string_view what) {
  for (const Problem& problem : problems)
    if (problem.what == what) return &problem;
  return nullptr;
}

std::string good_value(const KeySpec& key) {
  if (key.type == KeyType::text && !key.choices.empty())
    return fmt::format("\"{}\"", key.choices.front().value);
  if (key.name == "format" || key.name == "fallback") return "\"q8_0\"";
  if (key.name == "device") return "\"local\"";
  if (key.name == "profile" || (key.name == "extends" && key.section == Section::profile))
    return "\"edge\"";
  if (key.name == "paths") return "\"*\"";
  if (key.type == KeyType::text_list && !key.choices.empty())
    return fmt::format("[\"{}\"]", key.choices.front().value);
  switch (key.type) {
    case KeyType::text:
      return "\"text\"";
    case KeyType::boolean:
      return "true";
    case KeyType::byte_size:
      return "\"700MiB\"";
    case KeyType::text_list:
      return "[\"f16\"]";
    case KeyType::table_list:
      return "[]";
    case KeyType::table:
    case KeyType::named:
      return "{}";
  }
  return "";
}

}  // namespace

TEST_CASE("every key of the schema is documented, and each name stands once in its section") {
  std::set<std::pair<int, std::string>> seen;
  for (const KeySpec& key : policy_schema()) {
    CAPTURE(key.name);
    CHECK_FALSE(key.doc.empty());
    CHECK(seen.emplace(static_cast<int>(key.section), std::string(key.name)).second);
    CHECK(find_key(key.section, key.name) == &key);
  }
  CHECK(find_key(Section::root, "dtype") == nullptr);
}

TEST_CASE("every key takes a good value, or says that it is not yet available") {
  for (const KeySpec& key : policy_schema()) {
    CAPTURE(key.name);
    const std::vector<Problem> problems = problems_without_files(with(key, good_value(key)));
    if (key.name == "extends" && key.section == Section::root) {
      // The value is taken; only the file is missing.
      REQUIRE(problems.size() == 1);
      CHECK(contains(problems[0].what, "the file to extend cannot be used"));
      continue;
    }
    if (key.not_yet.empty()) {
      CHECK(problems.empty());
      continue;
    }
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "not yet available");
    CHECK(problems[0].hint == key.not_yet);
    CHECK(problems[0].line == key_line(key));
    CHECK(problems[0].column == 1);
  }
}

TEST_CASE("every key refuses every wrong type, naming both") {
  const struct {
    const char* text;
    const char* found;
    KeyType fits;
  } values[] = {
      {"1", "an integer", KeyType{}},
      {"1.5", "a floating-point number", KeyType{}},
      {"1979-05-27", "a date", KeyType{}},
      {"07:32:00", "a time", KeyType{}},
      {"1979-05-27T07:32:00Z", "a date and time", KeyType{}},
      {"true", "a boolean", KeyType::boolean},
      {"\"text\"", "a string", KeyType::text},
      {"[1]", "an array", KeyType{}},
      {"{ }", "a table", KeyType::table},
  };
  for (const KeySpec& key : policy_schema()) {
    if (!key.not_yet.empty()) continue;
    for (const auto& value : values) {
      const bool table = key.type == KeyType::table || key.type == KeyType::named;
      const std::string_view found = value.found;
      if (key.type == KeyType::byte_size && (found == "an integer" || found == "a string"))
        continue;
      if (value.fits == KeyType::table ? table
                                       : value.fits == key.type && value.text[0] != '1' &&
                                             value.text[0] != '0' && value.text[0] != '[')
        continue;
      CAPTURE(key.name);
      CAPTURE(value.text);
      const std::vector<Problem> problems = problems_without_files(with(key, value.text));
      const Problem* problem = find(problems, "wrong type");
      REQUIRE(problem != nullptr);
      CHECK(problem->code == ErrorCode::policy);
      CHECK(problem->line == key_line(key));
      const bool in_list = key.type == KeyType::text_list && value.text[0] == '[';
      CHECK(problem->found == (in_list ? "an integer" : value.found));
      CHECK(problem->want == (in_list ? "a string" : type_wanted(key.type)));
      CHECK(problem->column == std::string(key.name).size() + (in_list ? 5 : 4));
      CHECK(contains(problem->field, key.name));
    }
  }
}

TEST_CASE("every value of every key is taken, or is not yet available") {
  for (const KeySpec& key : policy_schema()) {
    for (const Choice& choice : key.choices) {
      CAPTURE(key.name);
      CAPTURE(choice.value);
      // Of the scheme fields only some go together; that is another test.
      const bool scheme = key.section == Section::scheme;
      const std::string scope = scheme && key.name != "scope" ? "scope = \"input\"\n" : "";
      const bool list = key.type == KeyType::text_list;
      const std::string value = choice.value == "zstd:LEVEL" ? "zstd:7" : std::string(choice.value);
      const std::vector<Problem> problems = parse_problems(
          with(key, list ? fmt::format("[\"{}\"]", value) : fmt::format("\"{}\"", value)) + scope);
      if (choice.not_yet.empty()) {
        CHECK(problems.empty());
      } else {
        REQUIRE(problems.size() == 1);
        CHECK(problems[0].what == "not yet available");
        CHECK(problems[0].hint == choice.not_yet);
        CHECK(problems[0].found == quote(choice.value));
      }
    }
    if (key.choices.empty()) continue;
    const bool list = key.type == KeyType::text_list;
    const std::vector<Problem> problems =
        parse_problems(with(key, list ? "[\"nonsense\"]" : "\"nonsense\""));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown value");
    CHECK(problems[0].found == "'nonsense'");
    CHECK(contains(problems[0].want, key.choices.front().value));
    CHECK(problems[0].column == key.name.size() + (list ? 5 : 4));
  }
}

TEST_CASE("levels of compression go from 1 to 19, and others are explained") {
  const auto problems_of_level = [](const std::string& level) {
    return parse_problems("[policies.\"*\".form]\ncompress = \"zstd:" + level + "\"\n");
  };
  for (const char* level : {"1", "3", "9", "10", "19"}) CHECK(problems_of_level(level).empty());
  const struct {
    const char* level;
    const char* hint;
  } cases[] = {
      {"0", "start at 1"},    {"20", "use zstd:19"},     {"22", "larger than a chunk"},
      {"-1", "negative"},     {"", "a whole number"},    {"LEVEL", "a whole number"},
      {"03", "leading zero"}, {"3.5", "a whole number"}, {"99999999999999999999", "zstd:19"}};
  for (const auto& each : cases) {
    CAPTURE(each.level);
    const std::vector<Problem> problems = problems_of_level(each.level);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown compression level");
    CHECK(problems[0].field == "policies.\"*\".form.compress");
    CHECK(problems[0].want == "zstd:1 to zstd:19");
    CHECK(place(problems[0]) == "2:12");
    CHECK(contains(problems[0].hint, each.hint));
  }
  const std::vector<Problem> near = parse_problems("[policies.\"*\".form]\ncompress = \"ztsd\"\n");
  REQUIRE(near.size() == 1);
  CHECK(near[0].what == "unknown value");
  CHECK(contains(near[0].hint, "`zstd`"));
}

TEST_CASE("the enumerated values are those that the types know") {
  const auto values = [](Section section, const char* name) {
    return find_key(section, name)->choices;
  };
  for (const Choice& choice : values(Section::scheme, "scope")) CHECK(scope_from(choice.value));
  for (const Choice& choice : values(Section::scheme, "lifetime"))
    CHECK(lifetime_from(choice.value));
  for (const Choice& choice : values(Section::scheme, "update")) CHECK(update_from(choice.value));
  for (const Choice& choice : values(Section::form, "residency"))
    CHECK(residency_request_from(choice.value));
  for (const Choice& choice : values(Section::form, "orientation"))
    CHECK(orientation_from(choice.value));
  for (const Choice& choice : values(Section::form, "order"))
    CHECK(order_request_from(choice.value).has_value() == choice.not_yet.empty());
}

TEST_CASE("an unknown key is answered with the nearest known one") {
  const struct {
    const char* text;
    const char* place;
    const char* field;
    const char* hint;
  } cases[] = {
      {"[polices.\"*\"]\n", "1:2", "polices", "`policies`"},
      {"[myelin]\nformat_s = []\n", "2:1", "myelin.format_s", "`formats`"},
      {"[policies.\"*\"]\n  dtpe = \"f32\"\n", "2:3", "policies.\"*\".dtpe", "`dtype`"},
      {"[policies.\"*\"]\nfalback = \"f32\"\n", "2:1", "policies.\"*\".falback", "`fallback`"},
      {"[policies.\"*\".backend]\ndevise = \"local\"\n", "2:1", "policies.\"*\".backend.devise",
       "`device`"},
      {"[policies.\"*\".form]\nresidence = \"heap\"\n", "2:1", "policies.\"*\".form.residence",
       "`residency`"},
      {"[[policies.\"*\".schemes]]\nformat = \"f16\"\nlifetme = \"any\"\n", "3:1",
       "policies.\"*\".schemes.lifetme", "`lifetime`"},
      {"[devices.board]\ntraget = \"cpu\"\n", "2:1", "devices.board.traget", "`target`"},
      // A known key in the wrong place is told the right one.
      {"[policies.\"*\"]\nformat = \"f16\"\n", "2:1", "policies.\"*\".format",
       "[[policies.\"PATTERN\".schemes]]"},
      {"[policies.\"*\"]\nresidency = \"heap\"\n", "2:1", "policies.\"*\".residency",
       "[policies.\"PATTERN\".form]"},
      {"[[policies.\"*\".schemes]]\nformat = \"f16\"\ndtype = \"f32\"\n", "3:1",
       "policies.\"*\".schemes.dtype", "[policies.\"PATTERN\"]"},
      {"dtype = \"f32\"\n", "1:1", "dtype", "[policies.\"PATTERN\"]"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown key");
    CHECK(place(problems[0]) == each.place);
    CHECK(problems[0].field == each.field);
    CHECK(contains(problems[0].hint, each.hint));
  }
  // Codec parameters are unknown keys; nothing near, so all known ones are listed.
  const std::vector<Problem> problems =
      parse_problems("[[policies.\"*\".schemes]]\nformat = \"f16\"\nblock_size = 32\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].want == "one of scope, lifetime, update, format, volatile");
}

TEST_CASE("every key that is known is wanted where none is near") {
  const std::vector<Problem> problems = parse_problems("zzzzzzzz = 1\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].want ==
        "one of myelin, policies, devices, extends, packages, groups, profiles");
}

TEST_CASE("a dotted pattern without quotes is told to quote itself") {
  const struct {
    const char* text;
    const char* hint;
  } cases[] = {
      {"[policies.model.layers]\ndtype = \"f32\"\n", "[policies.\"model.layers\"]"},
      {"[[policies.model.layers.3.mlp.schemes]]\nformat = \"f16\"\n",
       "[[policies.\"model.layers.3.mlp\".schemes]]"},
      {"[policies.model.norm.form]\nresidency = \"heap\"\n", "[policies.\"model.norm\".form]"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown key");
    CHECK(problems[0].line == 1);
    CHECK(contains(problems[0].hint, each.hint));
  }
}

TEST_CASE("single brackets on schemes are answered with double ones") {
  const std::vector<Problem> problems =
      parse_problems("[policies.\"a.*\".schemes]\nformat = \"f16\"\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].found == "a table");
  CHECK(problems[0].want == "an array of tables");
  CHECK(problems[0].hint == "write [[policies.\"a.*\".schemes]]");
  CHECK(parse_problems("[policies.\"*\"]\nschemes = [{ format = \"f16\" }]\n").empty());
}

TEST_CASE("all problems of a file come together, by line and column") {
  const std::vector<Problem> problems = parse_problems(
      "[policies.\"z\"]\n"
      "dtype = 3\n"
      "[policies.\"a.{b\"]\n"
      "dtpe = \"f32\"\n"
      "fallback = \"q9_0\"\n"
      "[[policies.\"*\".schemes]]\n"
      "format = \"q8_0\"\n"
      "update = \"whole\"\n"
      "[policies.\"*\".backend]\n"
      "device = \"nowhere\"\n"
      "[myelin]\n"
      "formats = [\"f16\", \"e5m9\"]\n");
  std::vector<std::string> places;
  for (const Problem& problem : problems) places.push_back(place(problem));
  CHECK(places == std::vector<std::string>{"2:9", "3:14", "4:1", "5:12", "8:10", "10:10", "12:19"});
}

TEST_CASE("a bad pattern is placed inside its quotes") {
  const struct {
    const char* text;
    const char* place;
  } cases[] = {
      {"[policies.\"model.{a\"]\n", "1:18"},
      {"[policies.'model.{a']\n", "1:18"},
      {"# x\n  [[policies.\"é.{a\".schemes]]\nformat = \"f16\"\n", "2:17"},
      {"[policies.\"\\u00e9.{a\"]\n", "1:11"},  // escapes: the key itself
      {"policies = { \"model.{a\" = {} }\n", "1:21"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CHECK(place(problems[0]) == each.place);
    CHECK(contains(problems[0].field, "policies."));
  }
}

TEST_CASE("a pattern made to explode is a limit with its place") {
  for (const std::string& pattern :
       {std::string("{0..999999999999}"), std::string("{a,{b,{c,{d,{e,{f,{g,{h,{i,j}}}}}}}}}"),
        std::string(10'000, 'x')}) {
    CAPTURE(pattern.substr(0, 40));
    const std::vector<Problem> problems =
        parse_problems("\n[[policies.\"" + pattern + "\".schemes]]\nformat = \"f16\"\n");
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::limit);
    CHECK(problems[0].line == 2);
    CHECK(problems[0].column >= 13);
  }
}

TEST_CASE("codecs go by short or qualified name, and are kept qualified") {
  const Policy policy = parse(
      "[policies.\"*\"]\nfallback = \"f16\"\n"
      "[[policies.\"*\".schemes]]\nformat = \"q8_0\"\n"
      "[[policies.\"b\".schemes]]\nformat = \"ternary:tq2_0\"\n"
      "[[policies.\"c\".schemes]]\nformat = \"ternary\"\n"
      "[[policies.\"d\".schemes]]\nformat = \"keep\"\n"
      "[policies.\"e\"]\nfallback = \"keep\"\n");
  const std::vector<PolicyEntry>& entries = policy.entries();
  REQUIRE(entries.size() == 5);
  REQUIRE(entries[0].keys.size() == 1);
  CHECK(entries[0].keys[0].name == "fallback");
  CHECK(entries[0].keys[0].value == "f16:f16");
  CHECK(entries[0].keys[0].place.line == 2);
  CHECK(entries[0].keys[0].place.column == 1);
  CHECK(entries[0].schemes.at(0).scheme.format == "q8_0:q8_0");
  CHECK(entries[0].schemes.at(0).place.line == 3);
  CHECK(entries[1].schemes.at(0).scheme.format == "ternary:tq2_0");
  CHECK(entries[2].schemes.at(0).scheme.format == "ternary:ternary");
  CHECK(entries[3].schemes.at(0).scheme.format == "keep");
  CHECK(entries[4].keys.at(0).value == "keep");
}

TEST_CASE("a codec name that means nothing lists what may be meant") {
  const struct {
    const char* name;
    const char* what;
    std::vector<const char*> hints;
  } cases[] = {
      {"mix", "ambiguous codec", {"alpha:mix", "beta:mix"}},
      {"tq2_0", "unknown codec", {"ternary:tq2_0"}},
      {"q8_1", "unknown codec", {"q8_0"}},
      {"ternary:tq2_1", "unknown codec", {"ternary:tq2_0"}},
      {"F16", "unknown codec", {"f16"}},
      {"Keep", "unknown codec", {"keep"}},
      {"", "unknown codec", {}},
      {"f64", "codec is for reading only", {}},
  };
  for (const char* key : {"format", "fallback"}) {
    for (const auto& each : cases) {
      CAPTURE(std::string(each.name));
      const bool format = std::string(key) == "format";
      const std::vector<Problem> problems = parse_problems(
          fmt::format("{}\n{} = \"{}\"\n",
                      format ? "[[policies.\"*\".schemes]]" : "[policies.\"*\"]", key, each.name));
      REQUIRE(problems.size() == 1);
      CHECK(problems[0].code == ErrorCode::policy);
      CHECK(problems[0].what == each.what);
      CHECK(place(problems[0]) == (format ? "2:10" : "2:12"));
      for (const char* hint : each.hints) CHECK(contains(problems[0].hint, hint));
    }
  }
}

TEST_CASE("formats are encodings by dtype or codec, normalised, each once") {
  const Policy policy = parse(
      "[myelin]\nformats = [\"bf16\", \"f64\", \"f8_e4m3\", \"f16:f16\", \"f16\", \"q8_0\"]\n");
  CHECK(policy.source_formats() ==
        std::vector<std::string>{"bf16", "f64", "f8_e4m3", "f16", "q8_0:q8_0"});
  const struct {
    const char* name;
    const char* hint;
  } cases[] = {{"BF16", "bf16"}, {"f8_e4m", "f8_e4m3"}, {"tq2_0", "ternary:tq2_0"}, {"keep", ""}};
  for (const auto& each : cases) {
    CAPTURE(std::string(each.name));
    const std::vector<Problem> problems =
        parse_problems(fmt::format("[myelin]\nformats = [\"{}\"]\n", each.name));
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].what == "unknown encoding");
    CHECK(place(problems[0]) == "2:12");
    CHECK(contains(problems[0].hint, each.hint));
  }
}

TEST_CASE("devices: local is built in, others are declared, and the order does not matter") {
  CHECK(parse_problems("[policies.\"*\".backend]\ndevice = \"board\"\n"
                       "[devices.board]\ntarget = \"cpu\"\n")
            .empty());
  CHECK(parse_problems("[devices.\"a board\"]\n[policies.\"*\".backend]\ndevice = \"a board\"\n")
            .empty());
  std::vector<Problem> problems = parse_problems("[devices.local]\ntarget = \"cpu\"\n");
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "built in"));
  CHECK(place(problems[0]) == "1:10");
  problems = parse_problems("[policies.\"*\".backend]\ndevice = \"bord\"\n[devices.board]\n");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "unknown device");
  CHECK(contains(problems[0].hint, "board"));
  problems = parse_problems("[policies.\"*\".backend]\ndevice = \"warehouse\"\n");
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].hint, "[devices.\"warehouse\"]"));
}
