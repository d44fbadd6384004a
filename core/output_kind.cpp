#include "synps/output_kind.h"

#include <algorithm>

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
  return is_gguf_name(path) ? OutputKind::gguf : OutputKind::artifact;
}

bool is_gguf_name(std::string_view path) noexcept {
  constexpr std::string_view kEnding = ".gguf";
  if (path.size() < kEnding.size()) return false;
  const std::string_view ending = path.substr(path.size() - kEnding.size());
  return std::equal(ending.begin(), ending.end(), kEnding.begin(), [](char found, char wanted) {
    return (found >= 'A' && found <= 'Z' ? found - 'A' + 'a' : found) == wanted;
  });
}

}  // namespace synps
