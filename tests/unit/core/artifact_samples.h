#pragma once

// A small artifact made by hand, without codecs: two packed weights (one volatile), dense ones of
// several dtypes, a scalar, an empty one.

#include <cstddef>
#include <string>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/artifact_writer.h"

namespace synps::testing {

/// Row sizes of a made-up codec: one byte for two elements, and four bytes a row of scales.
class HalfByteRows : public RowBytes {
 public:
  std::uint64_t of(const StoredWeight& weight, std::size_t component,
                   std::uint64_t columns) const override {
    if (weight.components[component].component.name == "scales") return 4;
    return (columns + 1) / 2;
  }
};

inline StoredWeight dense(std::string path, DType dtype, Shape shape) {
  StoredWeight weight;
  weight.weight = {std::move(path), shape, dtype};
  weight.source = encoding_name(dtype);
  weight.codec = CodecRef::keep();
  StoredComponent stored;
  stored.component = {"values", dtype, shape, shape.bytes(dtype).value(), false};
  weight.components = {stored};
  return weight;
}

inline StoredWeight packed(std::string path, Shape shape, bool is_volatile = false) {
  StoredWeight weight;
  weight.weight = {std::move(path), shape, DType::bf16};
  weight.source = "bf16";
  weight.compute = "f32";
  weight.codec = {"half", "half", 3};
  weight.lossless = false;
  weight.form.encoding = {Encoding::Kind::requantize_to, "half:half"};
  weight.scheme = Scheme{.format = "half:half", .is_volatile = is_volatile};
  weight.decisions = {{"format", "*"}};
  const std::uint64_t row = (shape.columns() + 1) / 2;
  StoredComponent codes;
  codes.component = {"codes", DType::u8, Shape{shape.rows(), row}, shape.rows() * row, false};
  StoredComponent scales;
  scales.component = {"scales", DType::f32, Shape{shape.rows()}, 4 * shape.rows(), false};
  weight.components = {codes, scales};
  return weight;
}

/// The weight with every component compressed.
inline StoredWeight compressed(StoredWeight weight, int level = kDefaultZstdLevel) {
  weight.asked.compress = {Compression::zstd, level};
  weight.form.residency = Residency::heap;
  for (StoredComponent& stored : weight.components) stored.compression = Compression::zstd;
  return weight;
}

inline ArtifactContents small_contents() {
  ArtifactContents contents;
  contents.weights = {
      dense("b.bias", DType::f32, Shape{5}),    dense("ids", DType::i64, Shape{3}),
      dense("mask", DType::boolean, Shape{7}),  dense("scalar", DType::f16, Shape{}),
      dense("empty", DType::f32, Shape{0, 4}),  dense("norm", DType::f32, Shape{32}),
      packed("a.weight", Shape{10, 6}),         packed("z.weight", Shape{4, 8}, true),
      dense("nibbles", DType::f4, Shape{3, 2}),
  };
  contents.metadata = {{"format", "pt"}, {"note", "quote \" and é"}};
  const Scheme cache{.scope = Scope::internal,
                     .lifetime = Lifetime::session,
                     .update = Update::region,
                     .format = "half:half"};
  contents.values = {{"z.**", cache}, {"a.*", cache}};
  return contents;
}

/// Bytes that differ from place to place.
inline std::vector<std::byte> sample_bytes(std::size_t size, unsigned seed) {
  std::vector<std::byte> bytes(size);
  for (std::size_t i = 0; i < size; ++i)
    bytes[i] = static_cast<std::byte>((i * 31 + seed * 17 + i / 7) & 0xFF);
  return bytes;
}

/// Writes the contents with sample_bytes and returns the layout, with true sizes.
inline ArtifactLayout write_artifact(const std::string& path, ArtifactContents contents) {
  const ArtifactLayout layout = lay_out(std::move(contents), HalfByteRows());
  AtomicFile file(Os::posix(), path, {.replace = true});
  ArtifactWriter writer(file, layout);
  for (std::size_t w = 0; w < layout.index.weights.size(); ++w)
    for (std::size_t c = 0; c < layout.index.weights[w].components.size(); ++c) {
      const auto& component = layout.index.weights[w].components[c].component;
      writer.write(w, c, 0, sample_bytes(component.bytes, static_cast<unsigned>(10 * w + c)));
    }
  const auto written = writer.finish();
  file.commit();
  return written.value_or(layout);
}

}  // namespace synps::testing
