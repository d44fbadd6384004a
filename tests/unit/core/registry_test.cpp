#include <doctest/doctest.h>

#include "synps/codec_registry.h"
#include "synps/error.h"

namespace synps {
namespace {

class NamedCodec : public Codec {
 public:
  NamedCodec(std::string package, std::string name) {
    info_.package = std::move(package);
    info_.name = std::move(name);
  }
  const CodecInfo& info() const noexcept override { return info_; }
  Support supports(const Weight& /*weight*/) const override { return Support::yes(); }
  std::vector<Component> components(const Weight& /*weight*/) const override { return {}; }
  std::uint64_t row_bytes(std::size_t /*component*/, std::uint64_t /*columns*/) const override {
    return 0;
  }
  std::uint64_t row_granule() const noexcept override { return 1; }
  void encode(const Piece&, std::span<const float>, const Analysis*,
              std::span<const std::span<std::byte>>, ValueReport&) const override {}
  void decode(const Piece&, std::span<const std::span<const std::byte>>,
              std::span<float>) const override {}

 private:
  CodecInfo info_;
};

CodecRegistry some_registry() {
  CodecRegistry registry;
  for (const auto& [package, name] : std::vector<std::pair<std::string, std::string>>{
           {"q8_0", "q8_0"}, {"ternary", "tq2_0"}, {"ternary", "ternary"}, {"other", "tq2_0"}})
    registry.add(std::make_shared<NamedCodec>(package, name));
  return registry;
}

TEST_CASE("short names mean the export of the package of that name") {
  const CodecRegistry registry = some_registry();
  REQUIRE(registry.resolve("q8_0") != nullptr);
  CHECK(registry.resolve("q8_0") == registry.find("q8_0", "q8_0"));
  CHECK(registry.resolve("ternary") == registry.find("ternary", "ternary"));
  CHECK(registry.resolve("ternary:tq2_0") == registry.find("ternary", "tq2_0"));
  CHECK(registry.resolve("tq2_0") == nullptr);
  CHECK(registry.resolve("ternary:") == nullptr);
  CHECK(registry.resolve("") == nullptr);
  CHECK(registry.resolve("ternary:tq2_0:x") == nullptr);
}

TEST_CASE("an unknown name gets candidates") {
  const CodecRegistry registry = some_registry();
  CHECK(registry.suggestions("tq2_0") == std::vector<std::string>{"other:tq2_0", "ternary:tq2_0"});
  CHECK(registry.suggestions("ternary:tq3_0") ==
        std::vector<std::string>{"ternary", "ternary:tq2_0"});
  CHECK(registry.suggestions("q80") == std::vector<std::string>{"q8_0"});
  CHECK(registry.suggestions("something_else").empty());
}

TEST_CASE("a name is taken once") {
  CodecRegistry registry = some_registry();
  CHECK_THROWS_AS(registry.add(std::make_shared<NamedCodec>("q8_0", "q8_0")), Error);
  CHECK(registry.all().size() == 4);
}

TEST_CASE("edit distance counts insertions, deletions, replacements and swaps") {
  CHECK(edit_distance("", "abc") == 3);
  CHECK(edit_distance("abc", "abc") == 0);
  CHECK(edit_distance("formta", "format") == 1);
  CHECK(edit_distance("kitten", "sitting") == 3);
  CHECK(nearest("fromat", {"form", "format", "dtype"}) == "format");
  CHECK_FALSE(nearest("zzzzzz", {"form", "format", "dtype"}));
}

TEST_CASE("value findings add up in any sequence") {
  ValueReport::Finding a;
  a.add(7, 1.0f);
  a.add(3, 2.0f);
  ValueReport::Finding b;
  b.add(5, 3.0f);
  ValueReport::Finding ab = a;
  ab.merge(b);
  ValueReport::Finding ba = b;
  ba.merge(a);
  for (const auto& finding : {ab, ba}) {
    CHECK(finding.count == 3);
    CHECK(finding.first_index == 3);
    CHECK(finding.first_value == 2.0f);
  }
}

}  // namespace
}  // namespace synps
