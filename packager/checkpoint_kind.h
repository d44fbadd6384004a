#pragma once

#include <string>
#include <string_view>

namespace synps {

/// First bytes of a file that are enough to tell what it is.
inline constexpr std::size_t kKindBytes = 64;

/// Throws Error(checkpoint) when `head`, the first bytes of `file`, shows that it is something else
/// than the safetensors or JSON it was taken for (a git-lfs pointer, GGUF, a pickle), saying what
/// it is and what helps. Returns otherwise.
void refuse_other_kinds(std::string_view head, const std::string& file, const std::string& want);

}  // namespace synps
