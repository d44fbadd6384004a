#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/plan.h"
#include "synps/policy.h"
#include "weight_summary.h"

namespace synps::cli {

/// A source encoding of a checkpoint, and what the policy needs to say of it.
struct SourceEncoding {
  enum class Naming : std::uint8_t {
    not_needed,  ///< all its weights are kept as stored
    open,        ///< nothing says how some of its weights are stored
    named,
    missing,
    undecodable,  ///< weights are to be converted, and nothing decodes them
  };
  std::string name;
  std::uint64_t weights = 0;
  Naming naming = Naming::not_needed;
};

/// What a policy came to, alone or against a checkpoint. Refers to the check, and to the plan.
struct CheckReport {
  std::string file;
  std::string checkpoint;  ///< as it was named; "" for none
  bool strict = false;
  const PolicyCheck* check = nullptr;
  // With a checkpoint, when the file is sound:
  std::optional<std::uint64_t> weights;
  std::vector<SourceEncoding> encodings;  ///< by name
  std::vector<FallbackGroup> fallbacks;
  std::optional<WeightReport> plan;  ///< when there are no problems

  /// The exit code: the first problem's, Error(policy)'s for warnings that are not let through.
  int code() const noexcept;
};

/// Weights of the output: all but the scales of those that are decoded. Where a plan is made, the
/// plan knows.
std::uint64_t stored_weights(const std::vector<WeightFacts>& weights, const PolicyCheck& check);
std::vector<SourceEncoding> source_encodings(const std::vector<WeightFacts>& weights,
                                             const PolicyCheck& check);
std::vector<FallbackGroup> fallback_groups(const std::vector<WeightFacts>& weights,
                                           const PolicyCheck& check);

/// What `check` prints: docs/cli.md, "check". `all`: more than the first problems.
std::string check_text(const CheckReport& report, bool all, std::size_t width);
std::string check_json(const CheckReport& report);

}  // namespace synps::cli
