#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "pattern_nfa.h"

namespace synps::pattern {

/// What the wildcards of a pattern read in `path`, wildcard by wildcard, and all of what lies below
/// the match: equal for two paths exactly when they agree on that. Where a path can be read in
/// several ways, wildcards take as much as they can, from the left. Empty for a path that the
/// pattern does not cover. (The key is read from its end.) Subtracts the steps taken from `steps`;
/// with none left the key is empty.
std::u32string wildcard_key(const Nfa& nfa, std::string_view path, std::uint64_t& steps);

}  // namespace synps::pattern
