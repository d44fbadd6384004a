#include "packed_output.h"

#include <fmt/core.h>

#include "gguf_report.h"
#include "plan_output.h"
#include "scale_notes.h"
#include "shard_list.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "text.h"
#include "weight_summary.h"

namespace synps::cli {
namespace {

/// Weights that a note about values names before it only counts the rest.
constexpr std::size_t kShownFindings = 10;

/// A kind of finding in the values of weights: underflow or overflow.
struct FindingKind {
  ValueReport::Finding ValueReport::*member;
  const char* name;
  const char* what;  ///< after "15 values "
};
constexpr FindingKind kFindingKinds[] = {
    {&ValueReport::underflow, "underflow", "too small for their codec became zero"},
    {&ValueReport::overflow, "overflow", "too large for their codec became infinite"},
};

std::string findings_text(const PackReport& packed, const FindingKind& kind, std::size_t width) {
  std::uint64_t weights = 0;
  std::uint64_t values = 0;
  std::string lines;
  for (const PackedWeightReport& report : packed.findings) {
    const ValueReport::Finding& finding = report.values.*kind.member;
    if (finding.count == 0) continue;
    values += finding.count;
    if (++weights > kShownFindings) continue;
    lines += fmt::format("    {}: {}, first {} at element {}\n", escape_for_display(report.path),
                         grouped(finding.count), brief_number(finding.first_value),
                         grouped(finding.first_index));
  }
  if (weights == 0) return {};
  if (weights > kShownFindings)
    lines += fmt::format("    ... and {}\n", counted(weights - kShownFindings, "more weight"));
  return wrapped(fmt::format("{}: {} {} in {}", kind.name, counted(values, "value"), kind.what,
                             counted(weights, "weight")),
                 width, 4) +
         "\n" + lines;
}

/// What became of an artifact's weights; of a checkpoint's nothing is said.
std::string changes_text(const WeightReport& report) {
  std::uint64_t encoded = 0;
  std::uint64_t relaid = 0;
  std::uint64_t others = 0;
  for (const ReportedWeight& weight : report.weights) {
    if (weight.source == nullptr) return {};
    if (weight.stored->codec != weight.source->codec)
      ++encoded;
    else if (weight.stored->form.order != weight.source->form.order)
      ++relaid;
    else
      ++others;
  }
  return fmt::format("  weights   {} in another encoding, {} in another order, {} as they were\n",
                     grouped(encoded), grouped(relaid), grouped(others));
}

void write_findings(JsonWriter& json, const PackReport& packed, const FindingKind& kind) {
  json.begin_array();
  for (const PackedWeightReport& report : packed.findings) {
    const ValueReport::Finding& finding = report.values.*kind.member;
    if (finding.count == 0) continue;
    json.begin_object().key("path").string(report.path);
    json.key("count").integer(finding.count);
    json.key("first_index").integer(finding.first_index);
    json.key("first_value").number(finding.first_value);
    json.end_object();
  }
  json.end_array();
}

}  // namespace

std::string packed_text(const std::string& heading, const WeightReport& report,
                        const PackReport& packed, bool all, std::size_t width) {
  std::string out =
      heading + "\n" + sizes_text(report) + compression_text(report) + changes_text(report) + "\n";
  if (const std::string shards = shards_text(report, all, width); !shards.empty())
    out += shards + "\n";
  out += codec_totals_text(report, width);
  if (const std::string fallbacks = fallbacks_text(report, width); !fallbacks.empty())
    out += "\n" + fallbacks;
  if (const std::string scales = scales_text(report, width); !scales.empty()) out += "\n" + scales;
  out += gguf_text(report);
  for (const FindingKind& kind : kFindingKinds)
    if (const std::string found = findings_text(packed, kind, width); !found.empty())
      out += "\n" + found;
  return out;
}

std::string packed_json(const WeightReport& report, const PackReport& packed) {
  JsonWriter json;
  json.begin_object();
  json.key("artifact_bytes").integer(packed.artifact_bytes);
  json.key("source_bytes").integer(report.source_bytes);
  json.key("weights").integer(report.weights.size());
  json.key("compressed");
  write_compression(json, report);
  write_shards(json, report);
  json.key("codecs");
  write_codec_totals(json, report);
  json.key("fallbacks");
  write_fallbacks(json, report);
  write_folded_scales(json, report);
  for (const FindingKind& kind : kFindingKinds) {
    json.key(kind.name);
    write_findings(json, packed, kind);
  }
  if (report.gguf != nullptr) {
    json.key("gguf");
    write_gguf(json, report);
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
