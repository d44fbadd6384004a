#include "inspect_output.h"

#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "key_values.h"
#include "scale_notes.h"
#include "shard_list.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "table.h"
#include "text.h"
#include "value_list.h"
#include "weight_report.h"
#include "weight_summary.h"
#include "weight_table.h"

namespace synps::cli {
namespace {

using Metadata = std::map<std::string, std::string>;

std::string metadata_text(const Metadata& metadata) {
  if (metadata.empty()) return "\nNo metadata.\n";
  std::string out = "\nMetadata:\n";
  for (const auto& [key, value] : metadata)
    out += fmt::format("  {} = {}\n", escape_for_display(key), quote(value, 60));
  return out;
}

void write_metadata(JsonWriter& json, const Metadata& metadata) {
  json.begin_object();
  for (const auto& [key, value] : metadata) json.key(key).string(value);
  json.end_object();
}

void write_components(JsonWriter& json, const ArtifactReader& file, const StoredWeight& weight) {
  json.begin_array();
  for (const StoredComponent& stored : weight.components) {
    json.begin_object().key("name").string(stored.component.name);
    json.key("entry").string(stored.entry);
    json.key("dtype").string(encoding_name(stored.component.dtype));
    json.key("shape");
    write_shape(json, stored.component.shape);
    json.key("compression").string(to_string(stored.compression));
    json.key("offset").integer(file.file_offset(stored));
    json.key("bytes").integer(stored.component.bytes);
    json.key("stored_bytes").integer(stored.stored_bytes).end_object();
  }
  json.end_array();
}

/// Weights with the same source encoding.
struct EncodingTotal {
  std::string encoding;
  std::uint64_t weights = 0;
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;

  void add(const SourceTensor& tensor) {
    weights += 1;
    elements += tensor.weight.shape.elements();
    bytes += tensor.bytes;
  }
};

/// By falling bytes, then encoding; the last one is the sum of all.
std::vector<EncodingTotal> totals_by_encoding(const Checkpoint& checkpoint) {
  std::map<std::string, EncodingTotal> totals;
  EncodingTotal all;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    if (is_key_value_encoding(tensor.encoding)) continue;
    EncodingTotal& total = totals[tensor.encoding];
    total.encoding = tensor.encoding;
    total.add(tensor);
    all.add(tensor);
  }
  std::vector<EncodingTotal> out;
  for (auto& entry : totals) out.push_back(std::move(entry.second));
  std::stable_sort(out.begin(), out.end(), [](const EncodingTotal& a, const EncodingTotal& b) {
    return a.bytes > b.bytes;
  });
  out.push_back(std::move(all));
  return out;
}

std::string encoding_totals_text(const std::vector<EncodingTotal>& totals, std::size_t width) {
  using enum Table::Align;
  Table table({{"ENCODING", left}, {"WEIGHTS", right}, {"BYTES", right}, {"BITS", right}});
  for (std::size_t i = 0; i + 1 < totals.size(); ++i)
    table.add({short_codec(totals[i].encoding), grouped(totals[i].weights),
               grouped(totals[i].bytes), bits_each(totals[i].bytes, totals[i].elements)});
  return table.render(width);
}

void write_encoding_totals(JsonWriter& json, const std::vector<EncodingTotal>& totals) {
  json.begin_array();
  for (std::size_t i = 0; i + 1 < totals.size(); ++i) {
    json.begin_object().key("source").string(totals[i].encoding);
    json.key("weights").integer(totals[i].weights);
    json.key("elements").integer(totals[i].elements);
    json.key("bytes").integer(totals[i].bytes);
    json.key("bits_per_weight");
    write_bits(json, totals[i].bytes, totals[i].elements);
    json.end_object();
  }
  json.end_array();
}

/// "1,234 parameters, 8.51 bits each"
std::string density(std::uint64_t elements, std::uint64_t bytes) {
  return fmt::format("{}, {} bits each", counted(elements, "element"), bits_each(bytes, elements));
}

}  // namespace

std::string inspect_text(const ArtifactSet& artifact, const CodecRegistry& codecs, bool all,
                         std::size_t width) {
  const WeightReport report = report_artifact(artifact, codecs);
  const BitTotal bits = bit_total(report);
  std::string out = fmt::format(
      "{}: artifact, format {}\n"
      "  {}{}\n"
      "  weights  {}: {}\n",
      escape_for_display(artifact.path()), artifact.index().version,
      artifact.is_sharded() ? fmt::format("files    {}: ", grouped(report.shards.size() + 1))
                            : std::string("file     "),
      exact_bytes(report.artifact_bytes), grouped(report.weights.size()),
      density(bits.elements, bits.bytes));
  if (!artifact.is_sharded()) out += part_text(artifact.path(), 9);
  out += compression_text(report, 9);
  out += metadata_text(artifact.metadata()) + values_text(artifact.index().values);
  if (const std::string shards = shards_text(report, all, width); !shards.empty())
    out += "\n" + shards;
  out += "\n" + codec_totals_text(report, width);
  if (const std::string fallbacks = fallbacks_text(report, width); !fallbacks.empty())
    out += "\n" + fallbacks;
  if (const std::string scales = scales_text(report, width); !scales.empty()) out += "\n" + scales;
  return out + "\n" + weight_table(weight_lines(report), all, width);
}

std::string inspect_json(const ArtifactSet& artifact, const CodecRegistry& codecs) {
  const WeightReport report = report_artifact(artifact, codecs);
  JsonWriter json;
  json.begin_object().key("kind").string("artifact");
  json.key("version").integer(artifact.index().version);
  json.key("file_bytes").integer(report.artifact_bytes);
  json.key("bits_per_weight");
  write_bits(json, bit_total(report).bytes, bit_total(report).elements);
  json.key("metadata");
  write_metadata(json, artifact.metadata());
  json.key("values");
  write_values(json, artifact.index().values);
  json.key("zstd");
  artifact.index().zstd.empty() ? json.null() : json.string(artifact.index().zstd);
  json.key("compressed");
  write_compression(json, report);
  write_shards(json, report);
  json.key("codecs");
  write_codec_totals(json, report);
  json.key("weights").begin_array();
  for (std::size_t i = 0; i < report.weights.size(); ++i) {
    json.begin_object();
    write_weight_fields(json, report.weights[i]);
    if (artifact.is_sharded()) json.key("shard").integer(artifact.file_number(i));
    json.key("components");
    write_components(json, artifact.file_of(i), *report.weights[i].stored);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string inspect_text(const Checkpoint& checkpoint, bool all, std::size_t width) {
  const std::vector<EncodingTotal> totals = totals_by_encoding(checkpoint);
  std::string out = fmt::format(
      "{}: checkpoint\n"
      "  files    {}: {}\n"
      "  weights  {}: {}\n",
      escape_for_display(checkpoint.path()), grouped(checkpoint.files().size()),
      exact_bytes(checkpoint.file_bytes()), grouped(totals.back().weights),
      density(totals.back().elements, totals.back().bytes));
  out += checkpoint.gguf_version() != 0 ? key_values_text(checkpoint)
                                        : metadata_text(checkpoint.metadata());
  if (!checkpoint.tensors().empty()) out += "\n" + encoding_totals_text(totals, width);
  out += scales_text(checkpoint, width) + faults_text(checkpoint, width);
  std::vector<WeightLine> lines;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    const Weight& weight = tensor.weight;
    if (is_key_value_encoding(tensor.encoding)) continue;
    lines.push_back({weight.path, short_codec(tensor.encoding), weight.shape.to_string(),
                     weight.shape.elements(), tensor.bytes});
  }
  return out + "\n" + weight_table(lines, all, width);
}

std::string inspect_json(const Checkpoint& checkpoint) {
  JsonWriter json;
  json.begin_object().key("kind").string("checkpoint").key("metadata");
  write_metadata(json, checkpoint.metadata());
  const std::vector<EncodingTotal> totals = totals_by_encoding(checkpoint);
  json.key("data_bytes").integer(checkpoint.data_bytes());
  json.key("bits_per_weight");
  write_bits(json, totals.back().bytes, totals.back().elements);
  json.key("encodings");
  write_encoding_totals(json, totals);
  if (checkpoint.gguf_version() != 0) {
    json.key("gguf_version").integer(checkpoint.gguf_version());
    json.key("key_values");
    write_key_values(json, checkpoint);
  }
  json.key("weights").begin_array();
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    json.begin_object().key("path").string(tensor.weight.path);
    json.key("shape");
    write_shape(json, tensor.weight.shape);
    json.key("source").string(tensor.encoding);
    json.key("file").integer(tensor.file);
    json.key("offset").integer(tensor.offset);
    json.key("bytes").integer(tensor.bytes);
    if (tensor.scale) {
      json.key("scale");
      write_scale(json, {checkpoint.tensors()[tensor.scale->tensor].weight.path, tensor.scale->form,
                         false});
    }
    if (tensor.scale_of)
      json.key("scale_of").string(checkpoint.tensors()[*tensor.scale_of].weight.path);
    if (!tensor.packed_as.empty()) json.key("packed_as").string(tensor.packed_as);
    json.end_object();
  }
  json.end_array();
  if (!checkpoint.faults().empty()) {
    json.key("faults");
    write_faults(json, checkpoint);
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
