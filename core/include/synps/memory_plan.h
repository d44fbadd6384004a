#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/codec_registry.h"
#include "synps/error.h"
#include "synps/form_resolver.h"

namespace synps {

/// Bytes that loading a weight takes.
struct WeightMemory {
  std::uint64_t file = 0;        ///< stored bytes of its components, padding included
  std::uint64_t resident = 0;    ///< on the heap, while the artifact is open
  std::uint64_t mapped = 0;      ///< of the file's mapping
  std::uint64_t conversion = 0;  ///< of the resident ones, those that a conversion makes
  std::uint64_t transient = 0;   ///< besides, while it is converted: see load_memory.h

  bool operator==(const WeightMemory&) const = default;
};

/// Exact: what Artifact::open() allocates and reads for the weight in that form. Throws
/// Error(limit) when a size does not fit 64 bits.
WeightMemory memory_of(const StoredWeight& weight, const FormDecision& decision);

struct PlannedLoad {
  const StoredWeight* weight = nullptr;
  FormDecision decision{};
  WeightMemory memory{};
};

/// Something that makes the plan smaller, for people.
struct Suggestion {
  enum class Kind : std::uint8_t {
    undo_dequantize,
    undo_relayout,
    undo_inflate,
    map,
    smaller_codec
  };
  Kind kind = Kind::map;
  bool asked = false;                  ///< it undoes what policy or caller asked for
  std::uint64_t saves = 0;             ///< resident bytes
  std::vector<std::string> weights{};  ///< paths
  std::string text{};                  ///< what to do, with what
};

/// What loading takes, before anything is read.
struct MemoryPlan {
  std::vector<PlannedLoad> weights{};  ///< in the order of the index
  /// transient: the largest, as weights are loaded in sequence. What does not fit 64 bits is the
  /// largest number, and fits no budget.
  WeightMemory total{};
  std::optional<std::uint64_t> budget{};  ///< bytes; none: no limit
  bool fits = true;                       ///< resident + transient ≤ budget
  /// Weights whose conversion a strict profile refuses: it raises resident bytes above what the
  /// weight takes as it is stored, inflating included.
  std::vector<std::size_t> refused{};
  /// What nobody asked for first (conversions, then heap), by the bytes saved; each on its own.
  std::vector<Suggestion> suggestions{};
};

/// Applies the budget: while resident + transient bytes are over it, undoes
///   1. relayouts that are optional (such a weight is then as stored, and mapped)
///   2. the heap, where only the profile says so (such a weight is then mapped)
///   3. relayouts that are optional, of weights that are to be on the heap (as stored, they need no
///      transient bytes),
/// each the largest first, ties by the path. Throws nothing for what does not fit: fits says so.
MemoryPlan resolve_plan(std::vector<PlannedLoad> weights, std::optional<std::uint64_t> budget,
                        bool strict);

/// What a caller asks for some weights, by path. The first that matches holds.
struct LoadOverride {
  std::function<bool(std::string_view path)> matches{};  ///< empty: all
  LoadRequest request{};
};

struct LoadOptions {
  /// None: as_packed().
  std::optional<Profile> profile{};
  Capabilities capabilities{};
  std::optional<std::uint64_t> budget{};  ///< bytes; none: the profile's
  std::vector<LoadOverride> overrides{};  ///< hold without a profile, too
};

/// What a strict profile compares a weight's resident bytes with: those that it has as it is
/// stored, where it is if nothing is converted; of a compressed one, its stored bytes.
std::uint64_t resident_as_stored(const StoredWeight& weight, const FormDecision& decision);

/// For MemoryPlan::suggestions.
std::vector<Suggestion> suggestions_for(const std::vector<PlannedLoad>& weights);

/// What the profile's budget is here: a profile without memory of its own asks machine_memory().
std::uint64_t budget_here(const Profile& profile);

/// The decision for one weight of an artifact, and its price, before any budget. `codec` is null
/// where nothing decodes it. Throws Error(limit) when a size does not fit 64 bits.
PlannedLoad planned_load(const StoredWeight& weight, const Codec* codec,
                         const LoadOptions& options);

/// The plan for a whole index. `codec_of` gives the codec of a weight, or null.
MemoryPlan plan_load(const ArtifactIndex& index,
                     const std::function<const Codec*(std::size_t weight)>& codec_of,
                     const LoadOptions& options);

/// Throws Error(limit) for what does not fit, unless `allow_over_budget`, or is refused, saying
/// what to do.
/// `otherwise` is what else could be done, for the error.
void check_fits(const MemoryPlan& plan, const Profile& profile, const std::string& file,
                bool allow_over_budget,
                std::string_view otherwise =
                    "take another profile, a larger budget, or allow to be "
                    "over budget");

}  // namespace synps
