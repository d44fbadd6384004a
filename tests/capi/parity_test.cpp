// What the C interface gives is what the C++ one gives, to the bit.

#include <doctest/doctest.h>

#include <cstring>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps.h"
#include "synps/artifact.h"
#include "synps/codec_package.h"
#include "synps/error.h"
#include "temp_dir.h"

namespace synps {
namespace {

using testing::build_artifact;
using testing::TempDir;
using testing::WeightToStore;

struct Handle {
  explicit Handle(const std::string& path, const synps_options* options = nullptr) {
    synps_error* error = nullptr;
    const int code = synps_open(path.c_str(), options, &artifact, &error);
    const std::string message = synps_error_message(error);
    synps_error_free(error);
    INFO(message);
    REQUIRE(code == SYNPS_OK);
  }
  ~Handle() { synps_close(artifact); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;

  synps_artifact* artifact = nullptr;
};

std::vector<WeightToStore> all_codecs() {
  std::vector<WeightToStore> weights;
  for (const Codec* codec : builtin_registry().all()) {
    if (!codec->info().encodes) continue;
    WeightToStore weight;
    weight.path = codec->info().id();
    weight.shape = Shape{19, 512};
    weight.codec = codec->info().id();
    for (std::uint64_t i = 0; i < weight.shape.elements(); ++i)
      weight.values.push_back(static_cast<float>((i * 1103515245u + 12345u) % 4001) / 2000.0f -
                              1.0f);
    weights.push_back(std::move(weight));
  }
  return weights;
}

bool same(const std::vector<float>& a, const std::vector<float>& b) {
  return a.size() == b.size() && std::memcmp(a.data(), b.data(), a.size() * sizeof(float)) == 0;
}

void compare_values(const WeightView& weight, const synps_artifact* artifact, std::size_t i) {
  std::vector<float> decoded(weight.shape().elements());
  CHECK(synps_decode(artifact, i, 0, weight.shape().rows(), decoded.data(), decoded.size(),
                     nullptr) == SYNPS_OK);
  CHECK(same(decoded, weight.decode()));
  const std::vector<float> x(decoded.begin() + 512, decoded.begin() + 2 * 512);
  std::vector<float> y(19);
  std::vector<float> wanted(19);
  weight.matvec(x, wanted);
  CHECK(synps_matvec(artifact, i, x.data(), x.size(), y.data(), y.size(), nullptr, nullptr) ==
        SYNPS_OK);
  CHECK(same(y, wanted));
  if (weight.activation_block() == 0) return;
  weight.matvec_q8(std::span<const float>(x), wanted);
  CHECK(synps_matvec_q8(artifact, i, x.data(), x.size(), y.data(), y.size(), nullptr, nullptr) ==
        SYNPS_OK);
  CHECK(same(y, wanted));
}

void compare_descriptions(const WeightView& weight, const synps_artifact* artifact, std::size_t i) {
  synps_weight found{};
  found.struct_size = sizeof found;
  REQUIRE(synps_get_weight(artifact, i, &found, nullptr) == SYNPS_OK);
  CHECK(found.path == weight.path());
  CHECK(found.codec == weight.stored().codec.id());
  CHECK(found.encoding_name == to_string(weight.form().encoding));
  CHECK(found.order_name == to_string(weight.form().order));
  CHECK(found.residency_name == to_string(weight.form().residency));
  CHECK(found.reason == to_string(weight.decision().reason));
  CHECK(found.converted == (weight.decision().converts() ? 1 : 0));
  CHECK(found.activation_block == weight.activation_block());
  CHECK(found.resident_bytes == weight.memory().resident);
  CHECK(found.mapped_bytes == weight.memory().mapped);
  REQUIRE(found.component_count == weight.component_count());
  for (std::size_t c = 0; c < found.component_count; ++c) {
    synps_component component{};
    component.struct_size = sizeof component;
    REQUIRE(synps_get_component(artifact, i, c, &component, nullptr) == SYNPS_OK);
    const auto wanted = weight.component(component.name);
    REQUIRE(component.bytes == wanted.size());
    CHECK(std::memcmp(component.data, wanted.data(), wanted.size()) == 0);
    const DType dtype = dtype_from_name(component.dtype).value();
    CHECK(Shape({component.shape, component.shape + component.rank}).bytes(dtype) == wanted.size());
  }
}

TEST_CASE("every codec under every profile gives the same through C as through C++") {
  const TempDir folder;
  const std::string path = folder.file("model.synps");
  build_artifact(path, all_codecs());
  for (const std::string profile : {"", "desktop", "edge", "mobile_2gb"}) {
    CAPTURE(profile);
    OpenOptions options;
    options.profile = builtin_profile(profile);
    options.allow_over_budget = true;
    synps_override as_stored{};
    as_stored.order = SYNPS_REQUEST_ORDER_AS_STORED;
    synps_options c_options{};
    c_options.struct_size = sizeof c_options;
    c_options.profile_name = profile.empty() ? nullptr : profile.c_str();
    c_options.allow_over_budget = 1;
    if (profile == "mobile_2gb") {  // which refuses what no kernel reads, unless it is asked for
      options.overrides.push_back({{}, {.order = OrderRequest::as_stored}});
      c_options.overrides = &as_stored;
      c_options.override_count = 1;
    }
    const Artifact artifact = Artifact::open(path, options);
    const Handle handle(path, &c_options);
    REQUIRE(synps_weight_count(handle.artifact) == artifact.size());
    for (std::size_t i = 0; i < artifact.size(); ++i) {
      const WeightView weight = artifact.weight(i);
      CAPTURE(weight.path());
      compare_descriptions(weight, handle.artifact, i);
      compare_values(weight, handle.artifact, i);
    }
  }
}

TEST_CASE("weights of a codec package are read once the package is named") {
  const TempDir folder;
  const std::string path = folder.file("model.synps");
  CodecRegistry codecs = builtin_registry();
  add_codec_package(codecs, "q8_row", SYNPS_TEST_Q8_ROW);
  WeightToStore weight;
  weight.path = "packaged";
  weight.shape = Shape{3, 8};
  weight.codec = "q8_row";
  for (int i = 0; i < 24; ++i) weight.values.push_back(static_cast<float>(i) - 11.5f);
  build_artifact(path, {weight}, {}, codecs);
  synps_artifact* artifact = nullptr;
  synps_error* error = nullptr;
  CHECK(synps_open(path.c_str(), nullptr, &artifact, &error) == SYNPS_ERROR_PACKAGE);
  CHECK(std::string(synps_error_message(error)).find("'q8_row'") != std::string::npos);
  synps_error_free(error);

  const synps_package package{"q8_row", SYNPS_TEST_Q8_ROW};
  synps_options options{};
  options.struct_size = sizeof options;
  options.packages = &package;
  options.package_count = 1;
  const Handle handle(path, &options);
  OpenOptions wanted;
  wanted.codecs = &codecs;
  const Artifact opened = Artifact::open(path, wanted);
  std::vector<float> values(24);
  CHECK(synps_decode(handle.artifact, 0, 0, 3, values.data(), 24, nullptr) == SYNPS_OK);
  CHECK(same(values, opened.weight(0).decode()));
}

TEST_CASE("errors are those of C++, code and message") {
  const TempDir folder;
  const std::string path = folder.file("model.synps");
  build_artifact(path, all_codecs());
  const Artifact artifact = Artifact::open(path);
  const Handle handle(path);
  std::string wanted;
  try {
    static_cast<void>(artifact["q8_0:none"]);
  } catch (const Error& error) {
    wanted = error.what();
  }
  std::size_t weight = 0;
  synps_error* error = nullptr;
  CHECK(synps_find_weight(handle.artifact, "q8_0:none", &weight, &error) == SYNPS_ERROR_USAGE);
  CHECK(synps_error_message(error) == wanted);
  synps_error_free(error);
}

static_assert(SYNPS_ERROR_USAGE == static_cast<int>(ErrorCode::usage));
static_assert(SYNPS_ERROR_CHECKPOINT == static_cast<int>(ErrorCode::checkpoint));
static_assert(SYNPS_ERROR_IO == static_cast<int>(ErrorCode::io));
static_assert(SYNPS_ERROR_ARTIFACT == static_cast<int>(ErrorCode::artifact));
static_assert(SYNPS_ERROR_LIMIT == static_cast<int>(ErrorCode::limit));
static_assert(SYNPS_ERROR_POLICY == static_cast<int>(ErrorCode::policy));
static_assert(SYNPS_ERROR_OUTPUT == static_cast<int>(ErrorCode::output));
static_assert(SYNPS_ERROR_PACKAGE == static_cast<int>(ErrorCode::package));

}  // namespace
}  // namespace synps
