#pragma once

#include <array>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "synps/policy.h"
#include "synps/scheme.h"

namespace synps {

/// The fields of a scheme that a file gave.
struct SchemeFields {
  std::optional<Scope> scope;
  std::optional<Lifetime> lifetime;
  std::optional<Update> update;
  std::optional<bool> is_volatile;
  std::string format;  ///< `package:export`, or "keep"
};

/// Fills in what the file left out: scope constant; lifetime immutable, update none for constants;
/// lifetime `any` for scope any, else invocation, update whole for everything else; not volatile.
Scheme complete(const SchemeFields& fields);

/// A field of a scheme that says what cannot be.
struct Contradiction {
  std::string_view key;    ///< "lifetime", "update", "volatile"
  std::string_view found;  ///< its value
  std::string_view want;
};

/// Constants are immutable and never updated, and nothing else is volatile. Lifetime `any` on a
/// constant is no contradiction: it claims immutable values too.
std::vector<Contradiction> contradictions(const Scheme& scheme);

/// A kind of values: neither field is `any`.
struct ValueClass {
  Scope scope = Scope::constant;
  Lifetime lifetime = Lifetime::immutable;
};

/// Weights.
inline constexpr ValueClass kWeights{};

/// All there are: constants are immutable, everything else may have any lifetime.
inline constexpr std::array kValueClasses{kWeights,
                                          ValueClass{Scope::input, Lifetime::immutable},
                                          ValueClass{Scope::input, Lifetime::invocation},
                                          ValueClass{Scope::input, Lifetime::session},
                                          ValueClass{Scope::output, Lifetime::immutable},
                                          ValueClass{Scope::output, Lifetime::invocation},
                                          ValueClass{Scope::output, Lifetime::session},
                                          ValueClass{Scope::internal, Lifetime::immutable},
                                          ValueClass{Scope::internal, Lifetime::invocation},
                                          ValueClass{Scope::internal, Lifetime::session}};

bool claims(const Scheme& scheme, const ValueClass& value) noexcept;
/// Whether two schemes mean the same for a value that both claim: which others they claim, too, is
/// of no account.
bool says_the_same(const Scheme& a, const Scheme& b) noexcept;
inline bool says_the_same(const std::string& a, const std::string& b) noexcept {
  return a == b;
}
/// Whether the scheme claims constant, immutable values: weights.
bool claims_weights(const Scheme& scheme) noexcept;

/// Whether `a` claims more specifically than `b`: a scope or lifetime by name over `any`, and
/// neither the other way round.
bool more_specific(const Scheme& a, const Scheme& b) noexcept;

/// Pairs (by index, the smaller first) that both claim some value, with neither more specific and
/// no third scheme that is more specific than all: nothing decides between them.
std::vector<std::pair<std::size_t, std::size_t>> undecided_pairs(
    const std::vector<PolicyScheme>& schemes);

/// Of the schemes that claim the value, the most specific; null when none does. The schemes have no
/// undecided pairs.
const PolicyScheme* claiming_scheme(const std::vector<PolicyScheme>& schemes,
                                    const ValueClass& value) noexcept;

}  // namespace synps
