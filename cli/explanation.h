#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "synps/checkpoint.h"
#include "synps/companion_scale.h"
#include "synps/form.h"
#include "synps/gguf_types.h"
#include "synps/output_kind.h"
#include "synps/packed_form.h"
#include "synps/policy.h"

namespace synps::cli {

/// A value in the graph that somebody asks about.
struct Value {
  std::string path;
  Scope scope = Scope::constant;            ///< never `any`
  Lifetime lifetime = Lifetime::immutable;  ///< never `any`
};

/// A group whose pattern covers the path.
struct GroupMembership {
  const PolicyGroup* group = nullptr;
  std::vector<std::string> others;  ///< its other members in the checkpoint, by path
};

/// What else than a policy decides.
struct ExplainHow {
  std::optional<CompressRequest> compress{};  ///< holds where no policy sets it
  OutputKind output = OutputKind::artifact;
  const PackTargets* target = nullptr;  ///< null: one without kernels, which nothing is judged by
};

/// What a policy says about a value, and about the weight of that path where there is one. Lives as
/// long as the policy.
struct Explanation {
  const Policy* policy = nullptr;
  Value value;
  WeightResolution resolution;
  std::vector<GroupMembership> groups;  ///< by place
  // With a checkpoint:
  std::optional<WeightFacts> facts;
  std::uint64_t source_bytes = 0;
  std::string stored_codec;             ///< what the artifact will name; "" when none fits
  std::optional<std::uint64_t> bytes;   ///< in the output, padding included; none when none fits
  const GgufType* gguf_type = nullptr;  ///< with bytes: of the tensor in a GGUF output, else null
  bool bytes_are_bound = false;         ///< with bytes: compressed, and the most it can take
  WeightForm form;                      ///< with bytes
  bool lossless = true;                 ///< with bytes
  std::optional<StoredScale> scale;  ///< of the weight in the checkpoint, as the artifact says it
  std::optional<Support> support;    ///< of the scheme's codec; none where nothing is encoded
};

/// Throws Error(usage) when `checkpoint`, which may be null, has no weight of that path;
/// Error(policy) when the policies disagree.
Explanation explain_value(const Policy& policy, Value value, const Checkpoint* checkpoint,
                          const ExplainHow& how = {});

/// The same for a weight of a checkpoint, without its groups. Throws Error(policy) when the
/// policies disagree.
Explanation explain_weight(const Policy& policy, const Checkpoint& checkpoint,
                           const SourceTensor& tensor, const ExplainHow& how = {});

/// Throws Error(limit) when nothing is left of the steps for finding a group's members.
void check_group_steps(std::uint64_t steps, const Policy& policy, const PolicyGroup& group);
/// Steps of some nanoseconds for the members of one group.
constexpr std::uint64_t kGroupSteps = 100'000'000;

/// A key that a policy sets: `format` for schemes that claim weights, `format.SCOPE.LIFETIME` for
/// others.
struct SetKey {
  std::string name;
  std::string value;
  SourcePlace place;
};
/// By name, each once: of several schemes that claim weights, the most specific.
std::vector<SetKey> keys_set_by(const PolicyEntry& entry);

/// The value that a policy which was overridden gives the key.
std::string overridden_value(const WeightResolution& resolution, const KeyDecision& decision,
                             std::size_t overridden);

/// "line 16", or "line 16 of base.toml" in a file that the policy extends. Escaped.
std::string place_text(const Policy& policy, const SourcePlace& place);
/// The same with the pattern: "line 16, model.layers.*.mlp".
std::string place_text(const Policy& policy, const SourcePlace& place, const PolicyEntry& entry);

/// "constant, immutable", with whatever else is not inferred. Without the format.
std::string claim_text(const Scheme& scheme);

}  // namespace synps::cli
