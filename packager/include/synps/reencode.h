#pragma once

#include <optional>
#include <string>

#include "synps/checkpoint.h"
#include "synps/codec_registry.h"
#include "synps/form.h"
#include "synps/path_pattern.h"
#include "synps/plan.h"
#include "synps/policy.h"

namespace synps {

/// Whether values may change: what `synps repack` and `synps requantize` are called after.
enum class Rounding : std::uint8_t { refused, allowed };

/// What becomes of an artifact's weights, without a policy. What is not asked for stays as it is
/// stored.
struct ReencodeRequest {
  const Codec* codec = nullptr;       ///< that weights are to be stored in; null: theirs
  std::optional<PathPattern> only{};  ///< of the weights that are changed; none: all
  std::optional<Order> order{};
  std::optional<Orientation> orientation{};
  std::optional<CompressRequest> compress{};
};

/// What pack() will do to make another artifact of one, which Checkpoint::open_artifact() opened.
/// Weights that are not changed keep what the artifact says of them. Throws Error(policy) with all
/// problems: weights that the codec cannot store, a conversion that rounds where that is refused
/// (and names requantize), a pattern that matches nothing, an order that no weight can have.
Plan plan_reencode(const Checkpoint& artifact, const ReencodeRequest& request,
                   const CodecRegistry& codecs, Rounding rounding, const PlanOptions& options = {});

/// The same as a policy says, as for packing a checkpoint.
Plan plan_reencode(const Checkpoint& artifact, const Policy& policy, Rounding rounding,
                   const PlanOptions& options = {});

}  // namespace synps
