#include "scheme_rules.h"

#include <algorithm>

namespace synps {
namespace {

// Indices of the schemes that claim `value` with none more specific.
std::vector<std::size_t> most_specific(const std::vector<PolicyScheme>& schemes,
                                       const ValueClass& value) {
  std::vector<std::size_t> best;
  for (std::size_t i = 0; i < schemes.size(); ++i) {
    const Scheme& scheme = schemes[i].scheme;
    if (!claims(scheme, value)) continue;
    const bool beaten = std::any_of(schemes.begin(), schemes.end(), [&](const PolicyScheme& other) {
      return claims(other.scheme, value) && more_specific(other.scheme, scheme);
    });
    if (!beaten) best.push_back(i);
  }
  return best;
}

}  // namespace

bool claims(const Scheme& scheme, const ValueClass& value) noexcept {
  return (scheme.scope == Scope::any || scheme.scope == value.scope) &&
         (scheme.lifetime == Lifetime::any || scheme.lifetime == value.lifetime);
}

Scheme complete(const SchemeFields& fields) {
  Scheme scheme;
  scheme.scope = fields.scope.value_or(Scope::constant);
  const bool constant = scheme.scope == Scope::constant;
  const Lifetime inferred = constant                     ? Lifetime::immutable
                            : scheme.scope == Scope::any ? Lifetime::any
                                                         : Lifetime::invocation;
  scheme.lifetime = fields.lifetime.value_or(inferred);
  scheme.update = fields.update.value_or(constant ? Update::none : Update::whole);
  scheme.is_volatile = fields.is_volatile.value_or(false);
  scheme.format = fields.format;
  return scheme;
}

std::vector<Contradiction> contradictions(const Scheme& scheme) {
  std::vector<Contradiction> found;
  const bool constant = scheme.scope == Scope::constant;
  if (constant && scheme.lifetime != Lifetime::immutable && scheme.lifetime != Lifetime::any)
    found.push_back({"lifetime", to_string(scheme.lifetime), "immutable, as constants are"});
  if (constant && scheme.update != Update::none)
    found.push_back({"update", to_string(scheme.update), "none: constants are never updated"});
  if (!constant && scheme.is_volatile)
    found.push_back({"volatile", "true", "scope constant: only constants can be volatile"});
  return found;
}

bool says_the_same(const Scheme& a, const Scheme& b) noexcept {
  return a.format == b.format && a.update == b.update && a.is_volatile == b.is_volatile;
}

bool claims_weights(const Scheme& scheme) noexcept {
  return claims(scheme, kWeights);
}

bool more_specific(const Scheme& a, const Scheme& b) noexcept {
  const bool scope_differs = (a.scope == Scope::any) != (b.scope == Scope::any);
  const bool lifetime_differs = (a.lifetime == Lifetime::any) != (b.lifetime == Lifetime::any);
  if (scope_differs && a.scope == Scope::any) return false;
  if (lifetime_differs && a.lifetime == Lifetime::any) return false;
  return scope_differs || lifetime_differs;
}

std::vector<std::pair<std::size_t, std::size_t>> undecided_pairs(
    const std::vector<PolicyScheme>& schemes) {
  std::vector<std::pair<std::size_t, std::size_t>> pairs;
  for (const ValueClass& value : kValueClasses) {
    const std::vector<std::size_t> best = most_specific(schemes, value);
    for (std::size_t i = 1; i < best.size(); ++i) pairs.emplace_back(best[i - 1], best[i]);
  }
  std::sort(pairs.begin(), pairs.end());
  pairs.erase(std::unique(pairs.begin(), pairs.end()), pairs.end());
  return pairs;
}

const PolicyScheme* claiming_scheme(const std::vector<PolicyScheme>& schemes,
                                    const ValueClass& value) noexcept {
  const PolicyScheme* best = nullptr;
  for (const PolicyScheme& candidate : schemes) {
    if (!claims(candidate.scheme, value)) continue;
    if (best == nullptr || more_specific(candidate.scheme, best->scheme)) best = &candidate;
  }
  return best;
}

}  // namespace synps
