#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace synps {

/// One decoded step through UTF-8 text. `size` is 0 at the end; an invalid sequence gives
/// valid = false and size 1.
struct CodePoint {
  std::uint32_t value = 0;
  std::size_t size = 0;
  bool valid = true;
};

/// The code point at byte `at` of `text` (RFC 3629: no surrogates, no overlong forms, at most
/// U+10FFFF).
CodePoint code_point_at(std::string_view text, std::size_t at) noexcept;

}  // namespace synps
