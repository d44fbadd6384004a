#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <utility>

#include "policy_document.h"
#include "policy_resolver.h"
#include "weight_resolution.h"

namespace synps {

/// What a key of a policy, or its scheme for weights, does for the weights of a checkpoint.
enum class KeyUse : std::uint8_t {
  none,        ///< no weight that has the key at all
  overridden,  ///< narrower policies decide for every weight
  repeats,     ///< it decides somewhere, and everywhere the same would hold without it
  decides,
};

/// By the policy's number and the key: a PolicyKey name, or "format".
using KeyUses = std::map<std::pair<std::uint32_t, std::string>, KeyUse>;

/// The strongest use of every key of every policy, over the sets of policies that weights have.
/// Policies that cover no weight are left out. A value that nobody else sets counts as deciding,
/// the default's too: writing it down pins it.
KeyUses key_uses(const PolicyDocument& document, const std::map<PolicySet, SetUse>& sets,
                 PolicyRelations& relations);

}  // namespace synps
