#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <toml++/toml.h>

#include "synps/policy.h"
#include "toml_text.h"

namespace synps {

/// Parses a guarded text. Throws Error(policy) for a syntax error: toml++ stops at the first.
toml::table read_toml(std::string_view text, const TomlText& lines, const std::string& file);

/// Where a key or a value starts.
SourcePlace place_of(const toml::source_region& region) noexcept;

/// Bytes: an integer that is not below 0, or a string such as "700MiB" (byte_size.h).
std::optional<std::uint64_t> byte_size_of(const toml::node& node) noexcept;

/// "an integer", "an array of tables": what a value is.
std::string_view type_found(const toml::node& node) noexcept;

}  // namespace synps
