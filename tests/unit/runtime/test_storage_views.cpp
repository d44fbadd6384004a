// Storages of weights of an open artifact, however they were loaded.

#include <doctest/doctest.h>

#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "storage_samples.h"
#include "synps/artifact.h"
#include "temp_dir.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

/// Says of the weight `fp8` that it has this companion scale, which is not multiplied in.
std::function<void(ArtifactLayout&)> with_scale(std::string path, ScaleForm form) {
  return [path, form](ArtifactLayout& layout) {
    for (StoredWeight& weight : layout.index.weights)
      if (weight.weight.path == "fp8") weight.scale = StoredScale{path, form, false};
  };
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

TEST_CASE("a scale is multiplied in where a weight is encoded anew, and stays where it is not") {
  TempDir dir;
  const std::string path = dir.file("m.synps");
  const Shape shape{16, 64};
  std::vector<std::byte> codes(shape.elements());
  for (std::size_t i = 0; i < codes.size(); ++i) codes[i] = static_cast<std::byte>(i * 7 % 0x78);
  WeightToStore scale = sample_weight(builtin("f32"), Shape{16, 1}, 1);
  scale.path = "fp8_scale";
  for (std::size_t i = 0; i < 16; ++i) scale.values[i] = 0.25f + static_cast<float>(i);
  const auto build = [&](std::string name, ScaleForm form) {
    std::filesystem::remove(path);
    build_artifact(path, {kept("fp8", shape, DType::f8_e4m3, codes), scale}, {}, builtin_registry(),
                   with_scale(std::move(name), form));
    return Artifact::open(path)["fp8"].storage();
  };
  const SharedStorage storage = build("fp8_scale", ScaleForm::row);
  REQUIRE(storage->scale());

  std::vector<float> products = storage->decode();
  for (std::size_t i = 0; i < products.size(); ++i) products[i] *= scale.values[i / 64];
  for (const std::string_view name : {"f32", "f16", "q8_0", "ternary:absmean"}) {
    CAPTURE(name);
    const SharedStorage made = requantize(storage, {&builtin(name)});
    WeightToStore wanted;
    wanted.shape = shape;
    wanted.codec = builtin(name).info().id();
    wanted.values = products;
    CHECK(bytes_of_storage(*made) == encode_weight(wanted, builtin_registry()));
    CHECK(made->scale()->folded);
    CHECK_NOTHROW(requantize(made, {&builtin("bf16")}));  // not twice
  }
  // However it is loaded: dequantized, its codes are f32 that await the scale as before.
  OpenOptions heap;
  heap.profile = profiles::desktop();
  const SharedStorage wide = Artifact::open(path, heap)["fp8"].storage();
  REQUIRE(wide->codec()->info().name == "f32");
  CHECK(same_bits(requantize(wide, {&builtin("f32")})->decode(), products));
  CHECK(bytes_of_storage(*requantize(wide, {&builtin("q8_0")})) ==
        bytes_of_storage(*requantize(storage, {&builtin("q8_0")})));
  CHECK(repack(wide, {&builtin("f32")}) == wide);
  const Problem changes = thrown_problem([&] { repack(storage, {&builtin("f16")}); });
  CHECK(changes.code == ErrorCode::policy);
  CHECK(changes.found == "f8_e4m3 to f16, and its scale 'fp8_scale'");
  const SharedStorage squeezed =
      repack(storage, {.compress = CompressRequest{Compression::zstd, 1}});
  CHECK(squeezed->scale() == storage->scale());
  CHECK(same_bits(squeezed->decode(), storage->decode()));
  CHECK(bytes_of_storage(
            *requantize(squeezed, {.codec = &builtin("q8_0"), .compress = CompressRequest{}})) ==
        bytes_of_storage(*requantize(storage, {&builtin("q8_0")})));

  // What the index says need not be so.
  struct Forged {
    std::string scale;
    ScaleForm form;
  };
  for (const Forged& each : {Forged{"gone", ScaleForm::row}, Forged{"fp8_scale", ScaleForm::tensor},
                             Forged{"fp8", ScaleForm::row}}) {
    CAPTURE(each.scale);
    const SharedStorage forged = build(each.scale, each.form);
    const Problem problem = thrown_problem([&] { requantize(forged, {&builtin("q8_0")}); });
    CHECK(problem.code == ErrorCode::usage);
    CHECK(problem.what == "the scale of a weight, to be multiplied in, is not at hand");
  }
  scale.values[3] = 0;
  const SharedStorage zero = build("fp8_scale", ScaleForm::row);
  const Problem problem = thrown_problem([&] { requantize(zero, {&builtin("q8_0")}); });
  CHECK(problem.code == ErrorCode::checkpoint);
  CHECK(problem.found == "0 at element 3 [3, 0]");
}

}  // namespace synps::testing
