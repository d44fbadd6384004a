#pragma once

#include <optional>
#include <string>
#include <vector>

#include "policy_document.h"
#include "policy_relations.h"
#include "scheme_rules.h"
#include "synps/policy.h"

namespace synps {

/// A key on which the narrowest policies that set it disagree.
struct Ambiguity {
  std::string key;  ///< a PolicyKey name, or "format"
  PolicySet contenders;

  bool operator<(const Ambiguity& other) const noexcept {
    return key != other.key ? key < other.key : contenders < other.contenders;
  }
};

/// What a set of policies says about every path that they all cover, and no others.
struct SetResolution {
  WeightResolution common;                 ///< without what depends on a weight's shape
  SharedList<KeyDecision> without_floats;  ///< the decisions that concern other weights
  const PolicyScheme* scheme = nullptr;    ///< that decided the format; null: none, or ambiguous
  std::optional<std::string> fallback;
  std::vector<Ambiguity> ambiguities;
};

/// Overlays policies key by key. `document` and `relations` outlive it and its results.
class PolicyResolver {
 public:
  /// For values of one kind: weights, unless others are asked about. `compress` holds where no
  /// policy sets it.
  PolicyResolver(const PolicyDocument& document, PolicyRelations& relations,
                 const std::optional<CompressRequest>& compress, const ValueClass& value = kWeights)
      : document_(document), relations_(relations), compress_(compress), value_(value) {}

  SetResolution resolve(const PolicySet& covering);

  /// What became of every scheme of the policies in `resolved.common.policies`, in their order.
  /// The format is not ambiguous.
  std::vector<SchemeVerdict> verdicts(const SetResolution& resolved);

 private:
  struct Decided {
    PolicySet winners;  // they agree; empty: nobody sets the key, or it is ambiguous
    PolicySet overridden;
    bool ambiguous = false;
  };

  /// `value_of(policy)` is a pointer to what the policy sets, or null.
  template <typename ValueOf>
  Decided decide(const std::string& key, const PolicySet& covering, ValueOf value_of,
                 SetResolution& result);
  void resolve_key(std::string_view key, const PolicySet& covering, SetResolution& result);
  void resolve_format(const PolicySet& covering, SetResolution& result);
  void add_decision(std::string key, std::string value, const Decided& decided,
                    SetResolution& result);

  SchemeVerdict verdict(const PolicyEntry& entry, const PolicyScheme& scheme,
                        const KeyDecision& decision);
  /// Of the policies that decided together, one that is narrower than `entry`.
  const PolicyEntry* beater_of(const PolicyEntry& entry, const KeyDecision& decision);
  std::uint32_t number_of(const PolicyEntry& entry) const {
    return static_cast<std::uint32_t>(&entry - document_.entries.data());
  }

  const PolicyDocument& document_;
  PolicyRelations& relations_;
  std::optional<CompressRequest> compress_;
  ValueClass value_;
  std::vector<KeyDecision> decisions_;  // of the set that is being resolved
};

/// Whether a weight with or without float values has the key at all: weights that are not floats
/// have neither format nor fallback nor dtype.
bool concerns(std::string_view key, bool is_float) noexcept;

/// The key in a policy, or null.
const PolicyKey* find_policy_key(const PolicyEntry& entry, std::string_view name) noexcept;

/// Where a policy that sets the key (a PolicyKey name, or "format") does so.
SourcePlace place_of_key(const PolicyEntry& entry, std::string_view name,
                         const ValueClass& value = kWeights) noexcept;

}  // namespace synps
