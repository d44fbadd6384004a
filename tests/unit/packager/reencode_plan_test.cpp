// What plan_reencode says of weights, and what it refuses.

#include <doctest/doctest.h>
#include <fmt/format.h>

#include <string>
#include <vector>

#include "reencode_fixture.h"
#include "synps/history.h"
#include "synps/verify.h"

namespace synps::testing {
namespace {

SafetensorsBuilder tensors() {
  SafetensorsBuilder builder;
  add_floats(builder, "a.down", DType::bf16, {16, 256}, 1);
  add_floats(builder, "a.up", DType::bf16, {16, 256}, 2);
  add_floats(builder, "b.norm", DType::f32, {60}, 3);
  builder.add("ids", DType::i64, {3}, bytes_of(std::vector<std::int64_t>{1, -2, 3}));
  return builder;
}

constexpr const char* kRules = R"([myelin]
formats = ["bf16"]
[policies."*"]
dtype = "bf16"
[[policies."*".schemes]]
format = "keep"
[[policies."a.up".schemes]]
format = "q4_0"
volatile = true
[policies."a.up".form]
orientation = "in_out"
[[policies."cache.*".schemes]]
format = "f16"
scope = "internal"
)";

std::vector<std::string> names(const std::vector<CodecRef>& codecs) {
  std::vector<std::string> found;
  for (const CodecRef& codec : codecs) found.push_back(codec.name);
  return found;
}

using Names = std::vector<std::string>;

/// The weight `w` of an artifact.
StoredWeight stored(const ReencodeFixture& fixture, const std::string& name) {
  return *ArtifactSet(fixture.artifact(name)).find("w");
}

TEST_CASE("what rounded stays in a weight's history, and only that") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::bf16, {16, 256}, 1);
  const ReencodeFixture fixture(builder);
  fixture.packed(one_format("q4_0"), "q4_0");
  CHECK(stored(fixture, "q4_0").history.empty());
  fixture.requantized("q4_0", "q8_0", to_codec("q8_0"));
  CHECK(names(stored(fixture, "q8_0").history) == Names{"q4_0"});
  CHECK(stored(fixture, "q8_0").history[0].revision == 1);
  CHECK(stored(fixture, "q8_0").source == "bf16");
  CHECK(stored(fixture, "q8_0").weight.dtype == DType::bf16);
  CHECK_FALSE(stored(fixture, "q8_0").lossless);

  // f32 holds what q4_0 decodes to; f16 may not.
  fixture.requantized("q4_0", "wide", to_codec("f32"), {}, Rounding::refused);
  CHECK(names(stored(fixture, "wide").history) == Names{"q4_0"});
  CHECK_FALSE(stored(fixture, "wide").lossless);
  fixture.requantized("wide", "again", to_codec("q8_0"));
  CHECK(names(stored(fixture, "again").history) == Names{"q4_0"});
  fixture.requantized("wide", "half", to_codec("f16"));
  CHECK(names(stored(fixture, "half").history) == Names{"q4_0"});
  fixture.requantized("half", "again", to_codec("q8_0"));
  CHECK(names(stored(fixture, "again").history) == Names{"q4_0", "f16"});
  // What f16 rounded is f16 in f32, and in f16 again.
  fixture.requantized("half", "wide", to_codec("f32"));
  CHECK(names(stored(fixture, "wide").history) == Names{"q4_0", "f16"});
  fixture.requantized("wide", "half", to_codec("f16"));
  CHECK(names(stored(fixture, "half").history) == Names{"q4_0", "f16"});
  fixture.requantized("half", "again", to_codec("f32"));
  CHECK(names(stored(fixture, "again").history) == Names{"q4_0", "f16"});

  // Copies keep it.
  ReencodeRequest order;
  order.order = Order::rows8;
  fixture.requantized("q8_0", "relaid", order, {}, Rounding::refused);
  CHECK(names(stored(fixture, "relaid").history) == Names{"q4_0"});
  fixture.requantized("q8_0", "copied", to_codec("q8_0"), {}, Rounding::refused);
  CHECK(names(stored(fixture, "copied").history) == Names{"q4_0"});
}

TEST_CASE("values that survive every step stay lossless, whatever they were stored in") {
  SafetensorsBuilder builder;
  add_floats(builder, "w", DType::bf16, {16, 256}, 1);
  const ReencodeFixture fixture(builder);
  fixture.packed(one_format("keep"), "first");
  fixture.requantized("first", "wide", to_codec("f32"), {}, Rounding::refused);
  CHECK(stored(fixture, "wide").lossless);
  CHECK(stored(fixture, "wide").history.empty());
  const Checkpoint wide = fixture.opened("wide");
  const Plan plan = plan_reencode(wide, to_codec("bf16"), builtin_registry(), Rounding::allowed);
  CHECK_FALSE(plan.weights[0].lossless);  // f32 to bf16, by these types alone
  fixture.write(wide, plan, "back");
  CHECK(stored(fixture, "back").lossless);
  CHECK(stored(fixture, "back").history.empty());
  CHECK(fixture.unpacked("back") == fixture.unpacked("first"));
  fixture.requantized("wide", "half", to_codec("f16"));
  CHECK_FALSE(stored(fixture, "half").lossless);
  CHECK(stored(fixture, "half").history.empty());  // f16 itself rounded
}

TEST_CASE("a requantized artifact verifies against the checkpoint that it came from") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(one_format("q4_0"), "q4_0");
  fixture.requantized("q4_0", "q8_0", one_format("q8_0"));
  const Checkpoint checkpoint = fixture.open();
  VerifyOptions against;
  against.against = &checkpoint;
  const VerifyReport report = verify(fixture.artifact("q8_0"), builtin_registry(), against);
  for (const Problem& problem : report.problems) FAIL_CHECK(to_string(problem));
  REQUIRE(report.weights.size() == 4);
  CHECK_FALSE(report.weights[0].exact);
  CHECK(report.weights[2].exact);
}

TEST_CASE("what nobody asks to change keeps what the artifact says of it") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(policy_of(kRules), "source");
  const ArtifactReader before(fixture.artifact("source"));
  ReencodeRequest request = to_codec("q8_0");
  request.only = PathPattern::parse("a");
  fixture.requantized("source", "out", request);
  const ArtifactReader after(fixture.artifact("out"));
  CHECK(after.index().values == before.index().values);
  REQUIRE(after.index().values.size() == 1);
  for (const char* path : {"b.norm", "ids"}) {
    const StoredWeight& wanted = *before.find(path);
    const StoredWeight& found = *after.find(path);
    CHECK(found.codec == wanted.codec);
    CHECK(found.scheme == wanted.scheme);
    CHECK(found.decisions == wanted.decisions);
    CHECK(found.form == wanted.form);
    CHECK(found.compute == wanted.compute);
  }
  const StoredWeight& up = *after.find("a.up");
  CHECK(up.codec.name == "q8_0");
  CHECK(up.scheme->format == "q8_0:q8_0");
  CHECK(up.scheme->is_volatile);
  CHECK(up.form.orientation == Orientation::in_out);
  CHECK(up.form.encoding.target == "q8_0:q8_0");
  CHECK(up.compute == "bf16");
  for (const Decision& decision : up.decisions)
    CHECK(decision.pattern == (decision.key == "format"             ? ""
                               : decision.key == "form.orientation" ? "a.up"
                                                                    : "*"));
  CHECK(up.decisions.size() == 3);
}

TEST_CASE("what no policy says stays as the artifact has it") {
  SafetensorsBuilder builder;
  add_floats(builder, "a", DType::bf16, {16, 256}, 1);
  add_floats(builder, "b", DType::bf16, {256}, 2);
  builder.add("ids", DType::i64, {2}, std::string(16, '\1'));
  const ReencodeFixture fixture(builder);
  OutputForm form;
  form.target = rows8_target(builtin_registry());
  form.compress = CompressRequest{Compression::zstd, 5};
  const std::string rules =
      "[myelin]\nformats = [\"bf16\"]\n[policies.\"*\"]\ndtype = \"bf16\"\n"
      "[[policies.\"*\".schemes]]\nformat = \"q8_0\"\n[policies.\"a\".form]\norientation = "
      "\"in_out\"\n";
  fixture.packed(policy_of(rules), "source", form);
  const ArtifactReader before(fixture.artifact("source"));
  const auto again = [&](const std::string& policy, PlanOptions options = {}) {
    const Checkpoint source = fixture.opened("source");
    fixture.write(source, plan_reencode(source, policy_of(policy), Rounding::allowed, options),
                  "out");
    return ArtifactReader(fixture.artifact("out")).index().weights;
  };
  for (const char* format : {"keep", "q8_0", "q4_0"}) {
    CAPTURE(format);
    const auto weights =
        again(fmt::format("[[policies.\"*\".schemes]]\nformat = \"{}\"\n", format));
    for (std::size_t i = 0; i < weights.size(); ++i) {
      const StoredWeight& wanted = before.index().weights[i];
      CAPTURE(wanted.weight.path);
      CHECK(weights[i].form.order == wanted.form.order);
      CHECK(weights[i].form.orientation == wanted.form.orientation);
      CHECK(weights[i].form.residency == wanted.form.residency);
      CHECK(weights[i].asked == wanted.asked);
      CHECK(weights[i].compute == wanted.compute);
      CHECK(weights[i].device == wanted.device);
      REQUIRE(weights[i].components.size() == wanted.components.size());
      CHECK(weights[i].components[0].compression == wanted.components[0].compression);
    }
  }
  // And what is said does not.
  const auto said = again(
      "[policies.\"*\"]\ndtype = \"f32\"\n[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
      "[policies.\"*\".form]\norientation = \"out_in\"\ncompress = \"none\"\norder = \"auto\"\n");
  for (const StoredWeight& weight : said) {
    CHECK(weight.form.order == Order::rows1);
    CHECK(weight.form.orientation == Orientation::out_in);
    CHECK(weight.form.residency == Residency::mapped);
    CHECK(weight.components[0].compression == Compression::none);
    if (!weight.compute.empty()) CHECK(weight.compute == "f32");
  }
  // A target that is named decides of orders.
  PlanOptions plain;
  plain.order_for_target = true;
  for (const StoredWeight& weight : again("[[policies.\"*\".schemes]]\nformat = \"keep\"\n", plain))
    CHECK(weight.form.order == Order::rows1);
}

TEST_CASE("an order stays where the new codec can have it, and labels are for matrices") {
  SafetensorsBuilder builder;
  add_floats(builder, "m", DType::bf16, {16, 256}, 1);
  add_floats(builder, "v", DType::bf16, {256}, 2);
  const ReencodeFixture fixture(builder);
  OutputForm form;
  form.target = rows8_target(builtin_registry());
  fixture.packed(one_format("q8_0"), "source", form);
  ReencodeRequest request = to_codec("q4_0");
  request.orientation = Orientation::in_out;
  const auto requantize = [&] {
    const Checkpoint source = fixture.opened("source");
    fixture.write(source, plan_reencode(source, request, builtin_registry(), Rounding::allowed),
                  "out");
  };
  requantize();
  const ArtifactReader out(fixture.artifact("out"));
  CHECK(out.find("m")->form.order == Order::rows8);
  CHECK(out.find("m")->form.orientation == Orientation::in_out);
  CHECK(out.find("v")->form.orientation == Orientation::out_in);
  request = to_codec("f16");
  requantize();
  CHECK(ArtifactReader(fixture.artifact("out")).find("m")->form.order == Order::rows1);
  const Checkpoint source = fixture.opened("source");
  const Plan plan = plan_reencode(source, to_codec("q4_0"), builtin_registry(), Rounding::allowed);
  CHECK(plan.weights[0].warning.empty());
  CHECK(plan.weights[1].warning.find("q4_0 for a vector") == 0);
  ReencodeRequest label;
  label.orientation = Orientation::in_out;
  label.only = PathPattern::parse("v");
  CHECK_THROWS_AS(plan_reencode(source, label, builtin_registry(), Rounding::refused), Error);
}

TEST_CASE("repack refuses every conversion that may change a value, and names what does it") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(one_format("keep"), "source");
  const Checkpoint source = fixture.opened("source");
  ReencodeRequest request = to_codec("q4_0");
  request.only = PathPattern::parse("a.*");
  const auto told = [&](const std::vector<Problem>& problems) {
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::policy);
    CHECK(problems[0].what == "repack never changes a value: 2 weights, such as 'a.down'");
    CHECK(problems[0].found == "bf16 to q4_0");
    CHECK(problems[0].hint.find("requantize") != std::string::npos);
  };
  told(problems_of([&] { plan_reencode(source, request, builtin_registry(), Rounding::refused); }));
  told(problems_of([&] {
    plan_reencode(source,
                  policy_of("[policies.\"*\"]\nfallback = \"keep\"\n"
                            "[[policies.\"*\".schemes]]\nformat = \"q4_0\"\n"),
                  Rounding::refused);
  }));
  CHECK_NOTHROW(plan_reencode(source, to_codec("f32"), builtin_registry(), Rounding::refused));
}

TEST_CASE("a codec that cannot store a weight is told as packing tells it") {
  const ReencodeFixture fixture(tensors());
  const Policy policy = policy_of(
      "[myelin]\nformats = [\"bf16\"]\n"
      "[[policies.\"*\".schemes]]\nformat = \"q4_0\"\n");
  const auto packing = problems_of([&] { fixture.packed(policy, "never"); });
  fixture.packed(one_format("keep"), "source");
  const Checkpoint source = fixture.opened("source");
  const auto problems = problems_of(
      [&] { plan_reencode(source, to_codec("q4_0"), builtin_registry(), Rounding::allowed); });
  REQUIRE(packing.size() == 1);
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what == packing[0].what);
  CHECK(problems[0].field == packing[0].field);
  CHECK(problems[0].found == packing[0].found);
  CHECK(problems[0].code == packing[0].code);
}

TEST_CASE("a policy needs no names of encodings that the artifact's index has") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(one_format("q4_0"), "source");
  const Checkpoint source = fixture.opened("source");
  const Plan plan = plan_reencode(source,
                                  policy_of("[policies.\"*\"]\nfallback = \"f32\"\n"
                                            "[[policies.\"*\".schemes]]\nformat = \"q8_0\"\n"),
                                  Rounding::allowed);
  CHECK(plan.stored(plan.weights[0]).codec.name == "q8_0");
  CHECK(plan.weights[0].policy == "*");
}

TEST_CASE("requests that nothing can come of are refused") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(one_format("keep"), "source");
  const Checkpoint source = fixture.opened("source");
  const auto refused = [&](const ReencodeRequest& request) {
    const auto problems =
        problems_of([&] { plan_reencode(source, request, builtin_registry(), Rounding::allowed); });
    REQUIRE(problems.size() == 1);
    CHECK(problems[0].code == ErrorCode::policy);
    return problems[0].what;
  };
  ReencodeRequest request = to_codec("f32");
  request.only = PathPattern::parse("a.dwon");
  CHECK(refused(request) == "the pattern matches no weight");
  request.only = PathPattern::parse("ids");
  CHECK(refused(request) == "the pattern matches no weight that has values to encode");
  ReencodeRequest order;
  order.order = Order::rows8;
  CHECK(refused(order) == "no weight can have the order");
  for (const Codec* codec : builtin_registry().all())
    if (!codec->info().encodes)
      CHECK(refused(to_codec(codec->info().id())) == "codec is for reading only");

  PlanOptions gguf;
  gguf.output = OutputKind::gguf;
  const auto problems = problems_of([&] {
    plan_reencode(source, ReencodeRequest{}, builtin_registry(), Rounding::refused, gguf);
  });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].code == ErrorCode::usage);
  CHECK(problems[0].found == "an artifact");

  fixture.packed(policy_of(kRules), "volatile");
  const Checkpoint mapped = fixture.opened("volatile");
  ReencodeRequest compress;
  compress.compress = CompressRequest{Compression::zstd, 3};
  const auto contradiction =
      problems_of([&] { plan_reencode(mapped, compress, builtin_registry(), Rounding::refused); });
  REQUIRE(contradiction.size() == 1);
  CHECK(contradiction[0].found == "compress = \"zstd:3\" and volatile = true");
  compress.only = PathPattern::parse("{b,ids}.**");
  CHECK_NOTHROW(plan_reencode(mapped, compress, builtin_registry(), Rounding::refused));
}

TEST_CASE("an artifact of tensors that mean something only together is not decoded") {
  SafetensorsBuilder builder;
  builder.add("m.qweight", DType::i32, {8, 64}, std::string(8 * 64 * 4, '\x12'));
  builder.add("m.qzeros", DType::i32, {1, 8}, std::string(32, '\x12'));
  builder.add("m.scales", DType::f16, {1, 64}, std::string(128, '\x30'));
  builder.add("m.g_idx", DType::i32, {64}, std::string(256, '\0'));
  const ReencodeFixture fixture(builder);
  fixture.packed(policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n"), "source");
  const Checkpoint source = fixture.opened("source");
  CHECK_NOTHROW(plan_reencode(source, ReencodeRequest{}, builtin_registry(), Rounding::refused));
  const auto problems = problems_of(
      [&] { plan_reencode(source, to_codec("f32"), builtin_registry(), Rounding::allowed); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].what.find("GPTQ") != std::string::npos);
}

TEST_CASE("an artifact opens with the codecs that it needs, or not at all") {
  const ReencodeFixture fixture(tensors());
  fixture.packed(one_format("q4_0"), "source");
  const Checkpoint source = fixture.opened("source");
  CHECK(source.artifact() != nullptr);
  REQUIRE(source.tensors().size() == 4);
  CHECK(source.tensors()[0].encoding == "q4_0:q4_0");
  CHECK(source.tensors()[0].weight.dtype == DType::bf16);
  CHECK(source.tensors()[0].bytes == 16 * 256 / 32 * 18);
  CHECK(source.tensors()[2].encoding == "f32");
  CHECK(source.tensors()[3].encoding == "i64");
  CHECK(source.inputs().size() == 1);
  CHECK(source.file_bytes() == std::filesystem::file_size(fixture.artifact("source")));
  CHECK_NOTHROW(source.check_unchanged());
  const auto missing =
      problems_of([&] { Checkpoint::open_artifact(fixture.artifact("source"), CodecRegistry()); });
  REQUIRE_FALSE(missing.empty());
  CHECK(missing[0].code == ErrorCode::package);
  const auto none =
      problems_of([&] { Checkpoint::open_artifact(fixture.input, builtin_registry()); });
  REQUIRE_FALSE(none.empty());
  CHECK(none[0].code == ErrorCode::artifact);
}

}  // namespace
}  // namespace synps::testing
