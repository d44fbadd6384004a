#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace synps {

inline constexpr std::size_t kMaxPolicyBytes = std::size_t{1} << 20;
/// Arrays and inline tables inside one another.
inline constexpr std::size_t kMaxTomlNesting = 32;
/// Parts of one dotted key.
inline constexpr std::size_t kMaxDottedParts = 32;

/// Checks a TOML text before toml++ sees it. toml++ 3.3.0 recurses once a part of a dotted key and
/// overflows the stack somewhere between 30,000 and 100,000 of them. Throws Error(limit) for a file
/// over kMaxPolicyBytes or nested too deep, Error(policy) for a byte order mark, a NUL or invalid
/// UTF-8; both with line and column. Syntax is left to the parser: up to the first syntax error
/// both read the same tokens, and the parser stops there.
void guard_toml(std::string_view text, const std::string& file);

}  // namespace synps
