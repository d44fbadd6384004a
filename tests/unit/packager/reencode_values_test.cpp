// What comes of encoding an artifact's weights anew is what packing the same values gives.

#include <doctest/doctest.h>
#include <fmt/format.h>
#include <fmt/ranges.h>

#include <cmath>
#include <string>
#include <vector>

#include "hard_values.h"
#include "reencode_fixture.h"
#include "synps/artifact.h"

namespace synps::testing {
namespace {

constexpr CompressRequest kZstd{Compression::zstd, 1};

/// Weights whose rows every codec stores, around the boundaries of orders, pieces and units.
SafetensorsBuilder tensors_of(DType dtype) {
  SafetensorsBuilder builder;
  std::uint32_t seed = 0;
  const auto add = [&](const std::vector<std::uint64_t>& shape) {
    add_floats(builder, fmt::format("w.{}", fmt::join(shape, "x")), dtype, shape, ++seed);
  };
  add({1, 256});
  add({9, 256});
  add({40, 768});
  add({3, 8, 512});
  add({512});
  add({9, 20'480});   // steps of rows8 cut these rows
  add({3, 140'032});  // and pieces these
  add({150'016});
  builder.add("ids", DType::i64, {3}, bytes_of(std::vector<std::int64_t>{1, -2, 3}));
  builder.add("none", dtype, {0, 256}, std::string_view());
  return builder;
}

/// Artifacts of a checkpoint that hold its very values, stored in many ways.
std::vector<OutputForm> forms_of_source() {
  return {{}, {{}, kZstd, 0, 2}, {{}, {}, 300'000, 2}};
}

TEST_CASE("a dense artifact encodes as its checkpoint packs, with every codec") {
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16}) {
    const ReencodeFixture fixture(tensors_of(dtype));
    const std::vector<OutputForm> forms = forms_of_source();
    for (std::size_t i = 0; i < forms.size(); ++i)
      fixture.packed(one_format("keep"), "source" + std::to_string(i), forms[i]);
    for (const Codec* codec : encoders()) {
      CAPTURE(dtype_name(dtype));
      CAPTURE(codec->info().id());
      for (const bool rows8 : {false, true}) {
        OutputForm form;
        if (rows8) form.target = rows8_target(builtin_registry());
        fixture.packed(one_format(codec->info().id()), "direct", form);
        form.jobs = 3;
        for (std::size_t i = 0; i < forms.size(); ++i) {
          if (i == 1) continue;  // asks for compression, as is looked at below
          fixture.requantized("source" + std::to_string(i), "again", to_codec(codec->info().id()),
                              form);
          check_same_components(fixture.artifact("direct"), fixture.artifact("again"));
        }
        fixture.requantized("source1", "again", one_format(codec->info().id()), form);
        check_same_components(fixture.artifact("direct"), fixture.artifact("again"));
      }
    }
  }
}

TEST_CASE("a packed artifact encodes as its decoded values pack, whatever its order and frames") {
  SafetensorsBuilder builder;
  std::uint32_t seed = 100;
  for (const std::vector<std::uint64_t>& shape : std::vector<std::vector<std::uint64_t>>{
           {9, 256}, {40, 768}, {3, 8, 512}, {9, 20'480}, {3, 140'032}, {150'016}})
    add_floats(builder, fmt::format("w.{}", fmt::join(shape, "x")), DType::bf16, shape, ++seed);
  const ReencodeFixture fixture(builder);
  const PackTarget rows8 = rows8_target(builtin_registry());
  for (const Codec* stored : encoders()) {
    if (stored->info().dense) continue;
    fixture.packed(one_format(stored->info().id()), "rows1");
    // Its values, as a checkpoint of their own.
    ReencodeFixture decoded((SafetensorsBuilder()));
    fixture.unpacked("rows1");
    write_file(decoded.input, read_file(fixture.dir.file("unpacked")));
    for (const char* target :
         {"f32", "f16", "q8_0", "q4_0", "ternary", "ternary:absmean", "ternary:planes"}) {
      if (builtin_registry().resolve(target) == stored) continue;
      CAPTURE(stored->info().id());
      CAPTURE(target);
      decoded.packed(one_format(target), "wanted");
      for (const OutputForm& form :
           {OutputForm{}, OutputForm{rows8, {}, 0, 2}, OutputForm{rows8, kZstd, 0, 2}}) {
        fixture.packed(one_format(stored->info().id()), "source", form);
        fixture.requantized("source", "again", one_format(target));
        const ArtifactReader wanted(decoded.artifact("wanted"));
        const ArtifactReader found(fixture.artifact("again"));
        CHECK(found.check_all(&builtin_registry()).empty());
        for (std::size_t w = 0; w < wanted.index().weights.size(); ++w) {
          const StoredWeight& a = wanted.index().weights[w];
          const StoredWeight& b = found.index().weights[w];
          CAPTURE(a.weight.path);
          CHECK(b.weight.dtype == DType::bf16);  // the logical dtype stays
          CHECK(b.source == "bf16");
          REQUIRE(a.components.size() == b.components.size());
          for (std::size_t c = 0; c < a.components.size(); ++c)
            CHECK(rows1_bytes(found, b, c) == rows1_bytes(wanted, a, c));
        }
      }
    }
  }
}

TEST_CASE("any number of workers writes the same file, and the same shards") {
  const ReencodeFixture fixture(tensors_of(DType::bf16));
  fixture.packed(one_format("q8_0"), "source", {rows8_target(builtin_registry()), kZstd, 0, 2});
  for (const char* format : {"f32", "ternary:absmean", "q8_0"})
    for (const std::uint64_t shard_bytes : {std::uint64_t{0}, std::uint64_t{1'000'000}}) {
      std::vector<std::string> written;
      for (const unsigned jobs : {1u, 2u, 5u}) {
        fixture.requantized("source", "out", to_codec(format), {{}, {}, shard_bytes, jobs});
        std::string all;
        const ArtifactSet out(fixture.artifact("out"));
        for (const auto& file : out.files()) all += read_file(file->path());
        written.push_back(std::move(all));
      }
      CHECK(written[0] == written[1]);
      CHECK(written[0] == written[2]);
    }
}

TEST_CASE("an artifact of a GGUF file is a source as any, with what nothing decodes in it") {
  GgufBuilder builder;
  builder.text("general.name", "blocks").text("long", std::string(100'000, 'l'));
  builder.tensor("dense", {64, 8}, gguf::kF16, dense_bytes_of(DType::f16, test_values(512, 1)));
  std::string q4_0;
  for (int i = 0; i < 16 * 4; ++i)
    q4_0 += std::string("\x00\x30", 2) + std::string(16, static_cast<char>(i * 7));
  builder.tensor("packed", {128, 16}, gguf::kQ4_0, q4_0);
  builder.tensor("unknown", {256, 2}, gguf::kIQ2_XXS, std::string(2 * 66, 'u'));
  const TempDir dir;
  write_file(dir.file("model.gguf"), builder.build());
  const Checkpoint checkpoint = Checkpoint::open(dir.file("model.gguf"));
  const auto policy = [](const char* format) {
    return policy_of(std::string("[myelin]\nformats = [\"q4_0\", \"f16\"]\n"
                                 "[[policies.\"*\".schemes]]\nformat = \"keep\"\n"
                                 "[[policies.\"{dense,packed}\".schemes]]\nformat = \"") +
                     format + "\"\n");
  };
  pack(checkpoint, make_plan(checkpoint, policy("keep")), dir.file("kept"));
  pack(checkpoint, make_plan(checkpoint, policy("q8_0")), dir.file("direct"));
  const Checkpoint source = Checkpoint::open_artifact(dir.file("kept"), builtin_registry());
  CHECK(source.metadata() == checkpoint.metadata());
  pack(source, plan_reencode(source, to_codec("q8_0"), builtin_registry(), Rounding::allowed),
       dir.file("q8_0"));
  check_same_components(dir.file("direct"), dir.file("q8_0"));
  const ArtifactReader q8_0(dir.file("q8_0"));
  CHECK(q8_0.find("gguf.long")->source == kGgufString);
  CHECK(q8_0.find("unknown")->source == "gguf:iq2_xxs");
  const StoredWeight& packed = *q8_0.find("packed");
  CHECK(packed.source == "q4_0:q4_0");
  CHECK(packed.codec.name == "q8_0");
  CHECK(packed.history.empty());  // the source's own blocks are no step away from it
  CHECK_FALSE(packed.lossless);
}

TEST_CASE("hard values come through a wider artifact as they come from the checkpoint") {
  SafetensorsBuilder builder;
  std::vector<float> values(8 * 256);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = special_values()[i % special_values().size()];
    if (!(std::abs(values[i]) < 60'000)) values[i] = 1;  // what f16 and its scales hold
  }
  builder.add("w", DType::f32, {8, 256}, bytes_of(values));
  const ReencodeFixture fixture(builder);
  fixture.packed(one_format("f32"), "source");
  for (const Codec* codec : encoders()) {
    CAPTURE(codec->info().id());
    fixture.packed(one_format(codec->info().id()), "direct");
    fixture.requantized("source", "again", to_codec(codec->info().id()));
    check_same_components(fixture.artifact("direct"), fixture.artifact("again"));
  }
}

TEST_CASE("a scale that is not folded yet is folded as from the checkpoint") {
  SafetensorsBuilder builder;
  std::string codes(256 * 256, '\0');
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<char>(i * 37 % 120);
  builder.add("a.weight", DType::f8_e4m3, {256, 256}, codes);
  builder.add("a.weight_scale_inv", DType::f32, {2, 2},
              bytes_of(std::vector<float>{0.5f, 0.75f, 3.0f, 0.1f}));
  builder.add("b.weight", DType::f8_e4m3, {256, 256}, codes);
  std::vector<float> scales(256);
  for (std::size_t i = 0; i < scales.size(); ++i) scales[i] = static_cast<float>(i + 1) / 64;
  builder.add("b.weight_scale", DType::bf16, {256, 1}, dense_bytes_of(DType::bf16, scales));
  const ReencodeFixture fixture(builder);
  const Policy keep = policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n");
  fixture.packed(keep, "plain");
  fixture.packed(keep, "frames", {{}, kZstd, 0, 2});
  for (const std::string format : {"f32", "q8_0", "ternary:absmean"}) {
    CAPTURE(format);
    const Policy policy = policy_of(std::string("[myelin]\nformats = [\"f8_e4m3\"]\n") +
                                    "[[policies.\"*\".schemes]]\nformat = \"" + format + "\"\n");
    fixture.packed(policy, "direct");
    fixture.requantized("plain", "again", to_codec(format));
    check_same_components(fixture.artifact("direct"), fixture.artifact("again"));
    fixture.requantized("frames", "again", policy);
    check_same_components(fixture.artifact("direct"), fixture.artifact("again"));
    const ArtifactReader again(fixture.artifact("again"));
    REQUIRE(again.index().weights.size() == 2);
    CHECK(again.index().weights[0].scale->folded);
    CHECK_FALSE(again.index().weights[0].lossless);
    CHECK(again.index().weights[0].history.empty());
    // Folded already, it is not folded again.
    fixture.requantized("again", "wide", to_codec("bf16"));
    const Artifact folded = Artifact::open(fixture.artifact("again"));
    const Artifact wide = Artifact::open(fixture.artifact("wide"));
    const std::vector<float> values = folded["a.weight"].decode();
    CHECK(dense_bytes_of(DType::bf16, values) ==
          dense_bytes_of(DType::bf16, wide["a.weight"].decode()));
    CHECK(wide["a.weight"].stored().history.size() == 1);
  }
}

TEST_CASE("a scale beside its weight stays there, where the weight is not encoded") {
  SafetensorsBuilder builder;
  builder.add("a.weight", DType::f8_e4m3, {2, 32}, std::string(64, '\x31'));
  builder.add("a.weight_scale", DType::f32, {2}, bytes_of(std::vector<float>{2, 3}));
  const ReencodeFixture fixture(builder);
  fixture.packed(policy_of("[[policies.\"*\".schemes]]\nformat = \"keep\"\n"), "source");
  ReencodeRequest request;
  request.compress = kZstd;
  fixture.requantized("source", "again", request, {}, Rounding::refused);
  const ArtifactReader again(fixture.artifact("again"));
  REQUIRE(again.index().weights.size() == 2);
  CHECK(again.index().weights[0].scale == StoredScale{"a.weight_scale", ScaleForm::row, false});
  CHECK(again.index().weights[0].lossless);
  // As the checkpoint, whose product with the scale is a new value.
  const Checkpoint source = fixture.opened("again");
  const auto problems = problems_of(
      [&] { plan_reencode(source, to_codec("f32"), builtin_registry(), Rounding::refused); });
  REQUIRE(problems.size() == 1);
  CHECK(problems[0].found == "f8_e4m3 to f32, and multiply by its scale");
}

}  // namespace
}  // namespace synps::testing
