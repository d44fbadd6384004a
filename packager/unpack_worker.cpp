#include "unpack_worker.h"

#include <algorithm>
#include <bit>
#include <cmath>

#include <fmt/format.h>

#include "memory_model.h"
#include "pieces.h"
#include "source_reader.h"
#include "synps/checked.h"
#include "synps/codec_package.h"

namespace synps {
namespace {

/// Elements, or bytes, that a unit has about.
constexpr std::uint64_t kUnit = 1u << 22;

std::uint64_t unit_of(const UnpackedWeight& weight) {
  if (weight.codec == nullptr) return kUnit;
  const Shape& shape = weight.stored->weight.shape;
  const std::uint64_t granule = weight.codec->row_granule();
  if (shape.rows() > 1)
    return std::max<std::uint64_t>(1, kUnit / shape.columns()) * shape.columns();
  return granule == 0 ? shape.elements() : std::max(granule, kUnit / granule * granule);
}

std::uint64_t length_of(const UnpackedWeight& weight) {
  return weight.codec == nullptr ? weight.stored->components.front().component.bytes
                                 : weight.stored->weight.shape.elements();
}

/// Whether what the codec claims to store exactly must be seen to be so: a package's codec.
bool must_check(const UnpackedWeight& weight) {
  return !weight.codec->info().file.empty() && *weight.dense->info().dense_dtype != DType::f32;
}

}  // namespace

std::uint64_t unpack_units(const UnpackedWeight& weight) {
  const std::uint64_t length = length_of(weight);
  return length == 0 ? 0 : (length - 1) / unit_of(weight) + 1;
}

std::uint64_t unpack_buffers(const std::vector<UnpackedWeight>& weights) {
  std::vector<std::uint64_t> stored;
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  std::uint64_t inflater = 0;  // of bytes that are written as they are
  std::uint64_t packages = 0;  // kept_, and the copies that a package's codec gets
  for (const UnpackedWeight& weight : weights) {
    if (weight.codec == nullptr) {
      bytes = std::max(bytes, std::min(kCopyBytes, length_of(weight)));
      if (weight.stored->components.front().compressed()) inflater = kInflaterBytes;
      continue;
    }
    raise_stored_buffers(*weight.stored, *weight.codec, stored);
    const std::uint64_t piece =
        largest_piece(weight.stored->weight, length_of(weight), weight.codec->row_granule());
    const std::uint64_t floats = saturating_mul(piece, sizeof(float));
    values = std::max(values, floats);
    bytes = std::max(bytes, dense_bytes(*weight.dense->info().dense_dtype, piece));
    if (!weight.codec->info().file.empty())
      packages = std::max(packages, saturating_mul(floats, 3));
  }
  for (const std::uint64_t buffer : stored) bytes = saturating_add(bytes, buffer);
  return saturating_add(saturating_add(bytes, inflater), saturating_add(values, packages));
}

void UnpackWorker::write(const UnpackedWeight& weight, std::uint64_t begin, std::uint64_t unit) {
  if (weight.codec == nullptr) return write_bytes(weight, begin, unit);
  const StoredWeight& stored = *weight.stored;
  const DType dtype = *weight.dense->info().dense_dtype;
  const std::uint64_t size = unit_of(weight);
  const std::uint64_t first = unit * size;
  const std::uint64_t last = first + std::min(size, length_of(weight) - first);
  reader_.start(*weight.file, stored, *weight.codec);
  for (std::uint64_t at = first; at < last;) {
    const Piece piece = next_piece(stored.weight, at, last, weight.codec->row_granule());
    const std::span<float> values = values_.take(piece.elements());
    reader_.read(piece, values);
    const std::span<std::byte> bytes = bytes_.take(dense_bytes(dtype, piece.elements()));
    const std::span<std::byte> out[] = {bytes};
    ValueReport exact_by_construction;
    weight.dense->encode(piece, values, nullptr, out, exact_by_construction);
    if (must_check(weight)) check_kept(weight, piece, values, bytes);
    file_.write(begin + dense_bytes(dtype, at), bytes);
    at += piece.elements();
    progress_.advance(bytes.size());
  }
}

void UnpackWorker::write_bytes(const UnpackedWeight& weight, std::uint64_t begin,
                               std::uint64_t unit) {
  const StoredWeight& stored = *weight.stored;
  bytes_reader_.read_from(*weight.file);
  const StoredComponent& component = stored.components.front();
  const std::uint64_t first = unit * kUnit;
  const std::uint64_t last = first + std::min(kUnit, component.component.bytes - first);
  for (std::uint64_t at = first; at < last;) {
    const std::span<std::byte> bytes = bytes_.take(std::min(kCopyBytes, last - at));
    bytes_reader_.read(stored, component, at, bytes);
    file_.write(begin + at, bytes);
    at += bytes.size();
    progress_.advance(bytes.size());
  }
}

/// Nothing is rounded: what was written must be what was decoded.
void UnpackWorker::check_kept(const UnpackedWeight& weight, const Piece& piece,
                              std::span<const float> values, std::span<const std::byte> bytes) {
  const std::span<float> kept = kept_.take(values.size());
  const std::span<const std::byte> in[] = {bytes};
  weight.dense->decode(piece, in, kept);
  const auto same = [](float a, float b) {
    return std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b) ||
           (std::isnan(a) && std::isnan(b));
  };
  const auto [value, other] = std::mismatch(values.begin(), values.end(), kept.begin(), same);
  if (value == values.end()) return;
  const auto at = piece.first_element + static_cast<std::uint64_t>(value - values.begin());
  throw_codec_fault(weight.codec->info(), weight.stored->weight.path,
                    "decode gives a value that the source's dtype does not hold, and the codec "
                    "claims to store that dtype exactly",
                    fmt::format("{} at element {}", *value, at),
                    std::string(dtype_name(*weight.dense->info().dense_dtype)));
}

}  // namespace synps
