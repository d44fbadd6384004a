#pragma once

#include <compare>
#include <cstddef>
#include <string>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/diff.h"

namespace synps::cli {

/// What a policy says of a weight. A scheme is taken whole, so it also says what stays.
struct SuggestedScheme {
  std::string format;        ///< "" where none is needed
  bool is_volatile = false;  ///< as A has it

  bool operator==(const SuggestedScheme&) const = default;
  std::strong_ordering operator<=>(const SuggestedScheme&) const = default;
};

/// Weights that one policy of the file names.
struct SuggestedGroup {
  std::string pattern;
  SuggestedScheme scheme;
  std::size_t weights = 0;  ///< those that stay left out
};

/// A policy that makes of A what B is, but for some weights, which stay as they are.
struct SuggestedPolicy {
  SuggestedScheme root;
  std::size_t root_weights = 0;
  std::vector<SuggestedGroup> groups;        ///< in natural order; not the root
  std::vector<const WeightDiff*> worst;      ///< that stay, the worst first
  std::vector<SuggestedGroup> worst_groups;  ///< of each of them
  std::vector<std::string> source_formats;   ///< encodings of A to declare
  std::vector<std::string> packages;         ///< codec packages that formats are from
  std::size_t only_in_a = 0;
  std::size_t only_in_b = 0;
  bool of_artifact = false;       ///< A is one
  std::size_t same_encoding = 0;  ///< differ in value, and are stored in the same encoding
};

/// The number of weights that `--suggest-policy` names. Throws Error(usage).
std::size_t worst_count(const std::string& text);

/// The policy as a commented synps.toml, for the `worst` weights with the largest relative error.
/// `report` is of A and B. Throws Error(usage) where so many do not differ in value, no name is in
/// both, weights differ otherwise than in value, or nothing here encodes what B has; Error(limit)
/// where no policy file can name so many.
std::string suggested_policy(const DiffReport& report, const Checkpoint& a, const Checkpoint& b,
                             const CodecRegistry& codecs, std::size_t worst);

/// The text of a policy. `a` and `b` are names of files.
std::string suggested_text(const SuggestedPolicy& policy, const std::string& a,
                           const std::string& b);

}  // namespace synps::cli
