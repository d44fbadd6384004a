#include "policy_resolver.h"

#include <algorithm>
#include <array>
#include <iterator>
#include <utility>

#include "policy_schema.h"

namespace synps {
namespace {

// The keys that merge one by one, by name: a section's key under its full name.
struct MergedKey {
  std::string_view name;
  Section section;
  std::string_view key;
};
constexpr std::array kMergedKeys{
    MergedKey{"backend.device", Section::backend, "device"},
    MergedKey{"dtype", Section::policy, "dtype"},
    MergedKey{"fallback", Section::policy, "fallback"},
    MergedKey{"form.compress", Section::form, "compress"},
    MergedKey{"form.order", Section::form, "order"},
    MergedKey{"form.orientation", Section::form, "orientation"},
    MergedKey{"form.residency", Section::form, "residency"},
};

std::string_view default_of(std::string_view name) {
  for (const MergedKey& key : kMergedKeys)
    if (key.name == name) return find_key(key.section, key.key)->inferred;
  return {};
}

// Puts a decided value where a WeightResolution has it.
void apply(std::string_view key, const std::string& value, SetResolution& result) {
  WeightResolution& out = result.common;
  if (key == "backend.device") out.device = value;
  if (key == "dtype") out.dtype = value;
  if (key == "fallback") result.fallback = value;
  if (key == "form.compress")
    out.form.compress = compress_request_from(value).value_or(out.form.compress);
  if (key == "form.order") out.form.order = order_request_from(value).value_or(out.form.order);
  if (key == "form.orientation")
    out.form.orientation = orientation_from(value).value_or(out.form.orientation);
  if (key == "form.residency")
    out.form.residency = residency_request_from(value).value_or(out.form.residency);
}

}  // namespace

const PolicyKey* find_policy_key(const PolicyEntry& entry, std::string_view name) noexcept {
  for (const PolicyKey& key : entry.keys)
    if (key.name == name) return &key;
  return nullptr;
}

SourcePlace place_of_key(const PolicyEntry& entry, std::string_view name,
                         const ValueClass& value) noexcept {
  if (name == "format") return claiming_scheme(entry.schemes, value)->place;
  return find_policy_key(entry, name)->place;
}

bool concerns(std::string_view key, bool is_float) noexcept {
  return is_float || (key != "format" && key != "fallback" && key != "dtype");
}

SetResolution PolicyResolver::resolve(const PolicySet& covering) {
  SetResolution result;
  std::vector<const PolicyEntry*> policies;
  for (const std::uint32_t i : relations_.widest_first(covering))
    policies.push_back(&document_.entries[i]);
  result.common.policies = SharedList(std::move(policies));
  decisions_.clear();
  for (const MergedKey& key : kMergedKeys) resolve_key(key.name, covering, result);
  resolve_format(covering, result);
  std::vector<KeyDecision> others;
  std::copy_if(decisions_.begin(), decisions_.end(), std::back_inserter(others),
               [](const KeyDecision& decision) { return concerns(decision.key, false); });
  result.without_floats = SharedList(std::move(others));
  result.common.decisions = SharedList(std::exchange(decisions_, {}));
  return result;
}

template <typename ValueOf>
PolicyResolver::Decided PolicyResolver::decide(const std::string& key, const PolicySet& covering,
                                               ValueOf value_of, SetResolution& result) {
  PolicySet setters;
  for (const std::uint32_t i : covering)
    if (value_of(i) != nullptr) setters.push_back(i);
  const PolicySet narrowest = relations_.narrowest(setters);
  const bool agree = std::all_of(narrowest.begin(), narrowest.end(), [&](std::uint32_t i) {
    return says_the_same(*value_of(i), *value_of(narrowest.front()));
  });
  Decided decided;
  decided.ambiguous = !agree;
  if (!agree) {
    result.ambiguities.push_back({key, narrowest});
    return decided;
  }
  decided.winners = relations_.widest_first(narrowest);
  PolicySet broader;
  std::set_difference(setters.begin(), setters.end(), narrowest.begin(), narrowest.end(),
                      std::back_inserter(broader));
  decided.overridden = relations_.widest_first(std::move(broader));
  return decided;
}

void PolicyResolver::resolve_key(std::string_view key, const PolicySet& covering,
                                 SetResolution& result) {
  const auto value_of = [&](std::uint32_t i) -> const std::string* {
    const PolicyKey* found = find_policy_key(document_.entries[i], key);
    return found == nullptr ? nullptr : &found->value;
  };
  std::string name(key);
  const Decided decided = decide(name, covering, value_of, result);
  if (decided.ambiguous) return;
  // What whoever asks wants where no policy says anything.
  const bool given = decided.winners.empty() && key == "form.compress" && compress_.has_value();
  std::string value(default_of(key));
  if (given) value = to_string(*compress_);
  if (!decided.winners.empty()) value = *value_of(decided.winners.front());
  if (value.empty()) return;
  apply(key, value, result);
  add_decision(std::move(name), value, decided, result);
  decisions_.back().given = given;
}

void PolicyResolver::resolve_format(const PolicySet& covering, SetResolution& result) {
  const auto scheme_of = [&](std::uint32_t i) -> const Scheme* {
    const PolicyScheme* found = claiming_scheme(document_.entries[i].schemes, value_);
    return found == nullptr ? nullptr : &found->scheme;
  };
  const Decided decided = decide("format", covering, scheme_of, result);
  if (decided.winners.empty()) return;
  result.scheme = claiming_scheme(document_.entries[decided.winners.front()].schemes, value_);
  result.common.scheme = result.scheme->scheme;
  add_decision("format", result.scheme->scheme.format, decided, result);
}

void PolicyResolver::add_decision(std::string key, std::string value, const Decided& decided,
                                  SetResolution& result) {
  KeyDecision decision;
  decision.key = std::move(key);
  decision.value = std::move(value);
  for (const std::uint32_t i : decided.winners) decision.agreeing.push_back(&document_.entries[i]);
  if (!decided.winners.empty()) {
    decision.policy = &document_.entries[decided.winners.front()];
    decision.place = place_of_key(*decision.policy, decision.key, value_);
    decision.replaced = decision.key == "format"
                            ? result.scheme->replaced
                            : find_policy_key(*decision.policy, decision.key)->replaced;
  }
  for (const std::uint32_t i : decided.overridden) {
    const PolicyEntry& entry = document_.entries[i];
    decision.overridden.push_back(&entry);
    decision.overridden_places.push_back(place_of_key(entry, decision.key, value_));
  }
  decisions_.push_back(std::move(decision));
}

std::vector<SchemeVerdict> PolicyResolver::verdicts(const SetResolution& resolved) {
  KeyDecision none;
  const KeyDecision* decision = &none;
  for (const KeyDecision& each : resolved.common.decisions)
    if (each.key == "format") decision = &each;
  std::vector<SchemeVerdict> result;
  for (const PolicyEntry* entry : resolved.common.policies)
    for (const PolicyScheme& scheme : entry->schemes)
      result.push_back(verdict(*entry, scheme, *decision));
  return result;
}

SchemeVerdict PolicyResolver::verdict(const PolicyEntry& entry, const PolicyScheme& scheme,
                                      const KeyDecision& decision) {
  using Outcome = SchemeVerdict::Outcome;
  SchemeVerdict result{&entry, &scheme, Outcome::chosen};
  const PolicyScheme* own = claiming_scheme(entry.schemes, value_);
  if (!claims(scheme.scheme, value_)) {
    result.outcome = Outcome::other_values;
  } else if (own != &scheme) {
    result.outcome = Outcome::less_specific;
    result.by_policy = &entry;
    result.by = own;
  } else if (decision.policy != &entry) {
    const bool beaten = std::find(decision.overridden.begin(), decision.overridden.end(), &entry) !=
                        decision.overridden.end();
    result.outcome = beaten ? Outcome::overridden : Outcome::agrees;
    result.by_policy = beaten ? beater_of(entry, decision) : decision.policy;
    result.by = claiming_scheme(result.by_policy->schemes, value_);
  }
  return result;
}

const PolicyEntry* PolicyResolver::beater_of(const PolicyEntry& entry,
                                             const KeyDecision& decision) {
  for (const PolicyEntry* each : decision.agreeing)
    if (relations_.narrower(number_of(*each), number_of(entry))) return each;
  return decision.policy;
}

}  // namespace synps
