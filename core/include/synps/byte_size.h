#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace synps {

/// "4096", "64KiB", "1 GB": a whole number of bytes, or of units of 1024 (KiB, MiB, GiB, TiB) or
/// 1000 (KB, MB, GB, TB; case does not matter). Nothing for other text, and for what does not fit
/// 64 bits.
std::optional<std::uint64_t> parse_byte_size(std::string_view text) noexcept;

}  // namespace synps
