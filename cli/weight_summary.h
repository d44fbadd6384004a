#pragma once

#include <string>
#include <vector>

#include "synps/json_writer.h"
#include "weight_report.h"
#include "weight_table.h"

namespace synps::cli {

/// Weights with the same codec, all lossless or all lossy.
struct CodecTotal {
  std::string codec;  ///< `package:export`, or "keep"
  bool lossless = true;
  std::uint64_t weights = 0;
  std::uint64_t elements = 0;
  std::uint64_t source_bytes = 0;
  std::uint64_t bytes = 0;
};
/// By falling bytes, then codec.
std::vector<CodecTotal> totals_by_codec(const WeightReport& report);

/// Weights whose codec was replaced by the fallback for the same reason.
struct FallbackGroup {
  std::string wanted;
  std::string used;
  std::uint64_t columns = 0;  ///< row length that they share
  std::string reason;         ///< of the first one; "" when unknown
  std::vector<std::string> paths;
};
/// By codec and row length.
std::vector<FallbackGroup> fallback_groups(const WeightReport& report);

/// Of weights, key-values of the source left out.
struct BitTotal {
  std::uint64_t elements = 0;
  std::uint64_t source_bytes = 0;
  std::uint64_t bytes = 0;
};
BitTotal bit_total(const WeightReport& report);

// Parts of a report for people.
/// What compression comes to, behind a label of `width` columns; "" where nothing is compressed.
std::string compression_text(const WeightReport& report, std::size_t width = 10);
std::string codec_totals_text(const WeightReport& report, std::size_t width);
std::string fallbacks_text(const std::vector<FallbackGroup>& groups, std::size_t width);
std::string fallbacks_text(const WeightReport& report, std::size_t width);
std::vector<WeightLine> weight_lines(const WeightReport& report);

// Parts of a report for programs: a value each.
void write_compression(JsonWriter& json, const WeightReport& report);
void write_codec_totals(JsonWriter& json, const WeightReport& report);
void write_fallbacks(JsonWriter& json, const std::vector<FallbackGroup>& groups);
void write_fallbacks(JsonWriter& json, const WeightReport& report);
/// The fields of a weight that plan and inspect share, inside an object.
void write_weight_fields(JsonWriter& json, const ReportedWeight& weight);
/// Bits that each of `elements` takes; null when there are none.
void write_bits(JsonWriter& json, std::uint64_t bytes, std::uint64_t elements);
void write_shape(JsonWriter& json, const Shape& shape);

}  // namespace synps::cli
