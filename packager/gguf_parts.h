#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "synps/file.h"
#include "synps/gguf.h"

namespace synps {

/// A GGUF file of a checkpoint, its header read and sound.
struct GgufPart {
  InputFile file;
  GgufHeader header;
};

/// What `PREFIX-00002-of-00003.gguf` says, as llama.cpp's gguf-split names parts.
struct GgufPartName {
  std::string prefix;        ///< everything before the number, folder included
  std::uint64_t number = 0;  ///< from 1
  std::uint64_t count = 0;
  std::string ending = ".gguf";  ///< as it is written there

  /// The name of part `part`, from 1.
  std::string part(std::uint64_t part) const;
};

/// Nothing for a name of another kind.
std::optional<GgufPartName> parse_gguf_part_name(std::string_view path);

/// Opens the file, and when it is a part of several, all of them, in their sequence. Checks what
/// names and `split.` keys say against each other. Throws Error with all problems of the parts.
std::vector<GgufPart> open_gguf_parts(Os& os, const std::string& path);

/// Whether a key is about how the checkpoint is cut into files and not about the model.
bool is_gguf_split_key(std::string_view key) noexcept;

}  // namespace synps
