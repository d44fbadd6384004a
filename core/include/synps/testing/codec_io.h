#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <random>
#include <span>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "synps/checked.h"
#include "synps/codec.h"

namespace synps::testing {

using Bytes = std::vector<std::byte>;

/// What a codec stores for a weight, and what it said about the values.
struct Encoded {
  std::vector<Bytes> components;
  ValueReport report;
};

inline Weight make_weight(Shape shape, DType dtype = DType::f32) {
  return {"test.weight", std::move(shape), dtype};
}

/// The whole weight as one piece.
inline Piece whole(const Weight& weight) {
  return {&weight, 0, weight.shape.rows(), weight.shape.columns()};
}

/// A random cut of a weight into pieces: some rows each, or, where the codec allows it, parts of a
/// row.
inline std::vector<Piece> random_pieces(const Codec& codec, const Weight& weight,
                                        std::mt19937& random) {
  const std::uint64_t rows = weight.shape.rows();
  const std::uint64_t columns = weight.shape.columns();
  const std::uint64_t granule = codec.row_granule();
  std::vector<Piece> pieces;
  for (std::uint64_t row = 0; row < rows;) {
    if (granule > 0 && columns > granule && random() % 2 == 0) {
      const std::uint64_t granules = (columns + granule - 1) / granule;
      for (std::uint64_t g = 0; g < granules;) {
        const std::uint64_t count = 1 + random() % (granules - g);
        const std::uint64_t begin = g * granule;
        const std::uint64_t end = std::min(columns, (g + count) * granule);
        pieces.push_back({&weight, row * columns + begin, 1, end - begin});
        g += count;
      }
      ++row;
    } else {
      const std::uint64_t count = 1 + random() % (rows - row);
      pieces.push_back({&weight, row * columns, count, columns});
      row += count;
    }
  }
  return pieces;
}

/// Where a piece's bytes lie in a component; throws when the codec's sizes lead out of it.
struct ByteRange {
  std::size_t offset = 0;
  std::size_t size = 0;
};

inline ByteRange byte_range(const Codec& codec, const Component& stored, std::size_t component,
                            const Piece& piece) {
  if (stored.per_weight) return {0, stored.bytes};
  const std::uint64_t columns = piece.weight->shape.columns();
  if (piece.elements() == 0) return {};
  const std::uint64_t row = piece.first_element / columns;
  const std::uint64_t column = piece.first_element % columns;
  const auto before = checked_mul(row, codec.row_bytes(component, columns));
  const auto offset =
      before ? checked_add(*before, codec.row_bytes(component, column)) : std::nullopt;
  const auto size = checked_mul(piece.rows, codec.row_bytes(component, piece.columns));
  if (!offset || !size || !range_fits(*offset, *size, stored.bytes))
    throw std::runtime_error(codec.info().id() + ": row_bytes leads out of component '" +
                             stored.name + "'");
  return {static_cast<std::size_t>(*offset), static_cast<std::size_t>(*size)};
}

inline constexpr std::byte kGuard{0xA5};
inline constexpr std::size_t kGuardBytes = 16;

/// Encodes values piece by piece. Every piece gets buffers of exactly its size, filled with
/// `before`, at odd addresses and with a guard behind them; throws when a guard was overwritten.
inline Encoded encode_pieces(const Codec& codec, const Weight& weight,
                             std::span<const float> values, const std::vector<Piece>& pieces,
                             std::byte before = kGuard) {
  const std::vector<Component> stored = codec.components(weight);
  Encoded encoded;
  for (const Component& component : stored)
    encoded.components.emplace_back(component.bytes, before);

  const std::unique_ptr<Analysis> analysis = codec.begin_analysis(weight);
  if (analysis) {
    for (const Piece& piece : pieces)
      analysis->add(values.subspan(piece.first_element, piece.elements()));
    for (std::size_t c = 0; c < stored.size(); ++c)
      if (stored[c].per_weight) analysis->store(c, encoded.components[c]);
  }
  for (const Piece& piece : pieces) {
    std::vector<Bytes> buffers;
    std::vector<std::span<std::byte>> out;
    buffers.reserve(stored.size());
    for (std::size_t c = 0; c < stored.size(); ++c) {
      const std::size_t size =
          stored[c].per_weight ? 0 : byte_range(codec, stored[c], c, piece).size;
      buffers.emplace_back(1 + size + kGuardBytes, kGuard);
      out.push_back(std::span(buffers.back()).subspan(1, size));
      std::fill(out.back().begin(), out.back().end(), before);
    }
    ValueReport report;
    codec.encode(piece, values.subspan(piece.first_element, piece.elements()), analysis.get(), out,
                 report);
    encoded.report.merge(report);
    for (std::size_t c = 0; c < stored.size(); ++c) {
      const Bytes& buffer = buffers[c];
      bool intact = buffer.front() == kGuard;
      for (std::size_t i = 1 + out[c].size(); i < buffer.size(); ++i) intact &= buffer[i] == kGuard;
      if (!intact) throw std::runtime_error(codec.info().id() + " wrote past its buffer");
      if (out[c].empty()) continue;
      std::memcpy(encoded.components[c].data() + byte_range(codec, stored[c], c, piece).offset,
                  out[c].data(), out[c].size());
    }
  }
  return encoded;
}

inline Encoded encode_all(const Codec& codec, const Weight& weight, std::span<const float> values) {
  return encode_pieces(codec, weight, values, {whole(weight)});
}

/// Decodes piece by piece, from odd addresses and into buffers that hold `before` and have a guard
/// behind them; throws when it was overwritten.
inline std::vector<float> decode_pieces(const Codec& codec, const Weight& weight,
                                        const std::vector<Bytes>& components,
                                        const std::vector<Piece>& pieces, float before = 0) {
  constexpr float kGuardValue = -0x1.23456p+7f;
  const std::vector<Component> stored = codec.components(weight);
  std::vector<float> values(weight.shape.elements());
  for (std::size_t c = 0; c < stored.size(); ++c)
    if (components.at(c).size() != stored[c].bytes)
      throw std::runtime_error(codec.info().id() + ": component '" + stored[c].name +
                               "' has another size each time");
  for (const Piece& piece : pieces) {
    std::vector<Bytes> buffers;
    std::vector<std::span<const std::byte>> in;
    for (std::size_t c = 0; c < stored.size(); ++c) {
      const ByteRange range = byte_range(codec, stored[c], c, piece);
      const auto* from = components.at(c).data() + range.offset;
      buffers.emplace_back(1);
      buffers.back().insert(buffers.back().end(), from, from + range.size);
    }
    in.reserve(buffers.size());
    for (const Bytes& buffer : buffers) in.push_back(std::span(buffer).subspan(1));
    std::vector<float> out(piece.elements() + 1, before);
    out.back() = kGuardValue;
    codec.decode(piece, in, std::span(out).first(piece.elements()));
    if (out.back() != kGuardValue)
      throw std::runtime_error(codec.info().id() + " wrote past its values");
    std::copy_n(out.begin(), piece.elements(),
                values.begin() + static_cast<std::ptrdiff_t>(piece.first_element));
  }
  return values;
}

inline std::vector<float> decode_all(const Codec& codec, const Weight& weight,
                                     const std::vector<Bytes>& components) {
  return decode_pieces(codec, weight, components, {whole(weight)});
}

/// Encodes and decodes.
inline std::vector<float> round_trip(const Codec& codec, const Weight& weight,
                                     std::span<const float> values) {
  return decode_all(codec, weight, encode_all(codec, weight, values).components);
}

}  // namespace synps::testing
