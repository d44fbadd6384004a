#include "key_uses.h"

#include <algorithm>

#include "scheme_rules.h"
#include "weight_judge.h"

namespace synps {
namespace {

bool has(const PolicySet& set, std::uint32_t member) {
  return std::find(set.begin(), set.end(), member) != set.end();
}

class UseCounter {
 public:
  UseCounter(const PolicyDocument& document, PolicyRelations& relations)
      : document_(document), relations_(relations) {}

  void add(const PolicySet& covering, bool by_floats) {
    std::map<std::string, PolicySet> setters;
    for (const std::uint32_t i : covering) {
      const PolicyEntry& entry = document_.entries[i];
      for (const PolicyKey& key : entry.keys) setters[key.name].push_back(i);
      if (claiming_scheme(entry.schemes, kWeights) != nullptr) setters["format"].push_back(i);
    }
    for (const auto& [key, policies] : setters) add_key(key, policies, concerns(key, by_floats));
  }

  KeyUses take() { return std::move(uses_); }

 private:
  void add_key(const std::string& key, const PolicySet& setters, bool concerned) {
    const PolicySet deciding = concerned ? relations_.narrowest(setters) : PolicySet();
    for (const std::uint32_t i : setters) {
      KeyUse use = KeyUse::none;
      if (concerned)
        use = !has(deciding, i)          ? KeyUse::overridden
              : repeats(key, i, setters) ? KeyUse::repeats
                                         : KeyUse::decides;
      KeyUse& strongest = uses_.try_emplace({i, key}, KeyUse::none).first->second;
      strongest = std::max(strongest, use);
    }
  }

  // Whether the same would hold without the policy: of the other setters, the narrowest agree with
  // it.
  bool repeats(const std::string& key, std::uint32_t policy, const PolicySet& setters) {
    PolicySet others = setters;
    others.erase(std::find(others.begin(), others.end(), policy));
    const PolicySet deciding = relations_.narrowest(others);
    return !deciding.empty() &&
           std::all_of(deciding.begin(), deciding.end(),
                       [&](std::uint32_t other) { return agree(key, policy, other); });
  }

  bool agree(const std::string& key, std::uint32_t a, std::uint32_t b) const {
    const PolicyEntry& one = document_.entries[a];
    const PolicyEntry& other = document_.entries[b];
    if (key == "format")
      return says_the_same(claiming_scheme(one.schemes, kWeights)->scheme,
                           claiming_scheme(other.schemes, kWeights)->scheme);
    return find_policy_key(one, key)->value == find_policy_key(other, key)->value;
  }

  const PolicyDocument& document_;
  PolicyRelations& relations_;
  KeyUses uses_;
};

}  // namespace

KeyUses key_uses(const PolicyDocument& document, const std::map<PolicySet, SetUse>& sets,
                 PolicyRelations& relations) {
  UseCounter counter(document, relations);
  for (const auto& [covering, use] : sets) counter.add(covering, use.by_floats);
  return counter.take();
}

}  // namespace synps
