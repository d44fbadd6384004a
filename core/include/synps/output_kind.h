#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

namespace synps {

/// What packing makes of a checkpoint.
enum class OutputKind : std::uint8_t {
  artifact,
  gguf,  ///< of a GGUF checkpoint alone
};

/// "artifact", "gguf".
std::string_view to_string(OutputKind kind) noexcept;
std::optional<OutputKind> output_kind_from(std::string_view name) noexcept;
/// Whether the name ends in `.gguf`, in capitals or not.
bool is_gguf_name(std::string_view path) noexcept;
/// What a file of this name is to be: GGUF where it is_gguf_name(), else an artifact.
OutputKind output_kind_of_path(std::string_view path) noexcept;

}  // namespace synps
