// The other side of the test of read_artifact.py.
//
//   format_codec_artifact write FILE    an artifact with weights of many shapes in every codec
//   format_codec_artifact values FILE   every weight as the runtime decodes it: path, a tab, then
//                                       f32 values in little-endian hex, or `bytes:` and the stored
//                                       bytes in hex where nothing decodes it

#include <fmt/format.h>

#include <bit>
#include <cmath>
#include <cstdio>
#include <exception>
#include <limits>
#include <string>
#include <vector>

#include "artifact_builder.h"
#include "synps/artifact.h"
#include "test_values.h"

namespace synps::testing {
namespace {

const std::vector<Shape> kShapes = {
    {},       {1},      {5},      {32},      {200},      {512},    {1, 1},         {3, 7}, {3, 64},
    {2, 100}, {9, 128}, {2, 256}, {2, 3, 5}, {2, 2, 96}, {4, 130}, {1, 2, 1, 256}, {70000}};

// What dense codecs have to keep, or to round: signed zeros, subnormals, ties, the ends of the
// ranges of f16 and bf16, infinities, NaN with and without a payload.
std::vector<float> edge_values() {
  std::vector<float> values = {0.0f,      -0.0f,          1.0f,        -1.0f,     0x1p-24f,
                               0x1p-25f,  0x1.8p-24f,     0x1p-126f,   0x1p-149f, 65504.0f,
                               -65504.0f, 1.00048828125f, 2049.0f,     2051.0f,   0x1.01p0f,
                               0x1.03p0f, 0x1.fep15f,     -0x1.554p-3f};
  values.push_back(std::numeric_limits<float>::infinity());
  values.push_back(-std::numeric_limits<float>::infinity());
  for (const std::uint32_t bits : {0x7FC00000u, 0xFFC00000u, 0x7FE12345u, 0xFFD54321u})
    values.push_back(std::bit_cast<float>(bits));
  return values;
}

// Rows of different magnitude, one of zeros, one already ternary: what scales depend on.
std::vector<float> matrix_values(const Shape& shape, std::uint32_t seed) {
  std::vector<float> values = test_values(shape.elements(), seed);
  const std::size_t columns = shape.columns();
  for (std::size_t row = 0; row < shape.rows(); ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      float& value = values[row * columns + column];
      if (row == 1)
        value = 0.0f;
      else if (row == 2)
        value = value == 0.0f ? value : std::copysign(0.37f, value);
      else
        value *= std::ldexp(1.0f, static_cast<int>(row % 5) - 2);
    }
  }
  return values;
}

WeightToStore kept(const std::string& path, DType dtype, const Shape& shape) {
  WeightToStore weight;
  weight.path = path;
  weight.dtype = dtype;
  weight.shape = shape;
  weight.bytes.resize(shape.bytes(dtype).value());
  for (std::size_t i = 0; i < weight.bytes.size(); ++i)
    weight.bytes[i] = static_cast<std::byte>(i * 37 % 101 + 13);
  return weight;
}

// The same codecs and dtypes with zstd: chunks of one segment and of several, one and more of them.
void append_compressed(std::vector<WeightToStore>& weights) {
  std::uint32_t seed = 1000;
  for (const Codec* codec : builtin_registry().all()) {
    const CodecInfo& info = codec->info();
    if (!info.encodes) continue;
    for (const Shape& shape : {Shape{}, Shape{3, 7}, Shape{9, 128}, Shape{2, 256}, Shape{70000}}) {
      WeightToStore weight;
      weight.path = fmt::format("zstd.{}.{}", info.id(), fmt::join(shape.extents(), "x"));
      weight.shape = shape;
      weight.codec = info.id();
      weight.compress = {Compression::zstd, shape.rank() == 1 ? 9 : kDefaultZstdLevel};
      if (!codec->supports({weight.path, shape, DType::f32}).ok) continue;
      weight.values = matrix_values(shape, ++seed);
      weights.push_back(weight);
    }
  }
  for (const DType dtype : {DType::f64, DType::bf16, DType::f8_e4m3, DType::i64, DType::boolean}) {
    WeightToStore weight =
        kept(fmt::format("zstd.kept.{}", encoding_name(dtype)), dtype, {11, 25'000});
    weight.compress = {Compression::zstd, kDefaultZstdLevel};
    weights.push_back(weight);
  }
  WeightToStore empty = kept("zstd.empty", DType::f32, {0, 3});
  empty.compress = {Compression::zstd, kDefaultZstdLevel};
  weights.push_back(empty);
}

// What can be in rows8, plainly and compressed: whole groups, rows behind them, several chunks.
void append_rows8(std::vector<WeightToStore>& weights) {
  std::uint32_t seed = 2000;
  for (const Codec* codec : builtin_registry().all()) {
    const CodecInfo& info = codec->info();
    if (!info.encodes) continue;
    for (const Shape& shape : {Shape{8, 512}, Shape{19, 768}, Shape{17, 320}, Shape{1000, 1024}})
      for (const Compression method : {Compression::none, Compression::zstd}) {
        if (shape.rows() > 100 && (info.name != "q8_0" || method != Compression::zstd)) continue;
        WeightToStore weight;
        weight.path = fmt::format("rows8.{}.{}.{}", to_string(method), info.id(),
                                  fmt::join(shape.extents(), "x"));
        weight.shape = shape;
        weight.codec = info.id();
        weight.order = Order::rows8;
        if (method == Compression::zstd) weight.compress = {method, kDefaultZstdLevel};
        const Weight logical{weight.path, shape, DType::f32};
        if (!codec->supports(logical).ok || !can_be_rows8(*codec, logical)) continue;
        weight.values = matrix_values(shape, ++seed);
        weights.push_back(weight);
      }
  }
}

std::vector<WeightToStore> all_weights() {
  std::vector<WeightToStore> weights;
  std::uint32_t seed = 0;
  for (const Codec* codec : builtin_registry().all()) {
    const CodecInfo& info = codec->info();
    if (!info.encodes) continue;
    for (const Shape& shape : kShapes) {
      WeightToStore weight;
      weight.path = fmt::format("{}.{}", info.id(), fmt::join(shape.extents(), "x"));
      weight.shape = shape;
      weight.codec = info.id();
      weight.is_volatile = shape.rank() == 3;
      if (!codec->supports({weight.path, shape, DType::f32}).ok) continue;
      weight.values = matrix_values(shape, ++seed);
      weights.push_back(weight);
    }
    if (!info.dense) continue;
    WeightToStore edges;
    edges.path = info.id() + ".edges";
    edges.values = edge_values();
    edges.shape = Shape{edges.values.size()};
    edges.codec = info.id();
    weights.push_back(edges);
  }
  append_compressed(weights);
  append_rows8(weights);
  for (const DType dtype : {DType::f64, DType::f32, DType::f16, DType::bf16})
    weights.push_back(kept(fmt::format("kept.{}", encoding_name(dtype)), dtype, {3, 5}));
  for (const DType dtype :
       {DType::f8_e4m3, DType::f8_e5m2, DType::f8_e4m3fnuz, DType::f8_e5m2fnuz}) {
    weights.push_back(kept(fmt::format("kept.{}", encoding_name(dtype)), dtype, {16, 16}));
    for (std::size_t i = 0; i < weights.back().bytes.size(); ++i)
      weights.back().bytes[i] = static_cast<std::byte>(i);
  }
  for (const DType dtype : {DType::i64, DType::u8, DType::boolean, DType::i32})
    weights.push_back(kept(fmt::format("kept.{}", encoding_name(dtype)), dtype, {2, 3}));
  weights.push_back(kept("kept.empty", DType::f32, {0, 3}));
  weights.push_back(kept("kept.two_chunks", DType::u8, {40, 40000}));
  for (const char* path : {"history.one", "history.two"}) {
    WeightToStore encoded_again;
    encoded_again.path = path;
    encoded_again.shape = {3, 64};
    encoded_again.codec = "q8_0";
    encoded_again.values = matrix_values(encoded_again.shape, ++seed);
    weights.push_back(encoded_again);
  }
  // A name that looks like a component's: readers go by the index, not by names.
  weights.push_back(kept("f32:f32.2x100#blocks", DType::f16, {4}));
  return weights;
}

// Weights that were stored in other encodings before.
void add_histories(ArtifactLayout& layout) {
  for (StoredWeight& weight : layout.index.weights) {
    if (!weight.weight.path.starts_with("history.")) continue;
    weight.lossless = false;
    weight.history.push_back({"q4_0", "q4_0", 1});
    if (weight.weight.path == "history.two") weight.history.push_back({"f16", "f16", 1});
  }
}

void print_values(const std::string& file) {
  for (const WeightView weight : Artifact::open(file)) {
    const bool decodes = weight.codec() != nullptr;
    const std::vector<float> values = decodes ? weight.decode() : std::vector<float>();
    const auto bytes = decodes ? std::as_bytes(std::span(values)) : weight.component(0);
    fmt::print("{}\t{}{:02x}\n", weight.path(), decodes ? "" : "bytes:", fmt::join(bytes, ""));
  }
}

}  // namespace

}  // namespace synps::testing

int main(int argc, char** argv) {
  const std::string command = argc == 3 ? argv[1] : "";
  try {
    if (command == "write") {
      synps::testing::build_artifact(argv[2], synps::testing::all_weights(), {},
                                     synps::builtin_registry(), synps::testing::add_histories);
    } else if (command == "values") {
      synps::testing::print_values(argv[2]);
    } else {
      fmt::print(stderr, "usage: format_codec_artifact write|values FILE\n");
      return 2;
    }
  } catch (const std::exception& error) {
    fmt::print(stderr, "format_codec_artifact: error: {}\n", error.what());
    return 1;
  }
  return 0;
}
