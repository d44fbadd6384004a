// Artifacts whose codecs are not the ones this program knows.

#include <doctest/doctest.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "synps/error.h"
#include "temp_dir.h"
#include "test_values.h"

namespace synps::testing {
namespace {

/// A built-in codec under another name or revision, or with other component names.
class Disguised : public Codec {
 public:
  Disguised(const Codec& real, CodecInfo info, std::string component = "")
      : real_(real), info_(std::move(info)), component_(std::move(component)) {}

  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& weight) const override { return real_.supports(weight); }
  std::vector<Component> components(const Weight& weight) const override {
    std::vector<Component> components = real_.components(weight);
    if (!component_.empty()) components[0].name = component_;
    return components;
  }
  std::uint64_t row_bytes(std::size_t component, std::uint64_t columns) const override {
    return real_.row_bytes(component, columns);
  }
  std::uint64_t row_granule() const noexcept override { return real_.row_granule(); }
  void encode(const Piece& piece, std::span<const float> values, const Analysis* analysis,
              std::span<const std::span<std::byte>> out, ValueReport& report) const override {
    real_.encode(piece, values, analysis, out, report);
  }
  void decode(const Piece& piece, std::span<const std::span<const std::byte>> in,
              std::span<float> out) const override {
    real_.decode(piece, in, out);
  }

 private:
  const Codec& real_;
  CodecInfo info_;
  std::string component_;
};

const Codec& q8_0() {
  return *builtin_registry().resolve("q8_0");
}

CodecRegistry registry_with(std::string package, std::string name, unsigned revision,
                            std::string component = "") {
  CodecInfo info = q8_0().info();
  info.package = std::move(package);
  info.name = std::move(name);
  info.revision = revision;
  CodecRegistry registry;
  registry.add(std::make_shared<Disguised>(q8_0(), std::move(info), std::move(component)));
  return registry;
}

void build_with(const std::string& path, const CodecRegistry& codecs, const std::string& codec) {
  WeightToStore first;
  first.path = "a.weight";
  first.shape = Shape{2, 32};
  first.values = test_values(64);
  first.codec = codec;
  WeightToStore second = first;
  second.path = "b.weight";
  build_artifact(path, {first, second}, {}, codecs);
}

std::vector<Problem> problems_of_open(const std::string& path, const OpenOptions& options = {}) {
  try {
    Artifact::open(path, options);
  } catch (const Error& error) {
    return error.problems();
  }
  FAIL("nothing was thrown");
  return {};
}

}  // namespace

TEST_CASE("an unknown codec is an error that names package and weight, once") {
  TempDir dir;
  build_with(dir.file("m.synps"), registry_with("q4k", "q4_k", 1), "q4k:q4_k");
  const auto problems = problems_of_open(dir.file("m.synps"));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::package);
  CHECK(problems[0].file == dir.file("m.synps"));
  CHECK(problems[0].field == "a.weight");
  CHECK(problems[0].found == "q4k:q4_k revision 1 (2 weights)");
  CHECK(problems[0].hint.find("'q4k'") != std::string::npos);
}

TEST_CASE("a program that knows the codec opens the artifact") {
  TempDir dir;
  const CodecRegistry codecs = registry_with("q4k", "q4_k", 1);
  build_with(dir.file("m.synps"), codecs, "q4k:q4_k");
  OpenOptions options;
  options.codecs = &codecs;
  const Artifact artifact = Artifact::open(dir.file("m.synps"), options);
  build_with(dir.file("plain.synps"), builtin_registry(), "q8_0");
  CHECK(artifact["b.weight"].decode() ==
        Artifact::open(dir.file("plain.synps"))["b.weight"].decode());
}

TEST_CASE("a revision that the codec here does not know is refused, newer or older") {
  TempDir dir;
  const CodecRegistry newer = registry_with("q8_0", "q8_0", 2);
  build_with(dir.file("m.synps"), newer, "q8_0");
  const auto problems = problems_of_open(dir.file("m.synps"));
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::package);
  CHECK(problems[0].found == "q8_0:q8_0 revision 2 (2 weights)");
  CHECK(problems[0].want == "revision 1");
  CHECK(problems[0].hint.find("newer") != std::string::npos);

  build_with(dir.file("old.synps"), builtin_registry(), "q8_0");
  OpenOptions options;
  options.codecs = &newer;
  const auto other = problems_of_open(dir.file("old.synps"), options);
  REQUIRE(other.size() == 1);
  CHECK(other[0].code == ErrorCode::package);
  CHECK(other[0].hint.find("older") != std::string::npos);
}

TEST_CASE("components that the codec would not store are never decoded") {
  TempDir dir;
  const CodecRegistry strange = registry_with("q8_0", "q8_0", 1, "pieces");
  build_with(dir.file("m.synps"), strange, "q8_0");
  const auto problems = problems_of_open(dir.file("m.synps"));
  CHECK(problems[0].code == ErrorCode::artifact);
  CHECK(problems[0].field == "a.weight");
  CHECK(problems[0].what ==
        "its component 0 is pieces U8 [2, 34], and q8_0:q8_0 stores blocks U8 [2, 34]");
}

TEST_CASE("a weight without elements that claims to be packed is refused") {
  TempDir dir;
  WeightToStore empty;
  empty.path = "a.weight";
  empty.shape = Shape{5, 0};
  empty.codec = "q8_0";
  build_artifact(dir.file("m.synps"), {empty});
  const auto problems = problems_of_open(dir.file("m.synps"));
  CHECK(problems[0].code == ErrorCode::artifact);
  CHECK(problems[0].field == "a.weight");
  CHECK(problems[0].what == "q8_0:q8_0 cannot hold this weight: a weight without elements is kept");
}

}  // namespace synps::testing
