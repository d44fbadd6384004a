// Profiles and devices of synps.toml.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "policy_fixture.h"
#include "temp_dir.h"

using namespace synps;
using namespace synps::testing;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;

Profile profile(const Policy& policy, std::string_view name) {
  const auto found = policy.profile(name);
  REQUIRE(found.has_value());
  return *found;
}

}  // namespace

TEST_CASE("a profile says what it says, and the rest is inferred") {
  const Policy policy = parse(
      "[profiles.plain]\n"
      "[profiles.full]\n"
      "memory = 1048576\n"
      "reserve = \"64KiB\"\n"
      "residency = \"mapped\"\n"
      "strict = true\n");
  CHECK(profile(policy, "plain") == Profile{.name = "plain"});
  const Profile full{.name = "full",
                     .memory_bytes = kMiB,
                     .reserve_bytes = 65536,
                     .residency = Residency::mapped,
                     .strict = true};
  CHECK(profile(policy, "full") == full);
  REQUIRE(policy.profiles().size() == 2);
  CHECK(policy.profiles()[0].profile == full);
  CHECK(policy.profiles()[0].place.line == 2);
  CHECK(policy.profiles()[0].extends.empty());
}

TEST_CASE("a profile extends a built-in one or an own one, wherever that stands") {
  const Policy policy = parse(
      "[profiles.small]\nextends = \"board\"\nmemory = \"1GiB\"\n"
      "[profiles.board]\nextends = \"mobile_2gb\"\nstrict = false\nreserve = \"1 MB\"\n");
  Profile board = profiles::mobile_2gb();
  board.name = "board";
  board.strict = false;
  board.reserve_bytes = 1'000'000;
  CHECK(profile(policy, "board") == board);
  Profile small = board;
  small.name = "small";
  small.memory_bytes = 1024 * kMiB;
  CHECK(profile(policy, "small") == small);
  CHECK(policy.profiles()[1].extends == "board");
  CHECK(profile(policy, "edge") == profiles::edge());
  CHECK_FALSE(policy.profile("none").has_value());
}

TEST_CASE("a device has a target and a profile") {
  const Policy policy = parse(
      "[profiles.mine]\nextends = \"edge\"\n"
      "[devices.a]\ntarget = \"cpu-neon\"\nprofile = \"mine\"\n"
      "[devices.b]\nprofile = \"desktop\"\n"
      "[devices.c]\n");
  const auto a = policy.device("a");
  REQUIRE(a.has_value());
  CHECK(a->target == TargetRequest::cpu_neon);
  CHECK(a->profile->name == "mine");
  CHECK(a->profile->residency == Residency::mapped);
  CHECK(policy.device("b")->profile == profiles::desktop());
  CHECK(policy.device("b")->target == TargetRequest::cpu);
  CHECK_FALSE(policy.device("c")->profile.has_value());
  CHECK(policy.device("local")->target == TargetRequest::cpu);
  CHECK_FALSE(policy.device("local")->profile.has_value());
  CHECK_FALSE(policy.device("d").has_value());
}

TEST_CASE("what is wrong with profiles is said with its place") {
  const struct {
    const char* text;
    const char* place;
    const char* field;
    const char* what;
    const char* hint;
  } cases[] = {
      {"[profiles.desktop]\n", "1:11", "profiles.\"desktop\"", "built in", "another name"},
      {"[profiles.auto]\n", "1:11", "profiles.\"auto\"", "built in", "another name"},
      {"[profiles.\"\"]\n", "1:11", "profiles.\"\"", "without a name", ""},
      {"[profiles.a]\nextends = \"edg\"\n", "2:11", "profiles.\"a\".extends", "unknown profile",
       "`edge`"},
      {"[profiles.a]\nextends = \"zzzzzzzz\"\n", "2:11", "profiles.\"a\".extends",
       "unknown profile", "built in are"},
      {"[profiles.a]\nextends = \"auto\"\n", "2:11", "profiles.\"a\".extends", "unknown profile",
       "command line"},
      {"[profiles.a]\nextends = \"a\"\n", "2:11", "profiles.\"a\".extends", "circle", "built-in"},
      {"[profiles.c]\nextends = \"b\"\n[profiles.b]\nextends = \"c\"\n[profiles.a]\nextends = "
       "\"b\"\n",
       "4:11", "profiles.\"b\".extends", "circle", "built-in"},
      {"[profiles.a]\nreserve = -1\n", "2:11", "profiles.a.reserve", "not a size", ""},
      {"[profiles.a]\nmemory = \"2 GiBs\"\n", "2:10", "profiles.a.memory", "not a size", ""},
      {"[profiles.a]\nmemory = \"99999999999TiB\"\n", "2:10", "profiles.a.memory", "not a size",
       ""},
      {"[profiles.a]\nmemory = \"1GiB\"\nreserve = \"2GiB\"\n", "1:11", "profiles.\"a\".reserve",
       "larger than its memory", ""},
      {"[profiles.a]\nextends = \"mobile_2gb\"\nmemory = 1\n", "1:11", "profiles.\"a\".reserve",
       "larger than its memory", ""},
      {"[profiles.a]\nmemory = 1.5\n", "2:10", "profiles.a.memory", "wrong type", ""},
      {"[profiles.a]\nresidency = \"auto\"\n", "2:13", "profiles.a.residency", "unknown value", ""},
      {"[profiles.a]\nreserved = 1\n", "2:1", "profiles.a.reserved", "unknown key", "`reserve`"},
      {"[devices.a]\nprofile = \"mobile_2g\"\n", "2:11", "devices.\"a\".profile", "unknown profile",
       "`mobile_2gb`"},
      {"[devices.a]\ntarget = \"cpu-avx\"\n", "2:10", "devices.a.target", "unknown value",
       "`cpu-avx2`"},
      {"[devices.a]\ntarget = \"gpu\"\n", "2:10", "devices.a.target", "unknown value", ""},
  };
  for (const auto& each : cases) {
    CAPTURE(std::string(each.text));
    const std::vector<Problem> problems = parse_problems(each.text);
    REQUIRE(problems.size() == 1);
    CHECK(place(problems[0]) == each.place);
    CHECK(problems[0].code == ErrorCode::policy);
    CHECK(problems[0].field == each.field);
    CHECK(contains(problems[0].what, each.what));
    CHECK(contains(problems[0].hint, each.hint));
  }
  const auto circle =
      parse_problems("[profiles.c]\nextends = \"b\"\n[profiles.b]\nextends = \"c\"\n");
  REQUIRE(circle.size() == 1);
  CHECK(circle[0].found == "\"b\" extends \"c\" extends \"b\"");
}

TEST_CASE("a file's profiles replace those of its base, and see them") {
  const TempDir dir;
  write_file(dir.file("base.toml"),
             "[profiles.a]\nreserve = 5\n[profiles.b]\nextends = \"a\"\n"
             "[devices.board]\nprofile = \"b\"\n");
  write_file(
      dir.file("top.toml"),
      "extends = \"base.toml\"\n[profiles.a]\nmemory = 100\n[profiles.c]\nextends = \"b\"\n");
  const Policy policy = Policy::load(dir.file("top.toml"), facts_registry());
  CHECK(profile(policy, "a") == Profile{.name = "a", .memory_bytes = 100});
  CHECK(profile(policy, "b") == Profile{.name = "b", .memory_bytes = 100});
  CHECK(profile(policy, "c") == Profile{.name = "c", .memory_bytes = 100});
  CHECK(policy.device("board")->profile->memory_bytes == 100);
  // A circle that only both files make is the extending file's.
  write_file(dir.file("top.toml"), "extends = \"base.toml\"\n[profiles.a]\nextends = \"b\"\n");
  const auto problems = problems_of([&] { Policy::load(dir.file("top.toml"), facts_registry()); });
  REQUIRE(problems.size() == 1);
  CHECK(contains(problems[0].what, "circle"));
  CHECK(contains(problems[0].file, "top.toml"));
  // A base knows nothing of the file that extends it.
  write_file(dir.file("base.toml"), "[profiles.b]\nextends = \"z\"\n");
  write_file(dir.file("top.toml"), "extends = \"base.toml\"\n[profiles.z]\n");
  const auto unknown = problems_of([&] { Policy::load(dir.file("top.toml"), facts_registry()); });
  REQUIRE(unknown.size() == 1);
  CHECK(contains(unknown[0].file, "base.toml"));
}

TEST_CASE("very many profiles, and a very long chain of them") {
  std::string chain = "[profiles.p0]\nreserve = 7\n";
  for (int i = 1; i < 1000; ++i)
    chain += fmt::format("[profiles.p{}]\nextends = \"p{}\"\n", i, i - 1);
  CHECK(profile(parse(chain), "p999").reserve_bytes == 7);
  chain += "[profiles.q]\n";
  const auto problems = parse_problems(chain);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::limit);
}
