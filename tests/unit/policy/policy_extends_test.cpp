#include <doctest/doctest.h>

#include <filesystem>
#include <string>
#include <vector>

#include "policy_fixture.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

namespace fs = std::filesystem;

const std::string kBase =
    "[myelin]\nformats = [\"bf16\"]\n"
    "[policies.\"*\"]\ndtype = \"bf16\"\nfallback = \"f16\"\n"
    "[[policies.\"*\".schemes]]\nformat = \"f16\"\n"
    "[[policies.\"model.mlp\".schemes]]\nformat = \"q8_0\"\n";

// A folder with policy files, and what the one named main.toml says.
class Files {
 public:
  void write(const std::string& name, const std::string& text) const {
    fs::create_directories(fs::path(dir_.file(name)).parent_path());
    write_file(dir_.file(name), text);
  }
  std::string path(const std::string& name) const { return dir_.file(name); }
  Policy load(const std::string& name = "main.toml") const {
    return Policy::load(path(name), facts_registry());
  }
  std::vector<Problem> problems(const std::string& name = "main.toml") const {
    return problems_of([&] { load(name); });
  }

 private:
  TempDir dir_;
};

std::string format_of(const Policy& policy, const std::string& path) {
  const KeyDecision* decision = nullptr;
  const WeightResolution resolution = policy.explain(path);
  decision = decision_of(resolution, "format");
  return decision == nullptr ? "" : decision->value;
}

}  // namespace

TEST_CASE("the policies of a file and its base are one set") {
  const Files files;
  files.write("base.toml", kBase);
  files.write("main.toml",
              "extends = \"base.toml\"\n[[policies.\"model.mlp.up\".schemes]]\nformat = \"q4_0\"\n"
              "[[policies.\"model\".schemes]]\nformat = \"f32\"\n");
  const Policy policy = files.load();
  CHECK(policy.files() ==
        std::vector<std::string>{files.path("main.toml"), files.path("base.toml")});
  CHECK(format_of(policy, "model.mlp.up.weight") == "q4_0:q4_0");
  // The base's narrower policy wins over the file's broader one.
  CHECK(format_of(policy, "model.mlp.down.weight") == "q8_0:q8_0");
  CHECK(format_of(policy, "model.norm") == "f32:f32");
  CHECK(format_of(policy, "head") == "f16:f16");
  const WeightResolution resolution = policy.explain("model.mlp.up.weight");
  const KeyDecision& format = *decision_of(resolution, "format");
  CHECK(format.place.source == 0);
  REQUIRE(format.overridden.size() == 3);
  CHECK(format.overridden_places[2].source == 1);
  CHECK(policy.file_of(format.overridden_places[2]) == files.path("base.toml"));
  CHECK(decision_of(resolution, "dtype")->value == "bf16");
  CHECK(policy.resolve(facts_of({"model.mlp.up.weight", "model.norm"})).size() == 2);
}

TEST_CASE("the same pattern and key in the extending file replaces the base's") {
  const Files files;
  files.write("base.toml", kBase);
  files.write("main.toml",
              "extends = \"base.toml\"\n[policies.\"*\"]\ndtype = \"f32\"\n"
              "[[policies.\"model.mlp\".schemes]]\nformat = \"q4_0\"\n"
              "[[policies.\"*\".schemes]]\nscope = \"internal\"\nformat = \"bf16\"\n");
  const Policy policy = files.load();
  const WeightResolution resolution = policy.explain("model.mlp.up");
  const KeyDecision& dtype = *decision_of(resolution, "dtype");
  CHECK(dtype.value == "f32");
  REQUIRE(dtype.replaced.size() == 1);
  CHECK(dtype.replaced[0].value == "bf16");
  CHECK(dtype.replaced[0].place == SourcePlace{4, 1, 1});
  // Keys that the file leaves out are the base's.
  const KeyDecision& fallback = *decision_of(resolution, "fallback");
  CHECK(fallback.value == "f16:f16");
  CHECK(fallback.place.source == 1);
  CHECK(fallback.replaced.empty());
  const KeyDecision& format = *decision_of(resolution, "format");
  CHECK(format.value == "q4_0:q4_0");
  REQUIRE(format.replaced.size() == 1);
  CHECK(format.replaced[0].value == "q8_0:q8_0");
  // A scheme for other values replaces none.
  CHECK(format_of(policy, "head") == "f16:f16");
  CHECK(policy.explain("head", {nullptr, Scope::internal, Lifetime::invocation}).scheme->format ==
        "bf16:bf16");
}

TEST_CASE("bases have bases, and what was replaced is told in turn") {
  const Files files;
  files.write("sub/root.toml", kBase);
  files.write("sub/middle.toml", "extends = \"root.toml\"\n[policies.\"*\"]\ndtype = \"f16\"\n");
  files.write("main.toml", "extends = \"sub/middle.toml\"\n[policies.\"*\"]\ndtype = \"f32\"\n");
  const Policy policy = files.load();
  REQUIRE(policy.files().size() == 3);
  const WeightResolution resolution = policy.explain("x");
  const KeyDecision& dtype = *decision_of(resolution, "dtype");
  REQUIRE(dtype.replaced.size() == 2);
  CHECK(dtype.replaced[0].value == "f16");
  CHECK(dtype.replaced[0].place.source == 1);
  CHECK(dtype.replaced[1].value == "bf16");
  CHECK(dtype.replaced[1].place.source == 2);
}

TEST_CASE("one set of paths in two spellings replaces nothing") {
  const Files files;
  files.write("base.toml", kBase);
  files.write(
      "main.toml",
      "extends = \"base.toml\"\n[[policies.\"model.mlp.**\".schemes]]\nformat = \"q4_0\"\n");
  const std::vector<Problem> problems =
      problems_of([&] { files.load().resolve(facts_of({"model.mlp.up"})); });
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "ambiguous"));
  CHECK(contains(problems[0].found, "line 8 of " + files.path("base.toml")));
  CHECK(contains(problems[0].hint, "cover the same paths"));
}

TEST_CASE("what only a base says may match no weight") {
  const Files files;
  files.write("base.toml", kBase + "[groups.g]\npaths = \"nothing.{a,b}\"\n");
  files.write("main.toml", "extends = \"base.toml\"\n");
  CHECK(files.load().resolve(facts_of({"x"})).size() == 1);
  // Redefined, it is the file's own.
  files.write("main.toml",
              "extends = \"base.toml\"\n[[policies.\"model.mlp\".schemes]]\nformat = \"q4_0\"\n");
  std::vector<Problem> problems = problems_of([&] { files.load().resolve(facts_of({"x"})); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == "the pattern matches no weight");
  CHECK(problems[0].file == files.path("main.toml"));
  // `optional` comes from the base, unless the file says otherwise.
  files.write("base.toml", kBase + "[policies.\"model.mlp\"]\noptional = true\n");
  CHECK(files.load().resolve(facts_of({"x"})).size() == 1);
}

TEST_CASE("lists add up, and groups and devices are replaced whole") {
  const Files files;
  files.write("base.toml",
              kBase +
                  "[devices.gpu]\n[groups.g]\npaths = \"a.{b,c}\"\nsame = [\"dtype\"]\n"
                  "[groups.h]\npaths = \"h.{b,c}\"\noptional = true\n");
  files.write("main.toml",
              "extends = \"base.toml\"\n[myelin]\nformats = [\"f16\", \"bf16\"]\n"
              "[groups.g]\npaths = \"x.{b,c}\"\n[policies.x.backend]\ndevice = \"gpu\"\n");
  const Policy policy = files.load();
  CHECK(policy.source_formats() == std::vector<std::string>{"bf16", "f16"});
  REQUIRE(policy.groups().size() == 2);
  CHECK(policy.groups()[0].name == "g");
  CHECK(policy.groups()[0].paths.text() == "x.{b,c}");
  CHECK(policy.groups()[0].same == std::vector<std::string>{"form", "format"});
  CHECK_FALSE(policy.groups()[0].is_inherited());
  CHECK(policy.groups()[1].is_inherited());
  CHECK(policy.explain("x").device == "gpu");
}

TEST_CASE("problems of all files come together, each with its file") {
  const Files files;
  files.write("base.toml", "[policies.\"*\"]\ndtpe = \"f32\"\nfallback = \"q9\"\n");
  files.write("main.toml", "extends = \"base.toml\"\nwrong = 1\n");
  const std::vector<Problem> problems = files.problems();
  REQUIRE(problems.size() == 3);
  CHECK(problems[0].file == files.path("main.toml"));
  CHECK(place(problems[0]) == "2:1");
  CHECK(problems[1].file == files.path("base.toml"));
  CHECK(place(problems[1]) == "2:1");
  CHECK(place(problems[2]) == "3:12");
}

TEST_CASE("two schemes of one pattern that decide nothing are found across files") {
  const Files files;
  files.write(
      "base.toml",
      "[[policies.\"*\".schemes]]\nscope = \"any\"\nlifetime = \"immutable\"\nformat = \"f16\"\n");
  files.write("main.toml",
              "extends = \"base.toml\"\n[[policies.\"*\".schemes]]\nlifetime = \"any\"\nformat = "
              "\"f32\"\n");
  const std::vector<Problem> problems = files.problems();
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "ambiguous schemes"));
}

TEST_CASE("what is malformed in a base stays so, whatever replaces it") {
  const Files files;
  files.write("base.toml",
              "[[policies.\"*\".schemes]]\nformat = \"f16\"\n"
              "[[policies.\"*\".schemes]]\nformat = \"f32\"\n");
  files.write("main.toml",
              "extends = \"base.toml\"\n[[policies.\"*\".schemes]]\nformat = \"bf16\"\n");
  const std::vector<Problem> problems = files.problems();
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "ambiguous schemes"));
  CHECK(problems[0].file == files.path("base.toml"));
  CHECK(problems[0].line == 3);
}

TEST_CASE("a format that was replaced names no source encoding") {
  const Files files;
  files.write("base.toml", "[[policies.\"*\".schemes]]\nformat = \"bf16\"\n");
  files.write("main.toml",
              "extends = \"base.toml\"\n[[policies.\"*\".schemes]]\nformat = \"f32\"\n");
  const std::vector<Problem> problems = problems_of([&] { files.load().resolve(facts_of({"x"})); });
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "a source encoding that the policy does not name"));
}

TEST_CASE("a base that cannot be had is named where it is extended") {
  const Files files;
  files.write("main.toml", "# comment\nextends = \"none.toml\"\nwrong = 1\n");
  std::vector<Problem> problems = files.problems();
  REQUIRE(problems.size() == 2);
  CHECK(problems[0].code == ErrorCode::policy);
  CHECK(problems[0].field == "extends");
  CHECK(place(problems[0]) == "2:11");
  CHECK(contains(problems[0].found, "none.toml"));
  CHECK(contains(problems[0].found, "o such file"));
  CHECK(problems[1].field == "wrong");

  for (const char* bad : {"extends = \"\"\n", "extends = \".\"\n", "extends = \"a\\u0000b\"\n"}) {
    CAPTURE(std::string(bad));
    files.write("main.toml", bad);
    problems = files.problems();
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].field == "extends");
    CHECK(problems[0].code == ErrorCode::policy);
  }
  files.write("main.toml", "extends = 3\n");
  CHECK(files.problems().at(0).what == "wrong type");
  files.write("main.toml", "extends = \"bad.toml\"\n");
  files.write("bad.toml", "[policies.\n");
  problems = files.problems();
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].file == files.path("bad.toml"));
  CHECK(contains(problems[0].what, "TOML syntax error"));
}

TEST_CASE("files may not extend one another in a circle") {
  const Files files;
  files.write("main.toml", "extends = \"main.toml\"\n");
  std::vector<Problem> problems = files.problems();
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "in a circle"));
  files.write("main.toml", "extends = \"a/b.toml\"\n");
  files.write("a/b.toml", "extends = \"c.toml\"\n");
  fs::create_hard_link(files.path("main.toml"), files.path("a/c.toml"));
  problems = files.problems();
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "in a circle"));
  CHECK(contains(problems[0].found, "main.toml -> "));
  CHECK(problems[0].file == files.path("a/b.toml"));
}

TEST_CASE("a chain of files is limited") {
  const Files files;
  for (int i = 0; i < 17; ++i)
    files.write(fmt::format("f{}.toml", i), fmt::format("extends = \"f{}.toml\"\n", i + 1));
  files.write("f15.toml", "");
  CHECK(files.load("f0.toml").files().size() == 16);
  files.write("f15.toml", "extends = \"f16.toml\"\n");
  files.write("f16.toml", "");
  const std::vector<Problem> problems = files.problems("f0.toml");
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
}

TEST_CASE("a relative path stays inside the folder") {
  const Files files;
  files.write("outside.toml", kBase);
  files.write("in/other.toml", kBase);
  for (const char* path : {"../outside.toml", "./../outside.toml", "x/../../outside.toml", ".."}) {
    CAPTURE(std::string(path));
    files.write("in/main.toml", fmt::format("extends = \"{}\"\n", path));
    const std::vector<Problem> problems = files.problems("in/main.toml");
    REQUIRE(problems.size() == 1);
    CHECK(contains(problems[0].what, "outside this file's folder"));
    CHECK(contains(problems[0].want, "absolute"));
  }
  fs::create_symlink("../outside.toml", files.path("in/link.toml"));
  files.write("in/main.toml", "extends = \"link.toml\"\n");
  CHECK(files.problems("in/main.toml").size() == 1);
  fs::create_directory_symlink("..", files.path("in/up"));
  files.write("in/main.toml", "extends = \"up/outside.toml\"\n");
  CHECK(files.problems("in/main.toml").size() == 1);
  files.write("in/main.toml", "extends = \"./sub/../other.toml\"\n");
  fs::create_directories(files.path("in/sub"));
  CHECK(files.load("in/main.toml").files().size() == 2);
  // Written in full, it may be anywhere.
  files.write("in/main.toml", fmt::format("extends = '{}'\n", files.path("outside.toml")));
  CHECK(files.load("in/main.toml").files().size() == 2);
  // A file that is a link finds its base beside what it links to.
  files.write("store/main.toml", "extends = \"base.toml\"\n");
  files.write("store/base.toml", kBase);
  fs::create_directories(files.path("farm"));
  fs::create_symlink("../store/main.toml", files.path("farm/main.toml"));
  fs::create_symlink("../store/base.toml", files.path("farm/base.toml"));
  CHECK(files.load("farm/main.toml").files().size() == 2);
}

}  // namespace synps::testing
