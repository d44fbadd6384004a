#include "synps/output_kind.h"

namespace synps {

std::string_view to_string(OutputKind kind) noexcept {
  return kind == OutputKind::gguf ? "gguf" : "artifact";
}

std::optional<OutputKind> output_kind_from(std::string_view name) noexcept {
  for (const OutputKind kind : {OutputKind::artifact, OutputKind::gguf})
    if (name == to_string(kind)) return kind;
  return std::nullopt;
}

OutputKind output_kind_of_path(std::string_view path) noexcept {
  return path.ends_with(".gguf") ? OutputKind::gguf : OutputKind::artifact;
}

}  // namespace synps
