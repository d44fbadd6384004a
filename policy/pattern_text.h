#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

/// Internals of path patterns; only files of policy/ include the pattern_*.h headers.
namespace synps::pattern {

/// Patterns and paths are read as Unicode code points. A byte that belongs to no valid UTF-8
/// sequence stands for itself, as kStrayByte + byte, so that every name can be told from every
/// other.
inline constexpr char32_t kStrayByte = 0x110000;

/// The code point that starts at `at` (< text.size()), which moves past it.
char32_t next_code_point(std::string_view text, std::size_t& at) noexcept;

std::u32string to_code_points(std::string_view text);

/// Appends what next_code_point() would read as `code_point`.
void append_code_point(std::string& out, char32_t code_point);

/// `path` split at every dot: never empty, its parts may be.
std::vector<std::string_view> split_segments(std::string_view path);

/// `text` with a backslash before whatever a pattern gives a meaning: `*`, `?`, braces, backslash,
/// and, for use inside braces, the comma. Dots stay: no escape takes their meaning away.
std::string escape_literal(std::string_view text, bool inside_braces = false);

}  // namespace synps::pattern
