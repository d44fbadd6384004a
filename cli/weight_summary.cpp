#include "weight_summary.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

#include "json_text.h"
#include "path_folding.h"
#include "scale_notes.h"
#include "synps/error.h"
#include "synps/stored_codec.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

/// Rows of paths that a note names before it only counts the rest.
constexpr std::size_t kShownPaths = 4;

std::string codec_label(const std::string& id) {
  return id == CodecRef::keep().name ? "kept as stored" : short_codec(id);
}

}  // namespace

std::vector<CodecTotal> totals_by_codec(const WeightReport& report) {
  std::map<std::pair<std::string, bool>, CodecTotal> totals;
  for (const ReportedWeight& weight : report.weights) {
    const StoredWeight& stored = *weight.stored;
    CodecTotal& total = totals[{stored.codec.id(), weight.lossless}];
    total.codec = stored.codec.id();
    total.lossless = weight.lossless;
    total.weights += 1;
    total.elements += elements_of(stored);
    total.source_bytes += weight.source_bytes;
    total.bytes += weight.bytes;
  }
  std::vector<CodecTotal> out;
  for (auto& entry : totals) out.push_back(std::move(entry.second));
  std::stable_sort(out.begin(), out.end(),
                   [](const CodecTotal& a, const CodecTotal& b) { return a.bytes > b.bytes; });
  return out;
}

std::vector<FallbackGroup> fallback_groups(const WeightReport& report) {
  std::map<std::tuple<std::string, std::string, std::uint64_t>, FallbackGroup> groups;
  for (const ReportedWeight& weight : report.weights) {
    if (!weight.fallback) continue;
    const StoredWeight& stored = *weight.stored;
    const std::string& wanted = stored.scheme->format;
    const std::uint64_t columns = stored.weight.shape.columns();
    FallbackGroup& group = groups[{wanted, stored.codec.id(), columns}];
    if (group.paths.empty()) group.reason = weight.fallback_reason;
    group.wanted = wanted;
    group.used = stored.codec.id();
    group.columns = columns;
    group.paths.push_back(stored.weight.path);
  }
  std::vector<FallbackGroup> out;
  for (auto& entry : groups) out.push_back(std::move(entry.second));
  return out;
}

BitTotal bit_total(const WeightReport& report) {
  BitTotal total;
  for (const ReportedWeight& weight : report.weights) {
    if (is_key_value_encoding(weight.stored->source)) continue;
    total.elements += elements_of(*weight.stored);
    total.source_bytes += weight.source_bytes;
    total.bytes += weight.bytes;
  }
  return total;
}

std::string codec_totals_text(const WeightReport& report, std::size_t width) {
  using enum Table::Align;
  Table table({{"CODEC", left},
               {"WEIGHTS", right},
               {"SOURCE BYTES", right},
               {"BYTES", right},
               {"BITS", right},
               {"VALUES", left}});
  for (const CodecTotal& total : totals_by_codec(report))
    table.add({codec_label(total.codec), grouped(total.weights), grouped(total.source_bytes),
               grouped(total.bytes), bits_each(total.bytes, total.elements),
               total.lossless ? "lossless" : "lossy"});
  return table.render(width);
}

std::string fallbacks_text(const std::vector<FallbackGroup>& groups, std::size_t width) {
  std::string out;
  for (const FallbackGroup& group : groups) {
    std::string line = fmt::format(
        "fallback: {} with rows of {}: {} instead of {}", counted(group.paths.size(), "weight"),
        counted(group.columns, "element"), short_codec(group.used), short_codec(group.wanted));
    if (!group.reason.empty()) line += " (" + escape_for_display(group.reason) + ")";
    out += wrapped(line, width, 4) + "\n";
    std::vector<FoldItem> items;
    for (const std::string& path : group.paths) items.push_back({path, ""});
    const std::vector<FoldedRow> rows = fold_paths(items);
    for (std::size_t i = 0; i < rows.size() && i < kShownPaths; ++i)
      out += "    " + escape_for_display(rows[i].pattern) + "\n";
    if (rows.size() > kShownPaths) {
      std::size_t rest = 0;
      for (std::size_t i = kShownPaths; i < rows.size(); ++i) rest += rows[i].members.size();
      out += fmt::format("    ... and {}\n", counted(rest, "more weight"));
    }
  }
  return out;
}

std::string fallbacks_text(const WeightReport& report, std::size_t width) {
  return fallbacks_text(fallback_groups(report), width);
}

std::string compression_text(const WeightReport& report, std::size_t width) {
  const CompressionTotal total = compression_total(report);
  if (total.weights == 0) return {};
  return fmt::format("  {:{}}{}{} of {} in {}, {}\n", "frames", width,
                     report.sizes_are_bounds ? "at most " : "", exact_bytes(total.stored),
                     human_bytes(total.inflated), counted(total.weights, "weight"),
                     percent(total.stored, total.inflated));
}

void write_compression(JsonWriter& json, const WeightReport& report) {
  const CompressionTotal total = compression_total(report);
  if (total.weights == 0) {
    json.null();
    return;
  }
  json.begin_object().key("weights").integer(total.weights);
  json.key("inflated_bytes").integer(total.inflated);
  json.key("bytes").integer(total.stored);
  json.key("bytes_exact").boolean(!report.sizes_are_bounds).end_object();
}

std::vector<WeightLine> weight_lines(const WeightReport& report) {
  std::vector<WeightLine> lines;
  for (const ReportedWeight& weight : report.weights) {
    const Weight& logical = weight.stored->weight;
    lines.push_back({logical.path, describe(weight), shape_of(weight).to_string(),
                     elements_of(*weight.stored), weight.bytes});
  }
  return lines;
}

void write_codec_totals(JsonWriter& json, const WeightReport& report) {
  json.begin_array();
  for (const CodecTotal& total : totals_by_codec(report)) {
    json.begin_object().key("codec").string(total.codec);
    json.key("lossless").boolean(total.lossless);
    json.key("weights").integer(total.weights);
    json.key("source_bytes").integer(total.source_bytes);
    json.key("bytes").integer(total.bytes);
    json.key("elements").integer(total.elements);
    json.key("bits_per_weight");
    write_bits(json, total.bytes, total.elements);
    json.end_object();
  }
  json.end_array();
}

void write_fallbacks(JsonWriter& json, const std::vector<FallbackGroup>& groups) {
  json.begin_array();
  for (const FallbackGroup& group : groups) {
    json.begin_object().key("wanted").string(group.wanted);
    json.key("codec").string(group.used);
    json.key("columns").integer(group.columns);
    json.key("reason");
    string_or_null(json, group.reason);
    json.key("paths").begin_array();
    for (const std::string& path : group.paths) json.string(path);
    json.end_array().end_object();
  }
  json.end_array();
}

void write_fallbacks(JsonWriter& json, const WeightReport& report) {
  write_fallbacks(json, fallback_groups(report));
}

void write_bits(JsonWriter& json, std::uint64_t bytes, std::uint64_t elements) {
  if (elements == 0)
    json.null();
  else
    json.number(8 * static_cast<double>(bytes) / static_cast<double>(elements));
}

void write_shape(JsonWriter& json, const Shape& shape) {
  json.begin_array();
  for (const std::uint64_t extent : shape.extents()) json.integer(extent);
  json.end_array();
}

void write_weight_fields(JsonWriter& json, const ReportedWeight& weight) {
  const StoredWeight& stored = *weight.stored;
  json.key("path").string(stored.weight.path);
  json.key("shape");
  write_shape(json, shape_of(weight));
  json.key("source").string(stored.source);
  json.key("codec").string(stored.codec.id());
  json.key("encoding").string(to_string(stored.form.encoding));
  if (weight.gguf_type != nullptr) json.key("type").string(weight.gguf_type->name);
  json.key("order").string(to_string(stored.form.order));
  // A GGUF file says nothing of these.
  const auto unless_gguf = [&](std::string_view key, std::string_view value) {
    json.key(key);
    weight.gguf_type != nullptr ? json.null() : json.string(value);
  };
  unless_gguf("orientation", to_string(stored.form.orientation));
  unless_gguf("residency", to_string(stored.form.residency));
  json.key("compress").string(to_string(shown_compression(stored)));
  unless_gguf("device", stored.device);
  json.key("lossless").boolean(weight.lossless);
  json.key("source_bytes").integer(weight.source_bytes);
  json.key("bytes").integer(weight.bytes);
  json.key("bytes_exact").boolean(!weight.bytes_are_bound);
  json.key("policy");
  weight.policy.empty() ? json.null() : json.string(weight.policy);
  if (weight.source != nullptr) json.key("from").string(stored_in(*weight.source));
  if (!stored.history.empty()) {
    json.key("history").begin_array();
    for (const CodecRef& step : stored.history) json.string(step.id());
    json.end_array();
  }
  if (!stored.scale) return;
  json.key("scale");
  write_scale(json, *stored.scale);
}

}  // namespace synps::cli
