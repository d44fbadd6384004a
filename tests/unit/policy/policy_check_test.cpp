#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "policy_fixture.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

std::string scheme(const std::string& pattern, const std::string& format) {
  return "[[policies.\"" + pattern + "\".schemes]]\nformat = \"" + format + "\"\n";
}

const std::string kRoot = "[myelin]\nformats = [\"bf16\"]\n" + scheme("*", "f16");

class Checked {
 public:
  explicit Checked(const std::string& text) {
    write_file(path_ = dir_.file("synps.toml"), text);
    result = PolicyCheck::run(path_, facts_registry(), nullptr);
  }
  Checked(const std::string& text, const std::vector<WeightFacts>& weights) {
    write_file(path_ = dir_.file("synps.toml"), text);
    result = PolicyCheck::run(path_, facts_registry(), &weights);
  }

  std::vector<std::string> warnings() const {
    std::vector<std::string> texts;
    for (const Problem& each : result.warnings)
      texts.push_back(fmt::format("{} {}: {}", place(each), each.field, each.what));
    return texts;
  }

  PolicyCheck result;

 private:
  TempDir dir_;
  std::string path_;
};

bool warns(const Checked& checked, std::string_view what) {
  for (const std::string& each : checked.warnings())
    if (contains(each, what)) return true;
  return false;
}

const std::vector<WeightFacts>& some() {
  static const std::vector<WeightFacts> weights = facts_of({"a.b.w", "a.c.w", "d.w"});
  return weights;
}

}  // namespace

TEST_CASE("a sound policy has no problems and no warnings") {
  const Checked checked(kRoot + scheme("a.b", "q8_0"), some());
  CHECK(checked.result.problems.empty());
  CHECK(checked.warnings().empty());
  REQUIRE(checked.result.policy);
  REQUIRE(checked.result.resolutions.size() == 3);
  CHECK(checked.result.resolutions[0].codec->info().name == "q8_0");
  const Checked alone(kRoot + scheme("a.b", "q8_0"));
  CHECK(alone.result.problems.empty());
  CHECK(alone.result.resolutions.empty());
}

TEST_CASE("problems of the file come with what matches nothing") {
  const Checked checked(kRoot + "[policies.\"*\"]\ndtpe = \"f32\"\n" + scheme("a.x", "q8_0"),
                        some());
  CHECK_FALSE(checked.result.policy);
  REQUIRE(checked.result.problems.size() == 2);
  CHECK(checked.result.problems[0].what == "unknown key");
  CHECK(checked.result.problems[1].what == "the pattern matches no weight");
}

TEST_CASE("everything against the checkpoint comes together") {
  std::vector<WeightFacts> weights = some();
  weights.push_back(facts("e.w", DType::f64));
  weights.push_back(facts("a.b.v", DType::bf16, {64, 33}));
  const Checked checked("[myelin]\nformats = [\"bf16\"]\n" + scheme("a", "q8_0") +
                            scheme("*.b", "q4_0") + scheme("x.y", "f16") + scheme("e", "f16") +
                            scheme("a.c", "q8_0") + scheme("a.b.v", "q8_0"),
                        weights);
  std::vector<std::string> whats;
  for (const Problem& each : checked.result.problems) whats.push_back(each.what);
  REQUIRE(whats.size() == 5);
  CHECK(contains(whats[0], "a float weight that no scheme covers"));
  CHECK(contains(whats[1], "ambiguous"));
  CHECK(contains(whats[2], "matches no weight"));
  CHECK(contains(whats[3], "a source encoding that the policy does not name"));
  CHECK(contains(whats[4], "the codec cannot store a weight"));
}

TEST_CASE("a policy that narrower ones override in full") {
  const std::string covered = scheme("a", "q8_0") + scheme("a.b", "q4_0") + scheme("a.c", "q4_0");
  Checked checked(kRoot + covered, some());
  CHECK(checked.warnings() ==
        std::vector<std::string>{"5:12 policies.\"a\": the policy changes nothing: narrower "
                                 "policies override all it sets"});
  // Another weight, and it decides.
  std::vector<WeightFacts> more = some();
  more.push_back(facts("a.x.w"));
  CHECK(Checked(kRoot + covered, more).warnings().empty());
  // Without a checkpoint, "a" covers more than both.
  CHECK(Checked(kRoot + covered).warnings().empty());
  const std::string whole =
      scheme("a.{b,c}", "q8_0") + scheme("a.b", "q4_0") + scheme("a.c", "f32");
  CHECK(warns(Checked(kRoot + whole), "narrower policies override all it sets"));
}

TEST_CASE("a key that narrower ones override, among others that decide") {
  const Checked checked(kRoot + "[policies.a]\ndtype = \"f16\"\n" + scheme("a", "q8_0") +
                            scheme("a.b", "q4_0") + scheme("a.c", "q4_0"),
                        some());
  CHECK(checked.warnings() ==
        std::vector<std::string>{"7:1 policies.\"a\".schemes.format: the key changes nothing: "
                                 "narrower policies override it everywhere"});
}

TEST_CASE("a key that repeats what holds without it") {
  const Checked checked(kRoot + scheme("a", "f16"), some());
  CHECK(warns(checked, "without it the same would hold"));
  // Of two that agree, the one that decides nowhere by itself is of no need.
  const Checked two(kRoot + scheme("a", "q8_0") + scheme("*.b", "q8_0"), some());
  REQUIRE(two.result.warnings.size() == 1);
  CHECK(two.result.warnings[0].field == "policies.\"*.b\".schemes.format");
  const Checked device(kRoot +
                           "[policies.a.form]\nresidency = \"heap\"\n"
                           "[policies.\"a.b\".form]\nresidency = \"heap\"\n",
                       some());
  REQUIRE(device.result.warnings.size() == 1);
  CHECK(device.result.warnings[0].field == "policies.\"a.b\".form.residency");
  CHECK(device.result.warnings[0].found == "heap");
}

TEST_CASE("writing a default down is no fault, nor is a fallback that nothing needs") {
  CHECK(Checked(kRoot + "[policies.\"*\"]\ndtype = \"f32\"\nfallback = \"f16\"\n", some())
            .warnings()
            .empty());
}

TEST_CASE("a scheme over weights that need none") {
  std::vector<WeightFacts> weights = some();
  weights.push_back(facts("ids", DType::i64));
  const Checked checked(kRoot + scheme("ids", "f16"), weights);
  CHECK(warns(checked, "matches only weights that are no floats"));
}

TEST_CASE("keys over scales, which go with their weights") {
  std::vector<WeightFacts> weights = some();
  weights.push_back(facts("s.weight", DType::f8_e4m3));
  weights.push_back(facts("s.weight_scale", DType::f32));
  weights.back().scale_of = "s.weight";
  const std::string keys = "[[policies.\"*\".schemes]]\nformat = \"keep\"\n";
  const Checked alone(keys + "[policies.\"s.weight_scale\"]\ndtype = \"f32\"\n", weights);
  CHECK(warns(alone, "matches only scales of weights"));
  CHECK_FALSE(warns(alone, "no floats"));
  weights.push_back(facts("s.ids", DType::i64));
  const Checked both(keys + "[policies.\"s.{weight_scale,ids}\"]\ndtype = \"f32\"\n", weights);
  CHECK(warns(both, "matches only scales of weights, and weights that are no floats"));
}

TEST_CASE("keys where no weight has them") {
  std::vector<WeightFacts> weights = some();
  weights.push_back(facts("ids", DType::i64));
  const Checked checked(kRoot + "[policies.ids]\ndtype = \"f16\"\nfallback = \"f32\"\n" +
                            "[policies.\"modl.x\"]\ndtype = \"f16\"\n" +
                            "[policies.modl.backend]\ndevice = \"local\"\n",
                        weights);
  CHECK(checked.result.problems.empty());
  CHECK(checked.result.warnings.size() == 4);
  CHECK(warns(checked, "policies.\"ids\".fallback: the key changes nothing"));
  CHECK(warns(checked, "policies.\"modl.x\": the pattern covers no weight"));
  CHECK(warns(checked, "policies.\"modl\": the pattern covers no weight"));
}

TEST_CASE("names that nothing uses") {
  const Checked checked("[myelin]\nformats = [\"bf16\", \"f8_e4m3\"]\n[devices.gpu]\n" +
                            scheme("*", "f16") + "[groups.g]\npaths = \"a.*.w\"\n",
                        some());
  CHECK(warns(checked, "no weight of the checkpoint has this encoding"));
  CHECK(warns(checked, "no policy names this device"));
  CHECK(warns(checked, "the group changes nothing"));
  CHECK(checked.warnings().size() == 3);
}

TEST_CASE("a policy that sets nothing, and values that no weight is near") {
  const std::string cache =
      ".schemes]]\nscope = \"internal\"\nlifetime = \"session\"\nformat = \"f16\"\n";
  const Checked checked(kRoot + "[policies.\"a.b\"]\n" + "[[policies.\"a.*.k_cache\"" + cache +
                            "[[policies.\"**.cache\"" + cache + "[[policies.logits" + cache +
                            "[[policies.\"a.x.k_cache\"" + cache,
                        some());
  CHECK(checked.result.problems.empty());
  REQUIRE(checked.result.warnings.size() == 2);
  CHECK(checked.result.warnings[0].what == "the policy sets nothing");
  CHECK(checked.result.warnings[1].what == "no weight is near the values that this policy is for");
  CHECK(checked.result.warnings[1].field == "policies.\"a.x.k_cache\"");
  CHECK_FALSE(checked.result.warnings[1].hint.empty());
  CHECK(Checked(kRoot + "[policies.\"a.x.k_cache\"]\noptional = true\n[[policies.\"a.x.k_cache\"" +
                    cache,
                some())
            .warnings()
            .empty());
}

TEST_CASE("what a weight's own policies warn of") {
  const Checked checked(kRoot +
                            "[[policies.a.schemes]]\nformat = \"q8_0\"\nvolatile = true\n"
                            "[policies.a.form]\nresidency = \"heap\"\n",
                        some());
  CHECK(warns(checked, "volatile, but residency is heap"));
  CHECK(warns(checked, "2 weights, such as 'a.b.w'"));
}

TEST_CASE("warnings leave bases alone") {
  const TempDir dir;
  write_file(dir.file("base.toml"), kRoot + scheme("a", "f16") + "[devices.gpu]\n");
  write_file(dir.file("synps.toml"), "extends = \"base.toml\"\n");
  const PolicyCheck check = PolicyCheck::run(dir.file("synps.toml"), facts_registry(), &some());
  CHECK(check.problems.empty());
  CHECK(check.warnings.empty());
  // Nor what a base says under a pattern that the file has, too.
  write_file(dir.file("base.toml"), kRoot + scheme("a", "f16") + "[policies.a]\ndtype = \"f32\"\n" +
                                        "[policies.\"*\"]\ndtype = \"f32\"\n");
  write_file(dir.file("synps.toml"),
             "extends = \"base.toml\"\n[policies.a.form]\nresidency = \"heap\"\n");
  CHECK(PolicyCheck::run(dir.file("synps.toml"), facts_registry(), &some()).warnings.empty());
}

TEST_CASE("thousands of policies are checked without a checkpoint") {
  std::string text = kRoot;
  for (int i = 0; i < 3000; ++i)
    text += scheme(fmt::format("a.l{}", i), i % 2 == 0 ? "q8_0" : "f32");
  const Checked checked(text);
  CHECK(checked.result.problems.empty());
  CHECK(checked.result.policy.has_value());
  for (const Problem& warning : checked.result.warnings)
    CHECK(contains(warning.what, "takes too long"));
}

TEST_CASE("a file that cannot be read is an error of the system") {
  const TempDir dir;
  const std::vector<Problem> problems =
      problems_of([&] { PolicyCheck::run(dir.file("none"), facts_registry(), nullptr); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::io);
}

}  // namespace synps::testing
