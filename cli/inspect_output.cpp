#include "inspect_output.h"

#include <fmt/core.h>

#include <map>

#include "synps/error.h"
#include "synps/json_writer.h"
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

void write_components(JsonWriter& json, const ArtifactReader& artifact,
                      const StoredWeight& weight) {
  json.begin_array();
  for (const StoredComponent& stored : weight.components) {
    json.begin_object().key("name").string(stored.component.name);
    json.key("entry").string(stored.entry);
    json.key("dtype").string(encoding_name(stored.component.dtype));
    json.key("shape");
    write_shape(json, stored.component.shape);
    json.key("compression").string(to_string(stored.compression));
    json.key("offset").integer(artifact.file_offset(stored));
    json.key("bytes").integer(stored.component.bytes);
    json.key("stored_bytes").integer(stored.stored_bytes).end_object();
  }
  json.end_array();
}

std::uint64_t elements_of(const Checkpoint& checkpoint) {
  std::uint64_t sum = 0;
  for (const SourceTensor& tensor : checkpoint.tensors()) sum += tensor.weight.shape.elements();
  return sum;
}

/// "1,234 parameters, 8.51 bits each"
std::string density(std::uint64_t elements, std::uint64_t bytes) {
  return fmt::format("{}, {} bits each", counted(elements, "element"), bits_each(bytes, elements));
}

}  // namespace

std::string inspect_text(const ArtifactReader& artifact, bool all, std::size_t width) {
  const WeightReport report = report_artifact(artifact);
  std::uint64_t elements = 0;
  std::uint64_t bytes = 0;
  for (const ReportedWeight& weight : report.weights) {
    elements += weight.stored->weight.shape.elements();
    bytes += weight.bytes;
  }
  std::string out = fmt::format(
      "{}: artifact, format {}\n"
      "  file     {}\n"
      "  weights  {}: {}\n",
      escape_for_display(artifact.path()), artifact.index().version,
      exact_bytes(report.artifact_bytes), grouped(report.weights.size()), density(elements, bytes));
  out += compression_text(report, 9);
  out += metadata_text(artifact.metadata()) + values_text(artifact.index().values);
  out += "\n" + codec_totals_text(report, width);
  if (const std::string fallbacks = fallbacks_text(report, width); !fallbacks.empty())
    out += "\n" + fallbacks;
  return out + "\n" + weight_table(weight_lines(report), all, width);
}

std::string inspect_json(const ArtifactReader& artifact) {
  const WeightReport report = report_artifact(artifact);
  JsonWriter json;
  json.begin_object().key("kind").string("artifact");
  json.key("version").integer(artifact.index().version);
  json.key("file_bytes").integer(report.artifact_bytes);
  json.key("metadata");
  write_metadata(json, artifact.metadata());
  json.key("values");
  write_values(json, artifact.index().values);
  json.key("zstd");
  artifact.index().zstd.empty() ? json.null() : json.string(artifact.index().zstd);
  json.key("compressed");
  write_compression(json, report);
  json.key("codecs");
  write_codec_totals(json, report);
  json.key("weights").begin_array();
  for (const ReportedWeight& weight : report.weights) {
    json.begin_object();
    write_weight_fields(json, weight);
    json.key("components");
    write_components(json, artifact, *weight.stored);
    json.end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

std::string inspect_text(const Checkpoint& checkpoint, bool all, std::size_t width) {
  std::uint64_t file_bytes = 0;
  for (const InputFile& file : checkpoint.files()) file_bytes += file.size();
  std::string out = fmt::format(
      "{}: checkpoint\n"
      "  files    {}: {}\n"
      "  weights  {}: {}\n",
      escape_for_display(checkpoint.path()), grouped(checkpoint.files().size()),
      exact_bytes(file_bytes), grouped(checkpoint.tensors().size()),
      density(elements_of(checkpoint), checkpoint.data_bytes()));
  out += metadata_text(checkpoint.metadata());
  std::vector<WeightLine> lines;
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    const Weight& weight = tensor.weight;
    lines.push_back({weight.path, std::string(encoding_name(weight.dtype)),
                     weight.shape.to_string(), weight.shape.elements(), tensor.bytes});
  }
  return out + "\n" + weight_table(lines, all, width);
}

std::string inspect_json(const Checkpoint& checkpoint) {
  JsonWriter json;
  json.begin_object().key("kind").string("checkpoint").key("metadata");
  write_metadata(json, checkpoint.metadata());
  json.key("data_bytes").integer(checkpoint.data_bytes());
  json.key("weights").begin_array();
  for (const SourceTensor& tensor : checkpoint.tensors()) {
    json.begin_object().key("path").string(tensor.weight.path);
    json.key("shape");
    write_shape(json, tensor.weight.shape);
    json.key("source").string(encoding_name(tensor.weight.dtype));
    json.key("file").integer(tensor.file);
    json.key("offset").integer(tensor.offset);
    json.key("bytes").integer(tensor.bytes).end_object();
  }
  json.end_array().end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
