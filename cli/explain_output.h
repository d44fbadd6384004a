#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/policy.h"

namespace synps::cli {

/// What a policy says about a path, and about the weight of that path where there is one.
struct Explanation {
  std::string path;
  std::string policy_file;
  WeightResolution resolution;
  std::optional<WeightFacts> facts;  ///< none without a checkpoint
  std::uint64_t source_bytes = 0;    ///< with facts
  std::string stored_codec;          ///< what the artifact will name, with facts; "" when none fits
  /// In the artifact, padding included, with facts; none when no codec stores the weight.
  std::optional<std::uint64_t> bytes;
  WeightForm form;  ///< with bytes
};

/// Keys that a policy sets, by name, with their values. Schemes are `format` when they claim
/// weights, else `format.SCOPE.LIFETIME`.
std::vector<std::pair<std::string, std::string>> keys_set_by(const PolicyEntry& entry);

/// What `explain` prints: docs/cli.md, "explain".
std::string explain_text(const Explanation& explanation, std::size_t width);
std::string explain_json(const Explanation& explanation);

}  // namespace synps::cli
