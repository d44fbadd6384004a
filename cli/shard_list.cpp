#include "shard_list.h"

#include <fmt/format.h>
#include <spdlog/spdlog.h>

#include <algorithm>
#include <utility>
#include <vector>

#include "synps/artifact_shards.h"
#include "synps/error.h"
#include "synps/shard_name.h"
#include "table.h"
#include "text.h"

namespace synps::cli {
namespace {

/// Rows of files that are shown before the others are only counted.
constexpr std::size_t kShownShards = 12;

void write_file(JsonWriter& json, const ReportedShard& file) {
  json.begin_object().key("file").string(file.file);
  json.key("bytes").integer(file.bytes);
  json.key("weights").integer(file.weights);
  json.end_object();
}

}  // namespace

std::string shards_text(const WeightReport& report, bool all, std::size_t width) {
  using enum Table::Align;
  if (report.shards.empty()) return {};
  Table table({{"FILE", left}, {"WEIGHTS", right}, {"BYTES", right}, {"", left}});
  const std::size_t shown =
      all ? report.shards.size() : std::min(kShownShards, report.shards.size());
  for (std::size_t i = 0; i < shown; ++i) {
    const ReportedShard& shard = report.shards[i];
    table.add({escape_for_display(shard.file), grouped(shard.weights), grouped(shard.bytes),
               shard.over_limit ? "larger than the limit" : ""});
  }
  if (shown < report.shards.size())
    table.add_heading("... and " + counted(report.shards.size() - shown, "more shard"));
  if (!report.shard_index.file.empty())
    table.add({escape_for_display(report.shard_index.file), "", grouped(report.shard_index.bytes),
               "shard index"});
  return table.render(width);
}

std::string part_text(const std::string& path, std::size_t width) {
  const auto shard = parse_shard_name(path);
  if (!shard || shard->count == 1) return {};
  const std::string artifact = escape_for_display(shard->artifact);
  return fmt::format("  {:<{}}{} of {} of {}, by its name; {} names them all\n", "shard", width,
                     shard->number, shard->count, artifact, shard_index_name(artifact));
}

void write_shards(JsonWriter& json, const WeightReport& report) {
  json.key("shards").begin_array();
  for (const ReportedShard& shard : report.shards) write_file(json, shard);
  json.end_array().key("shard_index");
  if (report.shard_index.file.empty())
    json.null();
  else
    write_file(json, report.shard_index);
}

void log_large_shards(const Plan& plan, std::uint64_t max_bytes) {
  if (max_bytes == 0) return;
  std::vector<const Plan*> large;
  for (const PlannedShard& shard : plan.shards)
    if (shard.over_limit) large.push_back(&shard.plan);
  if (plan.shards.empty() && plan.artifact_bytes > max_bytes) large.push_back(&plan);
  if (large.empty()) return;
  const auto largest = std::max_element(large.begin(), large.end(), [](auto* a, auto* b) {
    return a->artifact_bytes < b->artifact_bytes;
  });
  const std::string of = (*largest)->weights.empty()
                             ? "no weight"
                             : quote((*largest)->stored((*largest)->weights.front()).weight.path);
  spdlog::warn("{} larger than --max-shard-size allows, as a weight is not cut: up to {}, for {}",
               large.size() == 1 ? "1 file is" : grouped(large.size()) + " files are",
               exact_bytes((*largest)->artifact_bytes), of);
}

}  // namespace synps::cli
