#include <doctest/doctest.h>

#include <filesystem>
#include <set>
#include <string>

#include "golden_folder.h"
#include "synps/builtin_codecs.h"
#include "synps/gguf_types.h"
#include "temp_dir.h"

namespace synps::testing {
namespace {

const std::string kSource = SYNPS_SOURCE_DIR;

}  // namespace

TEST_CASE("every codec has a source file, a golden folder and a section of docs/codecs.md") {
  const std::filesystem::path sources = kSource + "/codecs";
  const std::filesystem::path goldens = kSource + "/tests/golden";
  const std::string docs = "\n" + read_file(kSource + "/docs/codecs.md");
  for (const Codec* codec : builtin_registry().all()) {
    const std::string name = CodecRegistry::short_name(codec->info());
    const std::string folder = folder_name(codec->info());
    CAPTURE(name);
    CHECK(std::filesystem::is_regular_file(sources / (folder + ".h")));
    CHECK(std::filesystem::is_regular_file(sources / (folder + ".cpp")));
    CHECK(std::filesystem::is_regular_file(goldens / folder / "manifest.txt"));
    CHECK(docs.find("\n### `" + name + "`\n") != std::string::npos);
  }
}

TEST_CASE("the built-in codecs are the ones that are documented as such") {
  std::set<std::string> names;
  for (const Codec* codec : builtin_registry().all()) names.insert(codec->info().id());
  const std::set<std::string> expected = {"bf16:bf16",       "f16:f16",
                                          "f32:f32",         "f64:f64",
                                          "f8_e4m3:f8_e4m3", "f8_e4m3fnuz:f8_e4m3fnuz",
                                          "f8_e5m2:f8_e5m2", "f8_e5m2fnuz:f8_e5m2fnuz",
                                          "iq4_nl:iq4_nl",   "iq4_xs:iq4_xs",
                                          "mxfp4:mxfp4",     "q2_k:q2_k",
                                          "q3_k:q3_k",       "q4_0:q4_0",
                                          "q4_1:q4_1",       "q4_k:q4_k",
                                          "q5_0:q5_0",       "q5_1:q5_1",
                                          "q5_k:q5_k",       "q6_k:q6_k",
                                          "q8_0:q8_0",       "q8_1:q8_1",
                                          "q8_k:q8_k",       "ternary:absmean",
                                          "ternary:planes",  "ternary:ternary",
                                          "ternary:tq1_0",   "ternary:tq2_0"};
  CHECK(names == expected);
  for (const std::string& name : expected) CHECK(builtin_registry().resolve(name) != nullptr);
}

TEST_CASE("the GGUF types that have a codec name it, with the size of its blocks") {
  std::set<std::string_view> named;
  for (const GgufType& type : all_gguf_types()) {
    if (type.codec.empty()) continue;
    CAPTURE(type.name);
    CHECK(named.insert(type.codec).second);
    const Codec* codec = builtin_registry().resolve(type.codec);
    REQUIRE(codec != nullptr);
    CHECK(codec->info().id() == type.codec);
    CHECK(codec->info().dense_dtype == type.dtype);
    CHECK(codec->row_granule() == type.block_elements);
    CHECK(codec->row_bytes(0, type.block_elements) == type.block_bytes);
    CHECK(codec->info().bits_per_weight ==
          8.0 * type.block_bytes / static_cast<double>(type.block_elements));
  }
  // All but those of our own, and the 8-bit floats.
  CHECK(named.size() == builtin_registry().all().size() - 3 - 4);
}

TEST_CASE("a dense dtype has one codec") {
  const CodecRegistry& registry = builtin_registry();
  for (const DType dtype : {DType::f16, DType::bf16, DType::f32, DType::f64, DType::f8_e4m3,
                            DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
    const Codec* codec = registry.for_dtype(dtype);
    REQUIRE(codec != nullptr);
    CHECK(codec->info().name == encoding_name(dtype));
  }
  CHECK(registry.for_dtype(DType::i64) == nullptr);
  CHECK(registry.for_dtype(DType::f8_e8m0) == nullptr);
}

}  // namespace synps::testing
