#include "compare_sources.h"

#include <algorithm>
#include <numeric>

#include "pieces.h"
#include "synps/checked.h"
#include "synps/error.h"

namespace synps {
namespace {

/// Where a row may be cut so that both codecs can read the parts; 0: nowhere.
std::uint64_t common_granule(const Codec& a, const Codec& b, std::uint64_t columns) {
  const std::uint64_t first = a.row_granule();
  const std::uint64_t second = b.row_granule();
  if (first == 0 || second == 0) return 0;
  const auto both = checked_mul(first / std::gcd(first, second), second);
  return both && *both < columns ? *both : 0;
}

}  // namespace

std::vector<std::uint64_t> component_sizes(const SourceTensor& tensor) {
  if (tensor.stored == nullptr) return {tensor.bytes};
  std::vector<std::uint64_t> sizes;
  for (const StoredComponent& stored : tensor.stored->components)
    sizes.push_back(stored.component.bytes);
  return sizes;
}

std::optional<FirstDifference> SourceComparer::compare_bytes(const ComparedTensor& reference,
                                                             const ComparedTensor& other) {
  const std::vector<std::uint64_t> sizes = component_sizes(*reference.tensor);
  for (std::size_t i = 0; i < sizes.size(); ++i)
    if (auto difference = compare_component(reference, other, i, sizes[i])) return difference;
  return std::nullopt;
}

std::optional<FirstDifference> SourceComparer::compare_component(const ComparedTensor& reference,
                                                                 const ComparedTensor& other,
                                                                 std::size_t component,
                                                                 std::uint64_t bytes) {
  for (std::uint64_t at = 0; at < bytes;) {
    const std::uint64_t size = std::min(kCopyBytes, bytes - at);
    const auto wanted = reference_.read_bytes(reference, component, at, size);
    const auto found = other_.read_bytes(other, component, at, size);
    progress_.advance(2 * size);
    if (auto difference = first_difference(wanted, found, at)) return difference;
    at += size;
  }
  return std::nullopt;
}

std::span<const std::byte> SourceComparer::Side::read_bytes(const ComparedTensor& from,
                                                            std::size_t component,
                                                            std::uint64_t offset,
                                                            std::uint64_t size) {
  const std::span<std::byte> out = reader.buffer().take(size);
  const StoredWeight* const stored = from.tensor->stored;
  if (stored == nullptr || stored->components[component].order == Order::rows1) {
    reader.tensors().read(*from.checkpoint, *from.tensor, component, offset, out);
    return out;
  }
  if (from.layout == nullptr)
    throw Error({.code = ErrorCode::artifact,
                 .file = from.checkpoint->file_of(*from.tensor).path(),
                 .what = "bytes in an order of blocks, and no codec has such blocks",
                 .field = from.tensor->weight.path});
  reader.tensors().read_rows1(*from.checkpoint, *from.tensor, *from.layout, component, offset, out);
  return out;
}

std::span<float> SourceComparer::Side::read(const ComparedTensor& from, const Piece& piece) {
  const std::span<float> out = values.take(piece.elements());
  ValueReport narrowing;  // told when packing; here it shows as an error of values
  reader.read(*from.checkpoint, *from.tensor, *from.codec, from.scale, piece, out, narrowing);
  return out;
}

ValueComparison SourceComparer::compare_values(const ComparedTensor& reference,
                                               const ComparedTensor& other) {
  ValueComparison comparison;
  const Weight& weight = reference.tensor->weight;
  const std::uint64_t elements = weight.shape.elements();
  const std::uint64_t granule =
      common_granule(*reference.codec, *other.codec, weight.shape.columns());
  const bool wide = stores_f64(*reference.tensor);
  const bool other_wide = stores_f64(*other.tensor);
  for (std::uint64_t at = 0; at < elements;) {
    const Piece piece = next_piece(weight, at, elements, granule);
    const auto f64 = [&piece](Side& side, const ComparedTensor& from) {
      return side.f64_reader.read(*from.checkpoint, *from.tensor, piece);
    };
    if (wide && other_wide)
      comparison.add(f64(reference_, reference), f64(other_, other));
    else if (wide)
      comparison.add(f64(reference_, reference), other_.read(other, piece));
    else if (other_wide)
      comparison.add(reference_.read(reference, piece), f64(other_, other));
    else
      comparison.add(reference_.read(reference, piece), other_.read(other, piece));
    at += piece.elements();
    progress_.advance(reference.tensor->bytes_of(piece.elements()) +
                      other.tensor->bytes_of(piece.elements()));
  }
  return comparison;
}

void CompareNeed::add(const ComparedTensor& reference, const ComparedTensor& other) {
  for (const ComparedTensor* side : {&reference, &other})
    if (side->tensor->stored != nullptr)
      stored_ = std::max(stored_, tensor_reader_bytes(*side->tensor->stored));
  if (reference.codec == nullptr || other.codec == nullptr) return;
  const Weight& weight = reference.tensor->weight;
  const std::uint64_t elements = weight.shape.elements();
  const std::uint64_t piece = largest_piece(
      weight, elements, common_granule(*reference.codec, *other.codec, weight.shape.columns()));
  add_side(reference, piece);
  add_side(other, piece);
}

void CompareNeed::add_side(const ComparedTensor& side, std::uint64_t piece) {
  const std::uint64_t floats = saturating_mul(piece, sizeof(float));
  floats_ = std::max(floats_, floats);
  if (stores_f64(*side.tensor)) wide_ = std::max(wide_, saturating_mul(piece, kF64ReaderBytes));
  if (side.scale)
    scales_ = std::max(scales_, scale_numbers(side.tensor->weight.shape, side.scale->form, piece));
  if (!side.codec->info().file.empty()) packages_ = std::max(packages_, saturating_mul(floats, 2));
}

std::uint64_t CompareNeed::bytes() const noexcept {
  // Of a side: values, and a reader's bytes and values of blocks.
  std::uint64_t side = saturating_add(saturating_mul(floats_, 3), kCopyBytes);
  side = saturating_add(side, saturating_mul(scales_, kScaleNumberBytes));
  side = saturating_add(side, saturating_add(wide_, packages_));
  return saturating_mul(saturating_add(side, stored_), 2);
}

}  // namespace synps
