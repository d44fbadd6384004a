#pragma once

#include <cstddef>
#include <optional>
#include <string>

#include "synps/codec_registry.h"
#include "synps/json_writer.h"
#include "synps/memory_plan.h"

namespace synps::cli {

/// What loading an artifact takes: of a report.
struct LoadReport {
  MemoryPlan plan{};
  std::optional<Profile> profile{};  ///< none: as packed
  std::string target{};              ///< whose kernels; "" without a profile

  /// Whether anybody asked how it loads, rather than how it was packed.
  bool asked() const noexcept { return profile || plan.budget; }
};

/// Of the weights of `index`, which outlives the report. `target` is for people.
LoadReport report_load(const ArtifactIndex& index, const CodecRegistry& codecs,
                       const LoadOptions& options, std::string target);

/// The form that a weight is loaded in, and why: "q8_0 rows1 -> q8_0 rows8, heap; relaid: …".
std::string load_form_text(const PlannedLoad& load);

/// Totals, budget, a table of weights of the same form (with `all`: of every weight), and what
/// would help when it does not fit.
std::string load_text(const LoadReport& report, bool all, std::size_t width);

/// The keys of a plan about loading, inside its object.
void write_load(JsonWriter& json, const LoadReport& report);
/// The same keys, all null: of a file whose loading is not ours.
void write_no_load(JsonWriter& json);
/// The keys of a weight about loading, inside its object.
void write_load_fields(JsonWriter& json, const PlannedLoad& load);
void write_no_load_fields(JsonWriter& json);

/// A profile's fields, as an object.
void write_profile(JsonWriter& json, const Profile& profile);

/// Throws Error(limit) for what does not fit or is refused: docs/cli.md, "plan".
void check_load(const LoadReport& report, const std::string& file, bool allow_over_budget);

}  // namespace synps::cli
