#include "compare.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>

#include <fmt/format.h>

#include "buffer.h"
#include "pieces.h"
#include "source_reader.h"
#include "stored_reader.h"
#include "synps/component_reader.h"
#include "synps/plan.h"
#include "value_problems.h"

namespace synps {
namespace {

/// The first place where stored and source differ.
struct Difference {
  std::string where;
  std::string stored;
  std::string source;
};

/// Errors of values, summed one by one in flat order, so that they do not depend on pieces.
class ErrorSums {
 public:
  void add(float source, float stored) noexcept {
    ++count_;
    if (std::isfinite(source)) signal_ += static_cast<double>(source) * source;
    const double error = error_of(source, stored);
    max_ = std::max(max_, error);
    noise_ += error * error;
  }

  void store(WeightError& error) const {
    error.max_abs_error = max_;
    error.rmse = count_ == 0 ? 0 : std::sqrt(noise_ / static_cast<double>(count_));
    if (noise_ > 0 && std::isfinite(noise_) && signal_ > 0)
      error.snr_db = 10 * std::log10(signal_ / noise_);
  }

 private:
  /// Two NaN, or two equal infinities, are no error; anything else that is not finite is one
  /// without bound.
  static double error_of(float source, float stored) noexcept {
    if (source == stored || (std::isnan(source) && std::isnan(stored))) return 0;
    const double error = std::abs(static_cast<double>(source) - static_cast<double>(stored));
    return std::isnan(error) ? std::numeric_limits<double>::infinity() : error;
  }

  std::uint64_t count_ = 0;
  double signal_ = 0;  ///< sum of squares of the source
  double noise_ = 0;   ///< sum of squares of the errors
  double max_ = 0;
};

/// One weight being compared.
class Comparer {
 public:
  Comparer(const Checkpoint& checkpoint, const SourceTensor& tensor, const ArtifactReader& artifact,
           const StoredWeight& stored, Progress& progress)
      : checkpoint_(checkpoint),
        tensor_(tensor),
        artifact_(artifact),
        stored_(stored),
        progress_(progress) {}

  std::optional<Difference> bytes();
  std::optional<Difference> values(const Codec& source_codec, const Codec& stored_codec,
                                   const std::optional<FoldedScale>& scale, WeightError& error);

 private:
  const Checkpoint& checkpoint_;
  const SourceTensor& tensor_;
  const ArtifactReader& artifact_;
  const StoredWeight& stored_;
  Progress& progress_;
};

std::optional<Difference> Comparer::bytes() {
  Buffer<std::byte> source_buffer;
  Buffer<std::byte> stored_buffer;
  ComponentReader reader(artifact_);
  for (std::uint64_t at = 0; at < tensor_.bytes;) {
    const std::uint64_t size = std::min(kCopyBytes, tensor_.bytes - at);
    const std::span<std::byte> source = source_buffer.take(size);
    const std::span<std::byte> stored = stored_buffer.take(size);
    checkpoint_.read(tensor_, at, source);
    reader.read(stored_, stored_.components.front(), at, stored);
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

std::optional<Difference> Comparer::values(const Codec& source_codec, const Codec& codec,
                                           const std::optional<FoldedScale>& scale,
                                           WeightError& error) {
  StoredReader reader(artifact_, stored_, codec);
  SourceReader source_reader;
  Buffer<float> source_buffer;
  Buffer<float> stored_buffer;
  ErrorSums sums;
  std::optional<Difference> first;
  const std::uint64_t elements = stored_.weight.shape.elements();
  for (std::uint64_t at = 0; at < elements;) {
    const Piece piece = next_piece(stored_.weight, at, elements, codec.row_granule());
    const std::span<float> source = source_buffer.take(piece.elements());
    const std::span<float> stored = stored_buffer.take(piece.elements());
    ValueReport narrowing;  // told when packing; here it shows as an error of values
    source_reader.read(checkpoint_, tensor_, source_codec, scale, piece, source, narrowing);
    reader.read(piece, stored);
    for (std::size_t i = 0; i < source.size(); ++i) {
      sums.add(source[i], stored[i]);
      if (!first &&
          std::bit_cast<std::uint32_t>(source[i]) != std::bit_cast<std::uint32_t>(stored[i]))
        first = Difference{"element " + element_text(stored_.weight.shape, at + i),
                           value_text(stored[i]), value_text(source[i])};
    }
    at += piece.elements();
    progress_.advance(tensor_.bytes_of(piece.elements()));
  }
  sums.store(error);
  return first;
}

Problem difference_problem(const ArtifactReader& artifact, const StoredWeight& stored,
                           const Difference& difference) {
  return {.code = ErrorCode::artifact,
          .file = artifact.path(),
          .what = "a lossless weight differs from its source at " + difference.where,
          .field = stored.weight.path,
          .found = difference.stored,
          .want = difference.source};
}

/// Whether the weight is kept in the source's own packed blocks.
bool stores_same_blocks(const StoredWeight& stored, const SourceTensor& tensor) {
  return !stored.codec.is_keep() && stored.codec.id() == tensor.encoding &&
         stored.components.size() == 1 && stored.components.front().component.bytes == tensor.bytes;
}

/// Compares what the stored encoding allows: its bytes, where they are the source's, or values.
/// Throws Error(package) or Error(artifact) where neither can be had.
std::optional<Difference> compare_with(Comparer& comparer, const Checkpoint& checkpoint,
                                       const SourceTensor& tensor, const CodecRegistry& codecs,
                                       const ArtifactReader& artifact, const StoredWeight& stored,
                                       WeightError& error) {
  const Codec* source = source_codec(codecs, weight_facts(tensor));
  const Codec* codec = require_stored_codec(codecs, stored, artifact.path());
  error.compared = codec != nullptr && source != nullptr;
  const bool packed_source = source != nullptr && !source->info().dense && !stored.codec.is_keep();
  if (packed_source ? stores_same_blocks(stored, tensor) : stored_as_source(stored)) {
    std::optional<Difference> difference = comparer.bytes();
    // Only for how far it is off: equal values do not make unequal bytes equal.
    if (difference && error.compared) comparer.values(*source, *codec, std::nullopt, error);
    return difference;
  }
  const bool folded = stored.scale && stored.scale->folded;
  const auto scale = folded ? folded_scale(checkpoint, tensor, codecs) : std::nullopt;
  if (folded && !scale) error.compared = false;
  if (!error.compared)
    throw Error({.code = ErrorCode::artifact,
                 .file = artifact.path(),
                 .what = "nothing here decodes this weight, to compare it",
                 .field = stored.weight.path,
                 .found = stored.codec.id()});
  return comparer.values(*source, *codec, scale, error);
}

}  // namespace

WeightComparison compare_weight(const Checkpoint& checkpoint, const SourceTensor& tensor,
                                const ArtifactReader& artifact, const StoredWeight& stored,
                                const CodecRegistry& codecs, Progress& progress) {
  WeightComparison result;
  result.error.path = stored.weight.path;
  result.error.lossless = stored.lossless;
  Comparer comparer(checkpoint, tensor, artifact, stored, progress);
  try {
    const auto difference =
        compare_with(comparer, checkpoint, tensor, codecs, artifact, stored, result.error);
    result.error.exact = !difference.has_value();
    if (difference && stored.lossless)
      result.problems.push_back(difference_problem(artifact, stored, *difference));
  } catch (const Error& error) {
    if (error.code() != ErrorCode::artifact) throw;
    result.error.compared = result.error.exact = false;
    result.problems = error.problems();
  }
  return result;
}

}  // namespace synps
