#pragma once

#include <cstddef>
#include <string>

#include "synps/json_writer.h"
#include "weight_report.h"

namespace synps::cli {

/// The files of an artifact in several, a row each, the first ones where not `all` are asked for;
/// "" for one file.
std::string shards_text(const WeightReport& report, bool all, std::size_t width);

/// "  shard    2 of 3 of model.synps: …" for a file that says so by its name; "" for others. The
/// label takes `width` columns.
std::string part_text(const std::string& path, std::size_t width);

/// The keys `shards` and `shard_index`, inside an object.
void write_shards(JsonWriter& json, const WeightReport& report);

/// Warns of files that are larger than `max_bytes`, which a weight that is not cut makes so.
void log_large_shards(const Plan& plan, std::uint64_t max_bytes);

}  // namespace synps::cli
