// Storages of weights of an open artifact, however they were loaded.

#include <doctest/doctest.h>

#include <optional>
#include <string>
#include <vector>

#include "storage_samples.h"
#include "synps/artifact.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

/// A weight with a companion scale that is not multiplied in.
void forge_scale(ArtifactLayout& layout) {
  for (StoredWeight& weight : layout.index.weights)
    if (weight.weight.path == "fp8") weight.scale = StoredScale{"fp8_scale", ScaleForm::row, false};
}

WeightToStore kept(std::string path, const Shape& shape, DType dtype,
                   std::vector<std::byte> bytes) {
  WeightToStore weight;
  weight.path = std::move(path);
  weight.shape = shape;
  weight.dtype = dtype;
  weight.bytes = std::move(bytes);
  return weight;
}

}  // namespace

TEST_CASE("a storage of a loaded weight is what was loaded, and converts alike") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  const Shape shape{19, 256};
  const std::vector<WeightToStore> samples = samples_of_all_codecs(shape);
  build_artifact(path, samples);
  const Codec& bf16 = builtin("bf16");
  std::size_t seen_mapped = 0;
  std::size_t seen_dequantized = 0;
  std::size_t seen_relaid = 0;
  for (const NamedKernels& kernels : sample_registries())
    for (const std::optional<Profile>& profile :
         {std::optional<Profile>{}, std::optional(lenient(profiles::desktop())),
          std::optional(lenient(profiles::mobile_2gb()))}) {
      OpenOptions options;
      options.profile = profile;
      options.kernels = &kernels.kernels;
      const Artifact artifact = Artifact::open(path, options);
      for (const WeightView view : artifact) {
        CAPTURE(view.path());
        CAPTURE(kernels.name);
        const SharedStorage storage = view.storage();
        const bool dequantized = view.decision().dequantizes;
        seen_mapped += view.form().residency == Residency::mapped ? 1u : 0u;
        seen_dequantized += dequantized ? 1u : 0u;
        seen_relaid += view.decision().relays ? 1u : 0u;
        CHECK(storage->weight() == view.stored().weight);
        CHECK(storage->residency() == view.form().residency);
        CHECK(storage->order() == view.form().order);
        CHECK(storage->codec() == (dequantized ? &builtin("f32") : view.codec()));
        REQUIRE(storage->component_count() == view.component_count());
        for (std::size_t c = 0; c < view.component_count(); ++c)
          CHECK(storage->component(c).data() == view.component(c).data());
        const std::vector<float> values = view.decode();
        CHECK(same_bits(storage->decode(), values));
        CHECK(same_bits(repack(storage, {.order = Order::rows1})->decode(), values));
        if (view.codec() == &builtin("f64") || view.codec() == &bf16) continue;
        CHECK(same_bits(repack(storage, {.codec = &builtin("f32")})->decode(), values));
        WeightToStore wanted;
        wanted.shape = shape;
        wanted.codec = bf16.info().id();
        wanted.values = values;
        const SharedStorage made =
            requantize(storage, {.codec = &bf16, .order = Order::rows1}, {.allow_overflow = true});
        CHECK(bytes_of_storage(*made) == encode_weight(wanted, builtin_registry()));
        const bool rounded = !view.stored().lossless;
        CHECK(made->history().size() == (rounded ? 1 : 0));
        if (rounded) CHECK(made->history()[0] == view.stored().codec);
      }
    }
  CHECK(seen_mapped != 0);
  CHECK(seen_dequantized != 0);
  CHECK(seen_relaid != 0);
}

TEST_CASE("a storage keeps the artifact's bytes, and a copy of it does not need them") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  WeightToStore weight = sample_weight(builtin("q4_0"), Shape{16, 256}, 1);
  weight.path = "w";
  build_artifact(path, {weight});
  SharedStorage storage;
  {
    const Artifact artifact = Artifact::open(path);
    storage = artifact["w"].storage();
  }
  CHECK(storage->residency() == Residency::mapped);
  const std::vector<float> values = storage->decode();
  const SharedStorage copy = repack(storage, {.order = Order::rows8});
  storage.reset();
  CHECK(same_bits(copy->decode(), values));
}

TEST_CASE("damage is found when a conversion reads it, and not before") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  WeightToStore weight = sample_weight(builtin("q4_0"), Shape{16, 256}, 1);
  weight.path = "w";
  build_artifact(path, {weight});
  std::string file = read_file(path);
  file.back() = static_cast<char>(file.back() ^ 1);
  write_file(path, file);
  const Artifact artifact = Artifact::open(path);
  const SharedStorage storage = artifact["w"].storage();
  CHECK(repack(storage, {}) == storage);
  CHECK(thrown_problem([&] { repack(storage, {.codec = &builtin("q8_0")}); }).code ==
        ErrorCode::policy);
  const Problem problem = thrown_problem([&] { requantize(storage, {.codec = &builtin("q8_0")}); });
  CHECK(problem.code == ErrorCode::artifact);
  CHECK(problem.file == path);
}

TEST_CASE("a scale that is not multiplied in is not dropped") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  const std::vector<std::byte> codes(16 * 32, std::byte{0x38});
  WeightToStore scale = sample_weight(builtin("f32"), Shape{16}, 1);
  scale.path = "fp8_scale";
  build_artifact(path, {kept("fp8", Shape{16, 32}, DType::f8_e4m3, codes), scale}, {},
                 builtin_registry(), forge_scale);
  const SharedStorage storage = Artifact::open(path)["fp8"].storage();
  REQUIRE(storage->scale());
  for (const std::string_view target : {"f32", "f16", "q8_0"}) {
    const Problem problem = thrown_problem([&] { requantize(storage, {&builtin(target)}); });
    CHECK(problem.code == ErrorCode::usage);
    CHECK(problem.what == "an encoding of a weight whose scale is not multiplied in");
    CHECK(problem.found == "a scale a row, 'fp8_scale'");
  }
  CHECK(thrown_problem([&] { repack(storage, {&builtin("f16")}); }).code == ErrorCode::usage);
  const SharedStorage squeezed =
      repack(storage, {.compress = CompressRequest{Compression::zstd, 1}});
  CHECK(squeezed->scale() == storage->scale());
  CHECK(same_bits(squeezed->decode(), storage->decode()));
}

}  // namespace synps::testing
