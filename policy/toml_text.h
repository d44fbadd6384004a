#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "synps/policy.h"

namespace synps {

/// The text of a TOML file, by line and column as toml++ counts them: from 1, columns in code
/// points, lines ended by LF.
class TomlText {
 public:
  explicit TomlText(std::string_view text);

  /// A line without its end; empty when there is none of that number.
  std::string_view line(std::size_t number) const noexcept;
  /// The rest of the line from a place on.
  std::string_view from(SourcePlace place) const noexcept;

 private:
  std::string_view text_;
  std::vector<std::size_t> starts_;  // byte offset of each line
};

/// `text` as a quoted TOML key, on one line and in visible characters only: a literal string where
/// a basic one would need escapes and a literal one would not.
std::string toml_key(std::string_view text);

/// The same for messages: cut to `limit` code points with an ellipsis.
std::string toml_key_for_display(std::string_view text, std::size_t limit = 120);

/// Code points in UTF-8 text.
std::size_t code_points(std::string_view text) noexcept;

}  // namespace synps
