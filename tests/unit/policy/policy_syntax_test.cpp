// What happens before the schema: size, encoding, nesting, TOML syntax.
#include <doctest/doctest.h>

#include <string>

#include "policy_fixture.h"
#include "temp_dir.h"

using namespace synps;
using namespace synps::testing;

namespace {

std::string repeat(std::string_view text, std::size_t times) {
  std::string out;
  out.reserve(text.size() * times);
  for (std::size_t i = 0; i < times; ++i) out += text;
  return out;
}

Problem only_problem(const std::string& text) {
  const std::vector<Problem> problems = parse_problems(text);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == "synps.toml");
  return problems[0];
}

}  // namespace

TEST_CASE("a hundred thousand nested arrays or tables are a limit, not a crash") {
  for (const char* open : {"[", "{a=", "[{a="}) {
    const Problem problem = only_problem("[myelin]\nformats = " + repeat(open, 100'000));
    CHECK(problem.code == ErrorCode::limit);
    CHECK(contains(problem.what, "nested too deep"));
    CHECK(problem.line == 2);
    CHECK(problem.column > 10);
  }
  CHECK(place(only_problem("a = " + repeat("[", 100'000) + repeat("]", 100'000))) == "1:37");
}

TEST_CASE("a hundred thousand dotted keys are a limit, wherever a key may stand") {
  const std::string dotted = repeat("a.", 100'000) + "a";
  const struct {
    std::string text;
    const char* place;
  } cases[] = {
      {dotted + " = 1\n", "1:64"},
      {"[" + dotted + "]\n", "1:65"},
      {"\n[[" + dotted + "]]\n", "2:66"},
      {"x = { " + dotted + " = 1 }\n", "1:70"},
      {"x = [ { y = 1, " + dotted + " = 1 } ]\n", "1:79"},
      {repeat("\"a.b\" . ", 100'000) + "a = 1", "1:255"},
      {repeat("'a\"' .\t", 100'000) + "a = 1", "1:223"},
  };
  for (const auto& each : cases) {
    const Problem problem = only_problem(each.text);
    CHECK(problem.code == ErrorCode::limit);
    CHECK(contains(problem.what, "dotted key"));
    CHECK(place(problem) == each.place);
  }
}

TEST_CASE("strings and comments do not hide nesting that follows them") {
  const std::string deep = repeat("[", 1000);
  for (const char* before :
       {"a = [\"\"\"x\"\"\"\", ", "a = [\"\"\"x\"\"\"\"\", ", "a = ['''x'''', ", "a = [\"\", ",
        "a = ['', ", "a = [\"\\\"\", ", "a = ['\\', ", "a = [\"\"\"\\\"\"\"\", ", "a = [\"#\", ",
        "a = [ # \"\n ", "a = [\"\"\"\n'\n\"\"\", ", "a = [\"\\\\\", "}) {
    CAPTURE(before);
    const Problem problem = only_problem(before + deep);
    CHECK(contains(problem.what, "nested too deep"));
  }
}

TEST_CASE("dots and brackets in strings and comments are text") {
  const std::string dots = repeat(".", 200) + repeat("[{", 100);
  CHECK(parse_problems("# " + dots + "\n").empty());
  for (const std::string quote : {"\"", "'", "\"\"\"", "'''"}) {
    const Problem problem = only_problem("[myelin]\nformats = [" + quote + dots + quote + "]\n");
    CHECK(problem.what == "unknown encoding");
  }
  CHECK(parse_problems("[[policies.\"" + repeat("a.", 100) + "a\".schemes]]\nformat = \"f32\"\n")
            .empty());
}

TEST_CASE("nesting is counted by what is open, not by what was") {
  std::string text = "[myelin]\nformats = [\"f16\"]\n";
  for (int i = 0; i < 100; ++i)
    text += "[[policies.\"p" + std::to_string(i) + "\".schemes]]\nformat = \"f16\"\n";
  CHECK(parse_problems(text).empty());
  // A header that is never closed is a syntax error of its own line.
  const Problem problem = only_problem(repeat("[policies.x\n", 100));
  CHECK(contains(problem.what, "TOML syntax error"));
  CHECK(place(problem) == "1:12");
}

TEST_CASE("a file over 1 MiB is a limit") {
  const Problem problem = only_problem("# " + std::string(2'000'000, 'x'));
  CHECK(problem.code == ErrorCode::limit);
  CHECK(contains(problem.what, "too large"));
  CHECK(problem.found == "2000002 bytes");
  CHECK(problem.want == "at most 1048576 bytes");
  CHECK(place(problem) == "1:1");
  CHECK(parse_problems("#" + std::string((1u << 20) - 1, 'x')).empty());
}

TEST_CASE("every problem of a file is counted, however many there are") {
  std::string text;
  for (int i = 0; i < 50'000; ++i) text += "key_number_" + std::to_string(i) + " = 1\n";
  const std::vector<Problem> problems = parse_problems(text);
  REQUIRE(problems.size() == 50'000);
  CHECK(place(problems[0]) == "1:1");
  CHECK(place(problems[49'999]) == "50000:1");
}

TEST_CASE("a long key that is set twice is cut in the message") {
  const std::string key(300'000, 'k');
  const Problem problem = only_problem(key + " = 1\n" + key + " = 2\n");
  CHECK(problem.what == "a key or table is set twice");
  CHECK(problem.field.size() < 200);
  CHECK(to_string(problem).size() < 500);
}

TEST_CASE("invalid UTF-8 is placed at its first byte") {
  const struct {
    const char* bytes;
    const char* found;
  } cases[] = {
      {"\xFF", "byte 0xFF"},
      {"\x80", "byte 0x80"},
      {"\xC0\x80", "byte 0xC0"},
      {"\xC1\xBF", "byte 0xC1"},
      {"\xE0\x80\x80", "byte 0xE0"},
      {"\xED\xA0\x80", "byte 0xED"},
      {"\xF0\x80\x80\x80", "byte 0xF0"},
      {"\xF4\x90\x80\x80", "byte 0xF4"},
      {"\xF8", "byte 0xF8"},
      {"\xE2\x82", "byte 0xE2"},
      {"\xC3", "byte 0xC3"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.found));
    for (const std::string before : {"# é ", "a = \"é ", "a = '''é ", "é é "}) {
      const Problem problem = only_problem("# one\n" + before + each.bytes);
      CHECK(problem.code == ErrorCode::policy);
      CHECK(problem.what == "the file is not UTF-8");
      CHECK(problem.found == each.found);
      const std::size_t column = before == "# é " || before == "é é " ? 5
                                 : before == "a = \"é "               ? 8
                                                                      : 10;
      CHECK(place(problem) == "2:" + std::to_string(column));
    }
  }
}

TEST_CASE("a NUL and a byte order mark are named") {
  Problem problem = only_problem(std::string("[myelin]\nformats = [\"f16\0\"]", 26));
  CHECK(contains(problem.what, "NUL"));
  CHECK(place(problem) == "2:16");
  problem = only_problem("\xEF\xBB\xBF[myelin]\n");
  CHECK(contains(problem.what, "byte order mark"));
  CHECK(place(problem) == "1:1");
  CHECK(contains(problem.hint, "without"));
}

TEST_CASE("a key that is set twice is placed at its second name") {
  const struct {
    const char* text;
    const char* place;
    const char* field;
  } cases[] = {
      {"[policies.\"*\"]\ndtype = \"f32\"\ndtype = \"f16\"\n", "3:1", "dtype"},
      {"[policies.\"*\"]\ndtype = \"f32\"\n    \"dtype\" = \"f16\"\n", "3:5", "\"dtype\""},
      {"policies = { \"é\" = { dtype = \"f32\", dtype = \"f16\" } }\n", "1:37", "dtype"},
      {"policies = { \",{\" = {}, '{\"' = {}, \",{\" = {} }\n", "1:36", "\",{\""},
      {"myelin.formats = []\nmyelin.formats = []\n", "2:1", "myelin.formats"},
      {"[policies.\"*\"]\n[myelin]\n[policies.\"*\"] # again\n", "3:1", "policies.\"*\""},
      {"[policies.\"*\"]\nschemes = []\n[[policies.\"*\".schemes]]\n", "3:1",
       "policies.\"*\".schemes"},
      {"myelin = 1\nmyelin.formats = []\n", "2:1", "myelin.formats"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const Problem problem = only_problem(each.text);
    CHECK(problem.code == ErrorCode::policy);
    CHECK(problem.what == "a key or table is set twice");
    CHECK(place(problem) == each.place);
    CHECK(problem.field == each.field);
  }
}

TEST_CASE("a TOML syntax error says what was found and wanted") {
  const Problem problem = only_problem("[policies.\"*\"]\ndtype = \n");
  CHECK(problem.what == "TOML syntax error in key-value pair");
  CHECK(place(problem) == "2:9");
  CHECK(problem.want == "value");
  CHECK_FALSE(problem.found.empty());
}

TEST_CASE("a pattern that lacks its quotes gets them in the hint") {
  Problem problem = only_problem("[policies.*]\n");
  CHECK(place(problem) == "1:11");
  CHECK(contains(problem.hint, "[policies.\"*\"]"));
  problem = only_problem("\n [[ policies.model.layers.*.mlp.schemes]]\nformat = \"f16\"\n");
  CHECK(contains(problem.hint, "[[policies.\"model.layers.*.mlp\".schemes]]"));
  problem = only_problem("[policies.model.layers.{0..3}.form]\n");
  CHECK(contains(problem.hint, "[policies.\"model.layers.{0..3}\".form]"));
}

TEST_CASE("a file is read from disk, and its name is in every problem") {
  const TempDir dir;
  const std::string path = dir.file("my.toml");
  write_file(path, "[[policies.\"*\".schemes]]\nformat = \"f16\"\n");
  const Policy policy = Policy::load(path, facts_registry());
  CHECK(policy.file() == path);
  CHECK(policy.entries().size() == 1);

  write_file(path, "x = 1\n");
  std::vector<Problem> problems = problems_of([&] { Policy::load(path, facts_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == path);
  CHECK(place(problems[0]) == "1:1");

  write_file(path, std::string((1u << 20) + 1, '#'));
  problems = problems_of([&] { Policy::load(path, facts_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);

  problems = problems_of([&] { Policy::load(dir.file("none.toml"), facts_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::io);
  problems = problems_of([&] { Policy::load(dir.path().string(), facts_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::io);
  CHECK(problems[0].found == "a directory");
}

TEST_CASE("common slips of TOML are told what to write") {
  const struct {
    const char* text;
    const char* hint;
  } cases[] = {
      {"[[policies.\"*\".schemes]]\nformat = q8_0\n", "a text is quoted: format = \"q8_0\""},
      {"[[policies.\"*\".schemes]\nformat = \"f16\"\n", "write [[policies.\"*\".schemes]]"},
      {"[[policies.\"*\".schemes\nformat = \"f16\"\n", "write [[policies.\"*\".schemes]]"},
      {"[policies.\"*\"]\nschemes = [\"bf16\"]\n", "write [[policies.\"*\".schemes]]"},
      {"[policies.\"*\"]\nform = \"heap\"\n", "write [policies.\"*\".form]"},
      {"[policy.\"*\"]\ndtype = \"f32\"\n", "did you mean `policies`?"},
      {"[myelin]\nformat = [\"bf16\"]\n", "did you mean `formats`?"},
      {"[[policies.\"*\".schemes]]\nformat = \"f16\"\ngroup_size = 64\n", "no parameters"},
      {"extends = [\"a\", \"b\"]\n", "may extend another"},
      {"[myelin]\nextends = \"a.toml\"\n", "above the first table"},
      {"[myelin]\nformats = [\"bfloat16\"]\n", "did you mean bf16?"},
      {"[[policies.\"*\".schemes]]\nformat = \"FP16\"\n", "did you mean f16?"},
      {"[[policies.\"*\".schemes]]\nformat = \"Q4_K_M\"\n", "did you mean q4_k?"},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CAPTURE(problems[0].hint);
    CHECK(contains(problems[0].hint, each.hint));
  }
}

TEST_CASE("an empty file is a policy that says nothing") {
  const TempDir dir;
  write_file(dir.file("empty.toml"), "");
  const Policy policy = Policy::load(dir.file("empty.toml"), facts_registry());
  CHECK(policy.entries().empty());
  CHECK(policy.source_formats().empty());
}
