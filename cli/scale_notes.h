#pragma once

#include <string>

#include "synps/artifact_index.h"
#include "synps/checkpoint.h"
#include "synps/json_writer.h"
#include "weight_report.h"

namespace synps::cli {

/// "scale folded in, per 128x128 block": what a row of a table says of a weight whose values are
/// multiplied; "scale apart, …" where they are not.
std::string scale_text(const StoredScale& scale);
/// Where it is from: "folded in from X.weight_scale, per row".
std::string scale_origin(const StoredScale& scale);

// Parts of a report for people; "" where there is nothing to say.
/// Scales that were folded in, 8-bit weights that have none, and scales of activations.
std::string scales_text(const WeightReport& report, std::size_t width);
/// Which scales a checkpoint has for which weights.
std::string scales_text(const Checkpoint& checkpoint, std::size_t width);
/// What a checkpoint holds that cannot be decoded as it stands.
std::string faults_text(const Checkpoint& checkpoint, std::size_t width);

void write_scale(JsonWriter& json, const StoredScale& scale);
/// A key `folded_scales` with the weights and their scales; nothing where there are none.
void write_folded_scales(JsonWriter& json, const WeightReport& report);
/// An array: what is wrong, as text.
void write_faults(JsonWriter& json, const Checkpoint& checkpoint);

}  // namespace synps::cli
