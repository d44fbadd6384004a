#pragma once

#include <cstddef>
#include <functional>
#include <string>
#include <vector>

#include "explanation.h"

namespace synps::cli {

/// A value, and the format that a scheme is to give it.
struct Target {
  Value value;
  WeightResolution resolution;  ///< now
  std::string format;           ///< `package:export`, or "keep"
  bool alone = false;           ///< gets a scheme of its own, under its path
};

/// Schemes to add to a policy file.
struct Paste {
  std::string toml;                   ///< whole lines
  std::vector<SourcePlace> replaces;  ///< schemes that have to go first, each once, by place
  /// The schemes for a policy that extends the file: those that go are said anew.
  std::string extension;
  std::vector<PathPattern> patterns;  ///< of the schemes, each once
};

/// Whether a policy decides the formats of targets alone.
using DecidesOnlyTargets = std::function<bool(const PolicyEntry&)>;

/// Schemes that decide the formats of the targets, and change nothing else about them. One whose
/// deciding policy is about targets alone changes that policy; the others get narrower ones, which
/// are folded into few patterns when `folded`.
Paste make_paste(const Policy& policy, const std::vector<Target>& targets, bool folded,
                 const DecidesOnlyTargets& only_targets);

}  // namespace synps::cli
