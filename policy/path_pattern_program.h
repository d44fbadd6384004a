#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "pattern_dfa.h"
#include "pattern_nfa.h"
#include "synps/path_pattern.h"

namespace synps {

/// A compiled pattern; immutable, so that threads may share it.
struct PathPattern::Program {
  std::string text;
  std::optional<std::string> literal;  ///< the path, for a pattern without globs
  std::string prefix;                  ///< every covered path begins with it
  pattern::Nfa nfa;
  std::optional<pattern::Dfa> dfa;  ///< absent where it would be large
  std::uint32_t after_prefix = 0;   ///< where the table stands there
};

}  // namespace synps
