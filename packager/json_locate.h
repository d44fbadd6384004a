#pragma once

#include <cstddef>
#include <optional>
#include <string_view>

namespace synps {

/// Where faults lie in a JSON text that a parser refused. Only for messages: these scans know
/// strings and brackets, not the grammar.

/// The first byte that is not part of a valid UTF-8 sequence (RFC 3629).
std::optional<std::size_t> find_invalid_utf8(std::string_view text);

struct JsonFaults {
  std::optional<std::size_t> control;   ///< first control character inside a string
  std::optional<std::size_t> unclosed;  ///< opening quote of a string that never ends
  std::optional<std::size_t> too_deep;  ///< first bracket that opens more than `max_depth` levels
};
JsonFaults find_json_faults(std::string_view text, std::size_t max_depth);

/// Line and column of a byte, both 1-based, the column in code points.
struct LineColumn {
  std::size_t line = 1;
  std::size_t column = 1;
};
LineColumn line_column(std::string_view text, std::size_t at);

}  // namespace synps
