#pragma once

#include <cstddef>
#include <string>
#include <string_view>

#include "synps/error.h"

namespace synps {

/// First bytes of a file that are enough to tell what it is.
inline constexpr std::size_t kKindBytes = 64;

/// What a file was taken for.
struct WantedKind {
  std::string_view name;   ///< "a safetensors file"
  bool json = false;       ///< it is JSON text itself
  bool gguf_hint = false;  ///< say which commands take GGUF files
  ErrorCode code = ErrorCode::checkpoint;
};

/// Throws Error(want.code) when `head`, the first bytes of `file`, shows that it is something else
/// (a git-lfs pointer, GGUF, a pickle, JSON), saying what it is and what helps. Returns otherwise.
void refuse_other_kinds(std::string_view head, const std::string& file, const WantedKind& want);

}  // namespace synps
