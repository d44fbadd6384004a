// Artifacts of format version 1 that were made once: every synps opens them, checks them, and
// decodes them to the same bits.

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <filesystem>
#include <set>
#include <vector>

#include "expected.h"
#include "synps/artifact.h"
#include "synps/artifact_set.h"
#include "synps/builtin_codecs.h"
#include "synps/codec_package.h"
#include "synps/error.h"
#include "synps/row_order.h"

namespace synps {
namespace {

using testing::expected_artifacts;
using testing::ExpectedArtifact;
using testing::ExpectedWeight;

/// The built-in codecs, and q8_row.
const CodecRegistry& all_codecs() {
  static const CodecRegistry registry = [] {
    CodecRegistry codecs = make_builtin_registry();
    add_codec_package(codecs, "q8_row", SYNPS_TEST_Q8_ROW);
    return codecs;
  }();
  return registry;
}

Digest digest_of(const std::vector<float>& values) {
  static_assert(std::endian::native == std::endian::little);
  return xxh3_128(std::as_bytes(std::span(values)));
}

void check_weight(const WeightView& view, const ExpectedWeight& expected) {
  const StoredWeight& stored = view.stored();
  CHECK(view.path() == expected.path);
  CHECK(stored.codec.id() == expected.codec);
  CHECK(stored.codec.revision == expected.revision);
  CHECK(dtype_name(view.dtype()) == expected.dtype);
  CHECK(view.shape().extents() == expected.shape);
  CHECK(to_string(stored.form.order) == expected.order);
  CHECK(stored.lossless == expected.lossless);
  std::vector<std::string> history;
  for (const CodecRef& codec : stored.history) history.push_back(codec.id());
  CHECK(history == expected.history);
}

void check_values(const WeightView& view, const ExpectedWeight& expected) {
  if (expected.values)
    CHECK(to_hex(digest_of(view.decode())) == to_hex(*expected.values));
  else
    CHECK_THROWS_AS(view.decode(), Error);
}

void check_stored_bytes(const WeightView& view, const ExpectedWeight& expected) {
  REQUIRE(view.component_count() == expected.stored.size());
  for (std::size_t i = 0; i < expected.stored.size(); ++i)
    CHECK(to_hex(xxh3_128(view.component(i))) == to_hex(expected.stored[i]));
}

TEST_CASE("every artifact is sound, to its last byte") {
  REQUIRE(expected_artifacts().size() >= 13);
  for (const ExpectedArtifact& expected : expected_artifacts()) {
    CAPTURE(expected.name);
    REQUIRE(ArtifactSet::recognises(expected.file));
    const ArtifactSet artifact(expected.file);
    CHECK(artifact.index().version == 1);
    for (const Problem& problem : artifact.check_all(&all_codecs())) FAIL_CHECK(to_string(problem));
  }
}

TEST_CASE("every weight has the bytes and the values that it was made with") {
  for (const ExpectedArtifact& expected : expected_artifacts()) {
    CAPTURE(expected.name);
    OpenOptions options;
    options.codecs = &all_codecs();
    options.verification = Verification::all;
    const Artifact artifact = Artifact::open(expected.file, options);
    REQUIRE(artifact.size() == expected.weights.size());
    for (std::size_t i = 0; i < artifact.size(); ++i) {
      const WeightView view = artifact.weight(i);
      CAPTURE(view.path());
      check_weight(view, expected.weights[i]);
      check_stored_bytes(view, expected.weights[i]);
      check_values(view, expected.weights[i]);
    }
  }
}

void check_all_values(const ExpectedArtifact& expected, const OpenOptions& options) {
  const Artifact artifact = Artifact::open(expected.file, options);
  REQUIRE(artifact.size() == expected.weights.size());
  for (std::size_t i = 0; i < artifact.size(); ++i) {
    CAPTURE(artifact.weight(i).path());
    check_values(artifact.weight(i), expected.weights[i]);
  }
}

/// A strict profile may refuse what takes memory to load, for want of a kernel; nothing else may be
/// wrong with the artifact.
bool loads_strictly(const ExpectedArtifact& expected, const OpenOptions& options) {
  try {
    check_all_values(expected, options);
    return true;
  } catch (const Error& error) {
    CHECK(error.code() == ErrorCode::limit);
    return false;
  }
}

TEST_CASE("every artifact loads under every profile, to the same values") {
  for (const Profile& profile : builtin_profiles()) {
    CAPTURE(profile.name);
    std::size_t strict = 0;
    for (const ExpectedArtifact& expected : expected_artifacts()) {
      CAPTURE(expected.name);
      OpenOptions options;
      options.codecs = &all_codecs();
      options.profile = profile;
      // What this machine has to give is not what is tested.
      options.profile->memory_bytes = std::uint64_t{2} << 30;
      if (profile.strict && loads_strictly(expected, options)) ++strict;
      options.profile->strict = false;
      check_all_values(expected, options);
    }
    if (profile.strict) CHECK(strict >= 4);
  }
}

TEST_CASE("without its package an artifact is checked, and its codec named") {
  bool found = false;
  for (const ExpectedArtifact& expected : expected_artifacts()) {
    if (expected.package.empty()) continue;
    found = true;
    CHECK(ArtifactSet(expected.file).check_all(&builtin_registry()).empty());
    try {
      Artifact::open(expected.file);
      FAIL("no error");
    } catch (const Error& error) {
      CHECK(error.code() == ErrorCode::package);
      CHECK(error.problems().front().found == "q8_row:q8_row revision 1 (2 weights)");
    }
  }
  CHECK(found);
}

TEST_CASE("there is an artifact of every codec, in every order that it has, and of every name") {
  std::set<std::string> codecs;  // with order
  std::set<std::string> names;
  std::set<DType> dtypes;
  for (const ExpectedArtifact& expected : expected_artifacts()) {
    const ArtifactSet artifact(expected.file);
    for (const ValueScheme& value : artifact.index().values)
      for (const auto name : {to_string(value.scheme.scope), to_string(value.scheme.lifetime),
                              to_string(value.scheme.update)})
        names.emplace(name);
    for (const StoredWeight& weight : artifact.index().weights) {
      codecs.insert(weight.codec.id() + " " + std::string(to_string(weight.form.order)));
      dtypes.insert(weight.weight.dtype);
      for (const auto name : {to_string(weight.form.orientation), to_string(weight.form.residency),
                              to_string(weight.asked.order), to_string(weight.asked.residency)})
        names.emplace(name);
      if (weight.scale) {
        names.insert(std::string(to_string(weight.scale->form)) +
                     (weight.scale->folded ? " folded" : " kept"));
      }
      if (weight.scheme && weight.scheme->is_volatile) names.insert("volatile");
      if (!weight.history.empty()) names.insert("history");
      for (const StoredComponent& stored : weight.components) {
        names.emplace(to_string(stored.compression));
        if (stored.compressed() && stored.chunks() > 1) names.insert("chunks");
      }
    }
  }
  for (const Codec* codec : builtin_registry().all()) {
    const std::string id = codec->info().package + ":" + codec->info().name;
    CAPTURE(id);
    CHECK(codecs.contains(id + " rows1"));
    bool blocks = false;
    for (const std::uint64_t columns : {512u, 1024u}) {
      const Weight weight{"w", Shape{64, columns}, DType::f32};
      blocks = blocks || (codec->supports(weight).ok && can_be_rows8(*codec, weight));
    }
    CHECK(codecs.contains(id + " rows8") == blocks);
  }
  for (const char* name : {"any",        "input",        "output",      "internal", "invocation",
                           "session",    "none",         "whole",       "region",   "out_in",
                           "in_out",     "heap",         "mapped",      "auto",     "as_stored",
                           "zstd",       "chunks",       "volatile",    "history",  "tensor folded",
                           "row folded", "block folded", "tensor kept", "row kept", "block kept"}) {
    CAPTURE(name);
    CHECK(names.contains(name));
  }
  CHECK(dtypes.size() == all_dtypes().size());
}

TEST_CASE("no file lies beside the artifacts that nobody expects") {
  std::set<std::string> wanted{"expected.json"};
  for (const ExpectedArtifact& expected : expected_artifacts())
    wanted.insert(expected.files.begin(), expected.files.end());
  std::set<std::string> found;
  for (const auto& entry : std::filesystem::directory_iterator(testing::compat_folder()))
    found.insert(entry.path().filename().string());
  CHECK(found == wanted);
}

}  // namespace
}  // namespace synps
