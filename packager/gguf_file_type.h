#pragma once

#include <cstdint>
#include <optional>

#include "synps/gguf_types.h"

namespace synps {

/// The `general.file_type` of a file most of whose weights are stored in a type: llama.cpp's number
/// for it, of several the one that llama.cpp guesses where a file has none. Nothing for types that
/// have no number.
std::optional<std::uint32_t> gguf_file_type(const GgufType& type) noexcept;

/// Whether a `general.file_type` says that most weights are stored in the type.
bool names_gguf_type(std::uint64_t file_type, const GgufType& type) noexcept;

}  // namespace synps
