#include "compare.h"

#include <algorithm>

#include <fmt/format.h>

#include "f64_reader.h"
#include "memory_model.h"
#include "pieces.h"
#include "scale_reader.h"
#include "source_reader.h"
#include "stored_reader.h"
#include "synps/checked.h"
#include "synps/plan.h"
#include "synps/stored_codec.h"
#include "value_comparison.h"

namespace synps {
namespace {

/// Whether the weight is kept in the source's own packed blocks.
bool stores_same_blocks(const StoredWeight& stored, const SourceTensor& tensor) {
  return !stored.codec.is_keep() && stored.codec.id() == tensor.encoding &&
         stored.components.size() == 1 && stored.components.front().component.bytes == tensor.bytes;
}

}  // namespace

WeightError describe_error(const StoredWeight& stored) {
  WeightError error;
  error.path = stored.weight.path;
  error.codec = stored.codec.id();
  error.source = stored.source;
  error.lossless = stored.lossless;
  for (const StoredComponent& component : stored.components)
    error.bytes += component.compressed() ? component.stored_bytes : component.component.bytes;
  return error;
}

std::uint64_t compare_buffers(const std::vector<StoredWeight>& weights,
                              const CodecRegistry& codecs) {
  std::vector<std::uint64_t> stored;
  std::uint64_t source = 0;
  std::uint64_t bytes = 0;
  std::uint64_t values = 0;
  std::uint64_t inflater = 0;  // of what is compared by bytes
  std::uint64_t groups = 0;    // of eight rows, likewise
  std::uint64_t scales = 0;    // numbers
  std::uint64_t wide = 0;      // f64
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
    if (weight.source == encoding_name(DType::f64))
      wide = std::max(wide, saturating_mul(piece, kF64ReaderBytes));
    // Of packed blocks their bytes, and their values where a piece ends within one.
    source = std::max(source, weight.source == encoding_name(weight.weight.dtype)
                                  ? dense_bytes(weight.weight.dtype, piece)
                                  : saturating_mul(floats, 2));
    if (weight.scale && weight.scale->folded)
      scales = std::max(scales, scale_numbers(weight.weight.shape, weight.scale->form, piece));
    if (!codec->info().file.empty()) packages = std::max(packages, saturating_mul(floats, 2));
  }
  std::uint64_t total = saturating_add(std::max(source, bytes), saturating_add(bytes, inflater));
  total = saturating_add(total, saturating_add(groups, wide));
  for (const std::uint64_t buffer : stored) total = saturating_add(total, buffer);
  total = saturating_add(total, saturating_mul(scales, kScaleNumberBytes));
  return saturating_add(total, saturating_add(saturating_mul(values, 2), packages));
}

auto WeightComparer::compare_bytes(const SourceTensor& tensor, const StoredWeight& weight,
                                   const RowBlocks& shape) -> std::optional<FirstDifference> {
  for (std::uint64_t at = 0; at < tensor.bytes;) {
    const std::uint64_t size = std::min(kCopyBytes, tensor.bytes - at);
    const std::span<std::byte> source = source_reader_.buffer().take(size);
    const std::span<std::byte> stored = stored_bytes_.take(size);
    checkpoint_.read(tensor, at, source);
    bytes_reader_->read(weight, weight.components.front(), shape, at, stored);
    progress_.advance(size);
    if (auto difference = first_difference(source, stored, at)) return difference;
    at += size;
  }
  return std::nullopt;
}

auto WeightComparer::compare_values(const SourceTensor& tensor, const StoredWeight& weight,
                                    const Codec& source_codec, const Codec& codec,
                                    const std::optional<FoldedScale>& scale, WeightError& error)
    -> std::optional<FirstDifference> {
  require_components(*file_, weight, codec);
  stored_reader_.start(*file_, weight, codec);
  ValueComparison comparison;
  const std::uint64_t elements = weight.weight.shape.elements();
  for (std::uint64_t at = 0; at < elements;) {
    const Piece piece = next_piece(weight.weight, at, elements, codec.row_granule());
    const std::span<float> stored = stored_values_.take(piece.elements());
    stored_reader_.read(piece, stored);
    if (stores_f64(tensor)) {
      comparison.add(f64_reader_.read(checkpoint_, tensor, piece), stored);
    } else {
      const std::span<float> source = source_values_.take(piece.elements());
      ValueReport narrowing;  // told when packing; here it shows as an error of values
      source_reader_.read(checkpoint_, tensor, source_codec, scale, piece, source, narrowing);
      comparison.add(source, stored);
    }
    at += piece.elements();
    progress_.advance(tensor.bytes_of(piece.elements()));
  }
  static_cast<ErrorFigures&>(error) = comparison.sums().figures();
  return comparison.first(weight.weight.shape);
}

Problem WeightComparer::difference_problem(const StoredWeight& stored,
                                           const FirstDifference& difference) const {
  return {.code = ErrorCode::artifact,
          .file = file_->path(),
          .what = "a lossless weight differs from its source at " + difference.where,
          .field = stored.weight.path,
          .found = difference.value,
          .want = difference.reference};
}

/// Compares what the stored encoding allows: its bytes, where they are the source's, or values.
/// Throws Error(package) or Error(artifact) where neither can be had.
auto WeightComparer::compare_what_can_be(const SourceTensor& tensor, const StoredWeight& stored,
                                         WeightError& error) -> std::optional<FirstDifference> {
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
    std::optional<FirstDifference> difference = compare_bytes(tensor, stored, shape);
    if (!difference) static_cast<ErrorFigures&>(error) = no_error(tensor.weight.shape.elements());
    if (!difference || !error.compared) return difference;
    const auto of_values = compare_values(tensor, stored, *source, *codec, std::nullopt, error);
    // Equal values do not make unequal bytes equal of what was copied.
    const bool copied = stored.form.encoding.kind == Encoding::Kind::keep_as_stored;
    return copied ? difference : of_values;
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
  result.error = describe_error(stored);
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
