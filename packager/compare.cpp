#include "compare.h"

#include <algorithm>
#include <bit>

#include <fmt/format.h>

#include "error_sums.h"
#include "memory_model.h"
#include "pieces.h"
#include "scale_reader.h"
#include "source_reader.h"
#include "stored_reader.h"
#include "synps/checked.h"
#include "synps/plan.h"
#include "synps/stored_codec.h"
#include "value_problems.h"

namespace synps {
namespace {

/// Whether the weight is kept in the source's own packed blocks.
bool stores_same_blocks(const StoredWeight& stored, const SourceTensor& tensor) {
  return !stored.codec.is_keep() && stored.codec.id() == tensor.encoding &&
         stored.components.size() == 1 && stored.components.front().component.bytes == tensor.bytes;
}

}  // namespace

std::uint64_t compare_buffers(const std::vector<StoredWeight>& weights,
                              const CodecRegistry& codecs) {
  std::vector<std::uint64_t> stored;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  std::uint64_t inflater = 0;  // of what is compared by bytes
  std::uint64_t groups = 0;    // of eight rows, likewise
  std::uint64_t scales = 0;    // numbers
  std::uint64_t packages = 0;  // the copies that a package's codec gets
  for (const StoredWeight& weight : weights) {
    if (weight.components.size() == 1) {
      bytes = std::max(bytes, std::min(kCopyBytes, weight.components.front().component.bytes));
      if (weight.components.front().compressed()) inflater = kInflaterBytes;
      groups = std::max(groups, rows_buffer(weight.components.front()));
    }
    const Codec* codec = stored_codec(codecs, weight);
    if (codec == nullptr || !component_fault(weight, codec).empty()) continue;
    raise_stored_buffers(weight, *codec, stored);
    const std::uint64_t piece =
        largest_piece(weight.weight, weight.weight.shape.elements(), codec->row_granule());
    const std::uint64_t floats = saturating_mul(piece, sizeof(float));
    values = std::max(values, floats);
    // Of packed blocks their bytes, and their values where a piece ends within one.
    source = std::max(source, weight.source == encoding_name(weight.weight.dtype)
                                  ? dense_bytes(weight.weight.dtype, piece)
                                  : saturating_mul(floats, 2));
    if (weight.scale && weight.scale->folded)
      scales = std::max(scales, scale_numbers(weight.weight.shape, weight.scale->form, piece));
    if (!codec->info().file.empty()) packages = std::max(packages, saturating_mul(floats, 2));
  }
  std::uint64_t total = saturating_add(std::max(source, bytes), saturating_add(bytes, inflater));
  total = saturating_add(total, groups);
  for (const std::uint64_t buffer : stored) total = saturating_add(total, buffer);
  total = saturating_add(total, saturating_mul(scales, kScaleNumberBytes));
  return saturating_add(total, saturating_add(saturating_mul(values, 2), packages));
}

auto WeightComparer::compare_bytes(const SourceTensor& tensor, const StoredWeight& weight,
                                   const RowBlocks& shape) -> std::optional<Difference> {
  for (std::uint64_t at = 0; at < tensor.bytes;) {
    const std::uint64_t size = std::min(kCopyBytes, tensor.bytes - at);
    const std::span<std::byte> source = source_reader_.buffer().take(size);
    const std::span<std::byte> stored = stored_bytes_.take(size);
    checkpoint_.read(tensor, at, source);
    bytes_reader_->read(weight, weight.components.front(), shape, at, stored);
    progress_.advance(size);
    const auto [a, b] = std::mismatch(source.begin(), source.end(), stored.begin());
    if (a != source.end())
      return Difference{fmt::format("byte {}", at + static_cast<std::uint64_t>(a - source.begin())),
                        fmt::format("0x{:02x}", std::to_integer<unsigned>(*b)),
                        fmt::format("0x{:02x}", std::to_integer<unsigned>(*a))};
    at += size;
  }
  return std::nullopt;
}

auto WeightComparer::compare_values(const SourceTensor& tensor, const StoredWeight& weight,
                                    const Codec& source_codec, const Codec& codec,
                                    const std::optional<FoldedScale>& scale, WeightError& error)
    -> std::optional<Difference> {
  require_components(*file_, weight, codec);
  stored_reader_.start(*file_, weight, codec);
  ErrorSums sums;
  std::optional<Difference> first;
  const std::uint64_t elements = weight.weight.shape.elements();
  for (std::uint64_t at = 0; at < elements;) {
    const Piece piece = next_piece(weight.weight, at, elements, codec.row_granule());
    const std::span<float> source = source_values_.take(piece.elements());
    const std::span<float> stored = stored_values_.take(piece.elements());
    ValueReport narrowing;  // told when packing; here it shows as an error of values
    source_reader_.read(checkpoint_, tensor, source_codec, scale, piece, source, narrowing);
    stored_reader_.read(piece, stored);
    for (std::size_t i = 0; i < source.size(); ++i) {
      sums.add(source[i], stored[i]);
      if (!first &&
          std::bit_cast<std::uint32_t>(source[i]) != std::bit_cast<std::uint32_t>(stored[i]))
        first = Difference{"element " + element_text(weight.weight.shape, at + i),
                           value_text(stored[i]), value_text(source[i])};
    }
    at += piece.elements();
    progress_.advance(tensor.bytes_of(piece.elements()));
  }
  sums.store(error);
  return first;
}

Problem WeightComparer::difference_problem(const StoredWeight& stored,
                                           const Difference& difference) const {
  return {.code = ErrorCode::artifact,
          .file = file_->path(),
          .what = "a lossless weight differs from its source at " + difference.where,
          .field = stored.weight.path,
          .found = difference.stored,
          .want = difference.source};
}

/// Compares what the stored encoding allows: its bytes, where they are the source's, or values.
/// Throws Error(package) or Error(artifact) where neither can be had.
auto WeightComparer::compare_what_can_be(const SourceTensor& tensor, const StoredWeight& stored,
                                         WeightError& error) -> std::optional<Difference> {
  const Codec* source = source_codec(codecs_, weight_facts(tensor));
  const Codec* codec = require_stored_codec(codecs_, stored, file_->path());
  error.compared = codec != nullptr && source != nullptr;
  const bool packed_source = source != nullptr && !source->info().dense && !stored.codec.is_keep();
  if (packed_source ? stores_same_blocks(stored, tensor) : stored_as_source(stored)) {
    RowBlocks shape;
    if (stored.components.front().order != Order::rows1) {
      require_components(*file_, stored, *codec);
      shape = row_blocks(*codec, stored, 0);
    }
    std::optional<Difference> difference = compare_bytes(tensor, stored, shape);
    // Only for how far it is off: equal values do not make unequal bytes equal.
    if (difference && error.compared)
      compare_values(tensor, stored, *source, *codec, std::nullopt, error);
    return difference;
  }
  const bool folded = stored.scale && stored.scale->folded;
  const auto scale = folded ? folded_scale(checkpoint_, tensor, codecs_) : std::nullopt;
  if (folded && !scale) error.compared = false;
  if (!error.compared)
    throw Error({.code = ErrorCode::artifact,
                 .file = file_->path(),
                 .what = "nothing here decodes this weight, to compare it",
                 .field = stored.weight.path,
                 .found = stored.codec.id()});
  return compare_values(tensor, stored, *source, *codec, scale, error);
}

WeightComparison WeightComparer::compare(const SourceTensor& tensor, const ArtifactReader& file,
                                         const StoredWeight& stored) {
  file_ = &file;
  if (!bytes_reader_) bytes_reader_.emplace(file);
  bytes_reader_->read_from(file);
  WeightComparison result;
  result.error.path = stored.weight.path;
  result.error.codec = stored.codec.id();
  result.error.lossless = stored.lossless;
  try {
    const auto difference = compare_what_can_be(tensor, stored, result.error);
    result.error.exact = !difference.has_value();
    if (difference && stored.lossless)
      result.problems.push_back(difference_problem(stored, *difference));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::artifact) throw;
    result.error.compared = result.error.exact = false;
    result.problems = error.problems();
  }
  return result;
}

}  // namespace synps
