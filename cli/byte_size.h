#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace synps::cli {

/// "4096", "64KiB", "1 GB": a whole number of bytes, or of units of 1024 (KiB, MiB, GiB, TiB) or
/// 1000 (KB, MB, GB, TB; case does not matter). Nothing for other text, and for what does not fit
/// 64 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text) noexcept;

/// What is wrong with the value of an option that is a number of bytes above 0, or nothing.
std::string byte_size_fault(const std::string& text);

}  // namespace synps::cli
