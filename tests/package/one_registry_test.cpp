// What requantize() makes of a weight in memory is what pack() stores for the same values, of every
// codec, those of packages too; and repack() to f32 is what they decode.

#include <doctest/doctest.h>

#include <fmt/format.h>
#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "../unit/packager/order_targets.h"
#include "../unit/packager/pack_fixture.h"
#include "../unit/packager/scale_values.h"
#include "package_paths.h"
#include "storage_samples.h"
#include "synps/artifact.h"
#include "synps/codec_package.h"
#include "thrown_problem.h"

namespace synps::testing {
namespace {

const CodecRegistry& all_codecs() {
  static const CodecRegistry kCodecs = [] {
    CodecRegistry codecs = make_builtin_registry();
    add_codec_package(codecs, "q8_row", kQ8Row);
    add_codec_package(codecs, "left", kLeft);
    return codecs;
  }();
  return kCodecs;
}

/// A tensor of the checkpoint as a storage of the same bytes.
struct Tensor {
  Weight weight;
  std::vector<std::byte> bytes;

  SharedStorage storage() const {
    return storage_of(weight, all_codecs().for_dtype(weight.dtype), {bytes});
  }
};

/// Of every dtype that checkpoints have, and of shapes around the groups of rows8.
std::vector<Tensor> sample_tensors() {
  std::vector<Tensor> tensors;
  std::uint32_t seed = 0;
  for (const DType dtype : {DType::f32, DType::f16, DType::bf16})
    for (const Shape& shape :
         {Shape{512}, Shape{1, 256}, Shape{7, 512}, Shape{9, 512}, Shape{16, 768}, Shape{5, 130},
          Shape{3, 5, 256}, Shape{2, 8, 256}, Shape{300, 256}}) {
      Tensor& tensor = tensors.emplace_back();
      tensor.weight = {fmt::format("{}.{}", encoding_name(dtype), fmt::join(shape.extents(), "x")),
                       shape, dtype};
      const std::string bytes = dense_bytes_of(dtype, test_values(shape.elements(), ++seed));
      tensor.bytes.resize(bytes.size());
      std::memcpy(tensor.bytes.data(), bytes.data(), bytes.size());
    }
  return tensors;
}

SafetensorsBuilder checkpoint_of(const std::vector<Tensor>& tensors) {
  SafetensorsBuilder builder;
  for (const auto& [weight, bytes] : tensors)
    builder.add(weight.path, weight.dtype, weight.shape.extents(),
                std::string_view(reinterpret_cast<const char*>(bytes.data()), bytes.size()));
  return builder;
}

Policy policy_for(const Codec& codec) {
  return Policy::parse(fmt::format("[myelin]\nformats = [\"f16\", \"bf16\"]\n"
                                   "[policies.\"*\"]\nfallback = \"f32\"\n"
                                   "[[policies.\"*\".schemes]]\nformat = \"{}\"\n",
                                   codec.info().id()),
                       "synps.toml", all_codecs());
}

/// Packs all tensors as that codec, and compares each with what requantize() makes of it.
std::size_t compare_with_pack(const std::vector<Tensor>& tensors, const PackFixture& fixture,
                              const Codec& codec, const PackTarget& target, Executor& threads) {
  const Checkpoint checkpoint = fixture.open();
  PlanOptions how;
  how.target = target;
  PackOptions options;
  options.replace = true;
  pack(checkpoint, make_plan(checkpoint, policy_for(codec), how), fixture.output, options);
  OpenOptions open;
  open.codecs = &all_codecs();
  const Artifact artifact = Artifact::open(fixture.output, open);
  std::size_t compared = 0;
  for (const Tensor& tensor : tensors) {
    const WeightView packed = artifact[tensor.weight.path];
    CAPTURE(tensor.weight.path);
    CAPTURE(codec.info().id());
    if (!codec.supports(tensor.weight).ok) {
      const Problem problem =
          thrown_problem([&] { requantize(tensor.storage(), {.codec = &codec}); });
      CHECK(problem.found == codec.supports(tensor.weight).reason);
      continue;
    }
    REQUIRE(packed.codec() == &codec);
    const SharedStorage made = requantize(
        tensor.storage(), {.codec = &codec, .order = packed.form().order}, {.executor = &threads});
    CHECK(made->order() == packed.stored().form.order);
    CHECK(bytes_of_storage(*made) == bytes_of_storage(*packed.storage()));
    CHECK(made->history().empty());
    compared += packed.form().order == Order::rows8 ? 2u : 1u;
  }
  return compared;
}

}  // namespace

TEST_CASE("requantize stores what pack stores, byte for byte, of every codec and in both orders") {
  const std::vector<Tensor> tensors = sample_tensors();
  const PackFixture fixture(checkpoint_of(tensors));
  ThreadPool threads(3);
  std::size_t codecs = 0;
  for (const Codec* codec : all_codecs().all()) {
    if (!codec->info().encodes) continue;
    ++codecs;
    CAPTURE(codec->info().id());
    const std::size_t rows1 = compare_with_pack(tensors, fixture, *codec, {}, threads);
    CHECK(rows1 >= 20);
    const std::size_t both =
        compare_with_pack(tensors, fixture, *codec, rows8_target(all_codecs()), threads);
    const Weight matrix{"w", Shape{16, 768}, DType::f32};
    CHECK((both > rows1) == can_be_rows8(*codec, matrix));
  }
  CHECK(codecs >= 10);
  CHECK(all_codecs().resolve("q8_row")->info().encodes);
}

TEST_CASE("a scale is multiplied in as pack does it, whatever form it has") {
  const std::vector<std::pair<std::vector<std::uint64_t>, std::vector<std::uint64_t>>> shapes = {
      {{16, 512}, {}},
      {{16, 512}, {16, 1}},
      {{260, 512}, {3, 4}},
      {{3, 130, 256}, {3, 2, 2}},
      {{3, 16, 256}, {3, 16}}};
  for (const DType scale_dtype : {DType::f32, DType::bf16}) {
    SafetensorsBuilder builder;
    for (std::size_t i = 0; i < shapes.size(); ++i) {
      const std::string name = fmt::format("m.{}.weight", i);
      std::string codes(Shape(shapes[i].first).elements(), '\0');
      for (std::size_t b = 0; b < codes.size(); ++b) codes[b] = static_cast<char>(b * 11 % 0x78);
      builder.add(name, DType::f8_e4m3, shapes[i].first, codes);
      add_scale(builder, name + "_scale", scale_dtype, shapes[i].second,
                static_cast<std::uint32_t>(i));
    }
    const PackFixture fixture(builder);
    const auto packed_as = [&](const std::string& format) {
      const Checkpoint checkpoint = fixture.open();
      const Policy policy = Policy::parse(
          "[myelin]\nformats = [\"f8_e4m3\", \"bf16\"]\n[[policies.\"*\".schemes]]\nformat = \"" +
              format + "\"\n",
          "synps.toml", all_codecs());
      PackOptions options;
      options.replace = true;
      pack(checkpoint, make_plan(checkpoint, policy, {}), fixture.output, options);
      OpenOptions open;
      open.codecs = &all_codecs();
      return Artifact::open(fixture.output, open);
    };
    const Artifact kept = packed_as("keep");
    for (const std::string_view name :
         {"f32", "f16", "q4_0", "q6_k", "ternary:absmean", "q8_row"}) {
      const Codec& codec = *all_codecs().resolve(name);
      const Artifact packed = packed_as(codec.info().id());
      for (std::size_t i = 0; i < shapes.size(); ++i) {
        const std::string path = fmt::format("m.{}.weight", i);
        CAPTURE(path);
        CAPTURE(name);
        if (!codec.supports(kept[path].stored().weight).ok) continue;
        const SharedStorage made = requantize(kept[path].storage(), {.codec = &codec});
        CHECK(bytes_of_storage(*made) == bytes_of_storage(*packed[path].storage()));
        CHECK(made->history().empty());
      }
    }
  }
}

TEST_CASE("repack of a package's weight to f32 is what it decodes, in any form") {
  const Codec& q8_row = *all_codecs().resolve("q8_row");
  for (const Tensor& tensor : sample_tensors()) {
    CAPTURE(tensor.weight.path);
    const SharedStorage packed = requantize(tensor.storage(), {.codec = &q8_row});
    const SharedStorage squeezed =
        repack(packed, {.compress = CompressRequest{Compression::zstd, 1}});
    const std::vector<float> values = packed->decode();
    CHECK(same_bits(squeezed->decode(), values));
    for (const SharedStorage& from : {packed, squeezed})
      CHECK(same_bits(repack(from, {.codec = all_codecs().resolve("f32")})->decode(), values));
    const SharedStorage left = requantize(packed, {.codec = all_codecs().resolve("left:q8_row")});
    CHECK(left->history() == std::vector<CodecRef>{CodecRef::of(q8_row.info())});
  }
}

}  // namespace synps::testing
