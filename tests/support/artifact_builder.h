#pragma once

#include <cstddef>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "synps/artifact_layout.h"
#include "synps/artifact_writer.h"
#include "synps/builtin_codecs.h"
#include "synps/component_rows.h"
#include "synps/file.h"
#include "synps/packed_form.h"
#include "synps/row_order.h"

namespace synps::testing {

/// A weight for build_artifact(): its values are encoded by `codec`, or its bytes stored as they
/// are when that is "keep"; or `components` are what `codec` stores for it.
struct WeightToStore {
  std::string path;
  Shape shape;
  DType dtype = DType::f32;  ///< what the source would have stored
  std::string codec = "keep";
  std::vector<float> values;
  std::vector<std::byte> bytes;
  ResidencyRequest residency = ResidencyRequest::automatic;
  bool is_volatile = false;
  CompressRequest compress{};
  Order order = Order::rows1;  ///< rows8 is what the index says, even of what cannot be
  Orientation orientation = Orientation::out_in;
  std::vector<std::vector<std::byte>> components{};  ///< in rows1; none: encoded from values
};

inline WeightForm packed_form(const StoredWeight& stored, bool converts, Order order,
                              Compression compression) {
  PackSource source;
  source.codec = stored.codec.id();
  source.converts = converts;
  source.compression = compression;
  WeightForm form = resolve_packed_form(stored.asked, source).form;
  form.order = order;
  return form;
}

inline StoredWeight describe_weight(const WeightToStore& from, const CodecRegistry& codecs) {
  StoredWeight stored;
  stored.weight = {from.path, from.shape, from.dtype};
  stored.source = encoding_name(from.dtype);
  stored.asked.residency = from.residency;
  stored.asked.compress = from.compress;
  stored.asked.orientation = from.orientation;
  const Compression compression =
      from.shape.elements() == 0 ? Compression::none : from.compress.method;
  if (dtype_is_float(from.dtype)) {
    stored.compute = "f32";
    stored.scheme = Scheme{};
    stored.scheme->is_volatile = from.is_volatile;
    stored.decisions = {{"format", "*"}};
  }
  if (from.codec == "keep") {
    if (stored.scheme) stored.scheme->format = "keep";
    // The bytes are the source's; where a codec decodes them, the artifact names it.
    const Codec* dense = codecs.for_dtype(from.dtype);
    stored.codec = dense != nullptr ? CodecRef::of(dense->info()) : CodecRef::keep();
    stored.form = packed_form(stored, false, from.order, compression);
    StoredComponent values;
    values.compression = compression;
    values.order = from.order;
    values.component = {"values", from.dtype, from.shape, from.bytes.size(), false};
    stored.components.push_back(values);
    return stored;
  }
  const Codec* codec = codecs.resolve(from.codec);
  if (codec == nullptr) throw std::runtime_error("no codec " + from.codec);
  stored.codec = CodecRef::of(codec->info());
  stored.scheme->format = codec->info().id();
  stored.lossless = codec->info().stores_exactly(from.dtype);
  const bool converts = codec->info().dense_dtype != from.dtype;
  stored.form = packed_form(stored, converts, from.order, compression);
  for (Component& component : codec->components(stored.weight)) {
    StoredComponent placed;
    placed.component = std::move(component);
    placed.compression = compression;
    placed.order = from.order;
    stored.components.push_back(std::move(placed));
  }
  return stored;
}

/// The components of a weight in rows8, if it can be.
inline std::vector<std::vector<std::byte>> as_rows8(const WeightToStore& from, const Codec& codec,
                                                    std::vector<std::vector<std::byte>> rows1) {
  const StoredWeight stored{{from.path, from.shape, from.dtype}};
  if (!can_be_rows8(codec, stored.weight)) return rows1;
  for (std::size_t c = 0; c < rows1.size(); ++c) {
    std::vector<std::byte> rows8(rows1[c].size());
    rows8_from_rows1(row_blocks(codec, stored, c), rows1[c], rows8);
    rows1[c] = std::move(rows8);
  }
  return rows1;
}

/// The bytes of every component, in the codec's sequence.
inline std::vector<std::vector<std::byte>> encode_weight(const WeightToStore& from,
                                                         const CodecRegistry& codecs) {
  if (from.codec == "keep") return {from.bytes};
  const Codec& codec = *codecs.resolve(from.codec);
  if (!from.components.empty())
    return from.order == Order::rows8 ? as_rows8(from, codec, from.components) : from.components;
  const Weight weight{from.path, from.shape, from.dtype};
  const std::vector<Component> components = codec.components(weight);
  std::vector<std::vector<std::byte>> bytes(components.size());
  std::vector<std::span<std::byte>> rows(components.size());
  std::unique_ptr<Analysis> analysis = codec.begin_analysis(weight);
  if (analysis) analysis->add(from.values);
  for (std::size_t i = 0; i < components.size(); ++i) {
    bytes[i].resize(components[i].bytes);
    if (components[i].per_weight)
      analysis->store(i, bytes[i]);
    else
      rows[i] = bytes[i];
  }
  ValueReport report;
  const Piece whole{&weight, 0, from.shape.rows(), from.shape.columns()};
  codec.encode(whole, from.values, analysis.get(), rows, report);
  return from.order == Order::rows8 ? as_rows8(from, codec, std::move(bytes)) : bytes;
}

/// Writes an artifact of these weights with core and codecs alone. `forge` may change the layout
/// that it is written with.
inline void build_artifact(const std::string& path, const std::vector<WeightToStore>& weights,
                           std::map<std::string, std::string> metadata = {},
                           const CodecRegistry& codecs = builtin_registry(),
                           const std::function<void(ArtifactLayout&)>& forge = {}) {
  ArtifactContents contents;
  contents.metadata = std::move(metadata);
  std::map<std::string, const WeightToStore*> by_path;
  for (const WeightToStore& weight : weights) {
    contents.weights.push_back(describe_weight(weight, codecs));
    by_path[weight.path] = &weight;
  }
  ArtifactLayout layout = lay_out(std::move(contents), CodecRowBytes(codecs));
  if (forge) {
    forge(layout);
    settle_sizes(layout);
  }
  AtomicFile file(Os::posix(), path, {});
  ArtifactWriter writer(file, layout);
  for (std::size_t w = 0; w < layout.index.weights.size(); ++w) {
    const WeightToStore& from = *by_path.at(layout.index.weights[w].weight.path);
    const auto bytes = encode_weight(from, codecs);
    for (std::size_t c = 0; c < bytes.size(); ++c) writer.write(w, c, 0, bytes[c]);
  }
  writer.finish();
  file.commit();
}

}  // namespace synps::testing
