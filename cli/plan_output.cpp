#include "plan_output.h"

#include <fmt/core.h>

#include "gguf_report.h"
#include "key_values.h"
#include "scale_notes.h"
#include "shard_list.h"
#include "synps/error.h"
#include "synps/json_writer.h"
#include "text.h"
#include "value_list.h"
#include "weight_summary.h"
#include "weight_table.h"

namespace synps::cli {
namespace {

std::string loading_text(const WeightReport& report) {
  std::uint64_t weights = 0;
  for (const ReportedWeight& weight : report.weights) weights += weight.bytes;
  const std::string overhead =
      fmt::format("  overhead  {} of the {}\n", exact_bytes(report.artifact_bytes - weights),
                  report.gguf != nullptr ? "file" : "artifact");
  if (!report.load || report.load->asked()) return overhead;
  const WeightMemory& total = report.load->plan.total;
  return overhead + fmt::format(
                        "  loaded    {} mapped,\n"
                        "            {} on the heap,\n"
                        "            {} made by conversions\n",
                        exact_bytes(total.mapped), exact_bytes(total.resident),
                        exact_bytes(total.conversion));
}

/// What packing itself takes.
std::string memory_text(const MemoryNeed& need) {
  std::string out = fmt::format("  packing   takes {} of memory and {} a worker\n",
                                human_bytes(need.program_bytes + need.index_bytes),
                                human_bytes(need.worker_bytes));
  if (!need.long_rows_in.empty())
    out += fmt::format("            (holds whole rows of {})\n",
                       escape_for_display(need.long_rows_in));
  return out;
}

void write_memory(JsonWriter& json, const MemoryNeed& need) {
  json.begin_object();
  json.key("program_bytes").integer(need.program_bytes);
  json.key("index_bytes").integer(need.index_bytes);
  json.key("worker_bytes").integer(need.worker_bytes);
  json.end_object();
}

}  // namespace

std::string sizes_text(const WeightReport& report) {
  const std::string source = fmt::format("  source    {} in {}\n", exact_bytes(report.source_bytes),
                                         counted(report.weights.size(), "weight"));
  if (report.gguf != nullptr) {  // key-values are in the file, and no weights: files are compared
    const std::uint64_t files = report.checkpoint->file_bytes();
    return source + fmt::format("  GGUF file {}, {} of the checkpoint's {}\n",
                                exact_bytes(report.artifact_bytes),
                                percent(report.artifact_bytes, files), exact_bytes(files));
  }
  return source + fmt::format("  artifact  {}{}, {} of the source\n",
                              report.sizes_are_bounds ? "at most " : "",
                              exact_bytes(report.artifact_bytes),
                              percent(report.artifact_bytes, report.source_bytes));
}

namespace {

/// "plan for packing model.gguf under synps.toml into GGUF".
std::string heading(const WeightReport& report, const std::string& input) {
  std::string_view work = "loading";
  if (report.checkpoint != nullptr)
    work = report.checkpoint->artifact() != nullptr ? "re-encoding" : "packing";
  std::string text = fmt::format("plan for {} {}", work, escape_for_display(input));
  if (!report.policy_file.empty())
    text += fmt::format(" under {}", escape_for_display(report.policy_file));
  return text + (report.gguf != nullptr ? " into GGUF\n" : "\n");
}

}  // namespace

std::string plan_text(const WeightReport& report, const std::string& input, bool all,
                      std::size_t width) {
  std::string out = heading(report, input);
  out += sizes_text(report) + compression_text(report) + loading_text(report);
  const BitTotal bits = bit_total(report);
  out += fmt::format("  bits      {} a weight, {} in the source\n",
                     bits_each(bits.bytes, bits.elements),
                     bits_each(bits.source_bytes, bits.elements));
  if (report.pack_memory) out += memory_text(*report.pack_memory);
  if (report.load && report.load->asked()) out += "\n" + load_text(*report.load, all, width);
  if (const std::string shards = shards_text(report, all, width); !shards.empty())
    out += "\n" + shards;
  out += "\n" + codec_totals_text(report, width);
  if (const std::string fallbacks = fallbacks_text(report, width); !fallbacks.empty())
    out += "\n" + fallbacks;
  if (const std::string scales = scales_text(report, width); !scales.empty()) out += "\n" + scales;
  out += "\n" + weight_table(weight_lines(report), all, width);
  out += gguf_text(report);
  out += values_text(*report.values);
  if (report.checkpoint != nullptr)
    out += key_values_text(*report.checkpoint, report.gguf != nullptr);
  return out;
}

std::string plan_json(const WeightReport& report) {
  JsonWriter json;
  json.begin_object();
  json.key("artifact_bytes").integer(report.artifact_bytes);
  json.key("artifact_bytes_exact").boolean(!report.sizes_are_bounds);
  json.key("source_bytes").integer(report.source_bytes);
  report.load ? write_load(json, *report.load) : write_no_load(json);
  json.key("compressed");
  write_compression(json, report);
  const BitTotal bits = bit_total(report);
  json.key("bits_per_weight");
  write_bits(json, bits.bytes, bits.elements);
  json.key("source_bits_per_weight");
  write_bits(json, bits.source_bytes, bits.elements);
  json.key("pack_memory");
  if (report.pack_memory)
    write_memory(json, *report.pack_memory);
  else
    json.null();
  write_shards(json, report);
  json.key("codecs");
  write_codec_totals(json, report);
  json.key("fallbacks");
  write_fallbacks(json, report);
  json.key("weights").begin_array();
  for (std::size_t i = 0; i < report.weights.size(); ++i) {
    json.begin_object();
    write_weight_fields(json, report.weights[i]);
    report.load ? write_load_fields(json, report.load->plan.weights[i])
                : write_no_load_fields(json);
    json.end_object();
  }
  json.end_array();
  json.key("values");
  write_values(json, *report.values);
  if (report.checkpoint != nullptr && report.checkpoint->gguf_version() != 0) {
    json.key("key_values");
    write_key_values(json, *report.checkpoint, report.gguf != nullptr);
  }
  if (report.gguf != nullptr) {
    json.key("gguf");
    write_gguf(json, report);
  }
  json.end_object();
  return json.take() + "\n";
}

}  // namespace synps::cli
